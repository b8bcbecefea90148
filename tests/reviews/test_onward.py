"""An answer and the next item in one transaction: what is told of both is what two would have done."""

from __future__ import annotations

from functools import partial

import pytest
from django.db import DataError

from apps.accounts.models import User
from apps.core.errors import InvalidInput
from apps.reviews.errors import LeaseLost
from apps.reviews.leases import release_lease, take_next_task
from apps.reviews.models import Label, Lease, Review, ReviewTask
from apps.reviews.onward import submit_and_take
from apps.reviews.services import Submitted, SubmittedAnswer
from apps.workflows.models import Role, Workflow
from tests.factories import NOW, join, make_task, make_user
from tests.reviews.test_two_tabs import at_once, take


def go_on(
    user: User, workflow: Workflow, lease: Lease, value: str = "spam"
) -> tuple[Submitted, Lease | None]:
    return submit_and_take(
        user=user,
        workflow=workflow,
        lease_token=lease.token,
        answers={"intent": SubmittedAnswer(value)},
        seconds=1,
        note="",
        now=NOW,
    )


def test_it_works(workflow: Workflow, rosa: User) -> None:
    first, second = make_task(workflow), make_task(workflow)
    _, following = go_on(rosa, workflow, take(rosa, workflow))
    first.refresh_from_db()
    assert first.status == ReviewTask.Status.DONE
    assert following is not None
    assert (following.task_id, following.user_id) == (second.pk, rosa.pk)


def test_the_last_item_has_none_behind_it(workflow: Workflow, rosa: User) -> None:
    make_task(workflow)
    sent, following = go_on(rosa, workflow, take(rosa, workflow))
    assert (sent.repeated, following, Label.objects.count()) == (False, None, 1)


def test_sent_twice_is_one_answer_and_one_next(workflow: Workflow, rosa: User) -> None:
    for _ in range(3):
        make_task(workflow)
    lease = take(rosa, workflow)
    (_, following), (again, same) = go_on(rosa, workflow, lease), go_on(rosa, workflow, lease)
    assert (again.repeated, same, Review.objects.count()) == (True, following, 1)


def test_what_is_wrong_takes_nothing(workflow: Workflow, rosa: User) -> None:
    make_task(workflow)
    make_task(workflow)
    lease = take(rosa, workflow)
    with pytest.raises(InvalidInput):
        go_on(rosa, workflow, lease, value="unheard of")
    assert Lease.objects.get() == lease


def test_a_lost_hold_takes_nothing(workflow: Workflow, rosa: User) -> None:
    make_task(workflow)
    lease = take(rosa, workflow)
    release_lease(user=rosa, lease_token=lease.token)
    with pytest.raises(LeaseLost):
        go_on(rosa, workflow, lease)
    assert not Lease.objects.exists()


def test_an_answer_is_kept_when_the_next_item_cannot_be_had(workflow: Workflow, rosa: User) -> None:
    make_task(workflow)
    make_task(workflow)
    lease = take(rosa, workflow)
    # No clock goes so far: no lease can be placed.
    workflow.lease_s = 10**14
    _, following = go_on(rosa, workflow, lease)
    assert (following, Review.objects.get().lease_token) == (None, lease.token)
    with pytest.raises(DataError):
        take_next_task(user=rosa, workflow=workflow)


@pytest.mark.django_db(transaction=True)
def test_many_at_once_get_different_items(workflow: Workflow) -> None:
    people = [make_user(f"one-of-{n}") for n in range(6)]
    for person in people:
        join(person, workflow, Role.REVIEWER)
    for _ in range(12):
        make_task(workflow)
    leases = [take(person, workflow) for person in people]
    found = at_once(
        *[partial(go_on, person, workflow, lease) for person, lease in zip(people, leases, strict=True)]
    )
    following = [lease.task_id for _, lease in found if lease is not None]
    assert len(set(following)) == len(people)
    assert Review.objects.count() == len(people)
