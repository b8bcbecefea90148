"""Many people at the queue in the same moment, each over a connection of their own."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from typing import Any

import pytest
from django.db import connection

from apps.accounts.models import User
from apps.core.errors import Conflict
from apps.reviews.handing import assign, escalate, hand_over
from apps.reviews.leases import take_next_task, take_task
from apps.reviews.models import DeskPreferences, Lease, Review, ReviewTask, TaskEvent
from apps.reviews.queue import QueueFilter
from apps.reviews.services import SubmittedAnswer, submit_review
from apps.workflows.models import Role, Workflow
from tests.factories import NOW, join, make_task, make_user, make_workflow
from tests.reviews.queue_people import token_of

pytestmark = pytest.mark.django_db(transaction=True)


def at_once(*acts: Callable[[], Any]) -> list[Any]:
    """What each returned, or the Conflict it raised; all begin together."""
    start = Barrier(len(acts))

    def run(act: Callable[[], Any]) -> Any:
        try:
            start.wait()
            return act()
        except Conflict as refused:
            return refused
        finally:
            connection.close()

    with ThreadPoolExecutor(len(acts)) as pool:
        return list(pool.map(run, acts))


def crew(workflow: Workflow, count: int, *languages: str) -> list[User]:
    people = [make_user(f"person-{'-'.join(languages)}{number}") for number in range(count)]
    for person in people:
        join(person, workflow, Role.REVIEWER)
        if languages:
            DeskPreferences.objects.create(user=person, languages=list(languages))
    return people


def asking(people: Sequence[User], workflow: Workflow, **wanted: Any) -> list[Callable[[], Lease | None]]:
    def ask(user: User) -> Lease | None:
        return take_next_task(user=user, workflow=workflow, wanted=QueueFilter(**wanted))

    return [lambda user=user: ask(user) for user in people]  # type: ignore[misc]  # bound here, not when called


@pytest.mark.slow  # fifty connections
def test_fifty_with_filters_get_fifty_tasks_that_match() -> None:
    workflow = make_workflow()
    people = crew(workflow, 50)
    for label in ("lead", "spam") * 25:
        make_task(workflow, label=label)
    got = at_once(*asking(people[:25], workflow, label="lead"), *asking(people[25:], workflow, label="spam"))
    labels = [lease.task.route.label for lease in got]
    assert labels == ["lead"] * 25 + ["spam"] * 25
    assert len({lease.task_id for lease in got}) == 50


def test_no_language_leaks() -> None:
    workflow = make_workflow()
    for language in ("ar", "de-AT", "en") * 4:
        make_task(workflow, language=language)
    crews = {language: crew(workflow, 5, language) for language in ("ar", "de", "fr")}
    asks = [ask for people in crews.values() for ask in asking(people, workflow)]
    got = [lease and lease.task.language for lease in at_once(*asks)]
    assert got[:5].count("ar") == 4
    assert got[5:10].count("de-AT") == 4
    assert set(got) == {"ar", "de-AT", None}
    assert got[10:] == [None] * 5


def test_two_take_one_and_one_gets_it() -> None:
    workflow = make_workflow()
    one, other = crew(workflow, 2)
    task = make_task(workflow)
    got = at_once(
        lambda: take_task(user=one, workflow=workflow, task_id=task.pk),
        lambda: take_task(user=other, workflow=workflow, task_id=task.pk),
    )
    assert sorted(type(each).__name__ for each in got) == ["Conflict", "Lease"]
    assert Lease.objects.count() == 1


def test_handed_over_or_answered_never_both() -> None:
    workflow = make_workflow()
    one, other = crew(workflow, 2)
    make_task(workflow)
    token = token_of(one, workflow)
    got = at_once(
        lambda: hand_over(user=one, lease_token=token, to=other, note="x", now=NOW),
        lambda: submit_review(
            user=one,
            lease_token=token,
            answers={"intent": SubmittedAnswer("spam")},
            seconds=None,
            note="",
            now=NOW,
        ),
    )
    assert sum(isinstance(each, Conflict) for each in got) == 1
    assert TaskEvent.objects.count() + Review.objects.count() == 1
    assert not Lease.objects.exists()


@pytest.mark.parametrize("way", ["next", "this"])
def test_assigned_or_taken_never_both(way: str) -> None:
    workflow = make_workflow()
    one, other, manager = crew(workflow, 3)
    task = make_task(workflow)
    take = {
        "next": lambda: take_next_task(user=one, workflow=workflow),
        "this": lambda: take_task(user=one, workflow=workflow, task_id=task.pk),
    }[way]
    given, taken = at_once(
        lambda: assign(manager=manager, workflow=workflow, task_id=task.pk, to=other, note="x", now=NOW), take
    )
    task.refresh_from_db()
    assert isinstance(taken, Lease) == isinstance(given, Conflict) == (task.assigned_to is None)


def test_escalated_it_lies_on_no_reviewers_desk() -> None:
    workflow = make_workflow()
    one, *others = crew(workflow, 6)
    make_task(workflow)
    token = token_of(one, workflow)
    at_once(
        lambda: escalate(user=one, lease_token=token, note="x", now=NOW),
        *asking(others, workflow),
    )
    assert ReviewTask.objects.get().stage == "escalated"
    assert not Lease.objects.exists()
