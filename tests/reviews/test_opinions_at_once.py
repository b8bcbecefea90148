"""Several people on one item at the same moment: none is one too many, none waits for another for ever."""

from __future__ import annotations

from functools import partial

import pytest

from apps.accounts.models import User
from apps.core.errors import Conflict
from apps.reviews.leases import place_lease, take_next_task
from apps.reviews.models import Label, Lease, Review, ReviewRules, ReviewTask
from apps.reviews.services import SubmittedAnswer, submit_review, undo_last_review
from apps.workflows.models import Role, Workflow
from tests.factories import NOW, join, make_task, make_user
from tests.insights.answered import answer
from tests.reviews.test_two_tabs import at_once, take

pytestmark = pytest.mark.django_db(transaction=True)
ROUNDS = 6


def send(user: User, lease: Lease, value: str) -> Review:
    given = {"intent": SubmittedAnswer(value)}
    return submit_review(
        user=user, lease_token=lease.token, answers=given, seconds=1, note="", now=NOW
    ).review


def take_back(user: User, workflow: Workflow) -> Lease | None:
    try:
        return undo_last_review(user=user, workflow=workflow, now=NOW)
    except Conflict:
        return None


def close(task: ReviewTask) -> None:
    """So that the next round's is the only one in the queue."""
    Lease.objects.all().delete()
    ReviewTask.objects.filter(pk=task.pk, status="open").update(status="cancelled", closed_at=NOW)


def test_it_works(workflow: Workflow, rosa: User, ravi: User) -> None:
    for _ in range(ROUNDS):
        task = make_task(workflow, reviews_wanted=2)
        leases = take(rosa, workflow), take(ravi, workflow)
        at_once(partial(send, rosa, leases[0], "spam"), partial(send, ravi, leases[1], "spam"))
        task.refresh_from_db()
        assert (task.status, task.reviews_done, task.reviews_needed) == ("done", 2, 2)
        assert Label.objects.filter(item=task.item).count() == 1


def test_two_who_differ_while_two_more_ask(workflow: Workflow, rosa: User, ravi: User) -> None:
    more = [make_user("sara"), make_user("sven")]
    for person in more:
        join(person, workflow, Role.REVIEWER)
    for _ in range(ROUNDS):
        task = make_task(workflow, reviews_wanted=2)
        leases = take(rosa, workflow), take(ravi, workflow)
        asking = [partial(take_next_task, user=person, workflow=workflow) for person in more]
        at_once(partial(send, rosa, leases[0], "spam"), partial(send, ravi, leases[1], "lead"), *asking)
        task.refresh_from_db()
        assert (task.status, task.reviews_done, task.reviews_needed) == ("open", 2, 3)
        assert Lease.objects.filter(task=task).count() <= 1
        close(task)


def test_an_undo_while_a_senior_takes_it_up(workflow: Workflow, rosa: User, ravi: User, mara: User) -> None:
    ReviewRules.objects.create(workflow=workflow, consensus="unanimous", created_at=NOW)
    for _ in range(ROUNDS):
        task = make_task(workflow, reviews_wanted=2)
        answer(rosa, task, "spam")
        answer(ravi, task, "lead")
        back, decides = at_once(
            partial(take_back, ravi, workflow), partial(take_next_task, user=mara, workflow=workflow)
        )
        task.refresh_from_db()
        # Whoever was second saw the first: nobody has others' answers in sight while one of them is given anew.
        assert task.stage == ("adjudication" if back is None else "review")
        assert back is not None or decides is not None
        close(task)


def test_an_undo_while_a_senior_decides(workflow: Workflow, rosa: User, ravi: User, mara: User) -> None:
    ReviewRules.objects.create(workflow=workflow, consensus="unanimous", created_at=NOW)
    for _ in range(ROUNDS):
        task = make_task(workflow, reviews_wanted=2)
        answer(rosa, task, "spam")
        answer(ravi, task, "lead")
        lease = place_lease(task_id=task.pk, user=mara, workflow=workflow)
        back, decided = at_once(partial(take_back, ravi, workflow), partial(send, mara, lease, "customer"))
        assert (back, decided.is_adjudication) == (None, True)
        assert Label.objects.get(item=task.item).value == "customer"


def test_two_first_answers_taken_back_at_once(workflow: Workflow, rosa: User, ravi: User) -> None:
    for _ in range(ROUNDS):
        task = make_task(workflow, reviews_wanted=2)
        answer(rosa, task, "spam")
        answer(ravi, task, "spam")
        at_once(partial(take_back, rosa, workflow), partial(take_back, ravi, workflow))
        task.refresh_from_db()
        assert (task.status, task.reviews_done, task.reviews_needed) == ("open", 0, 2)
        assert not Label.objects.filter(item=task.item, taken_back_at=None).exists()
        close(task)
