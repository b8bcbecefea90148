from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import pytest
from django.db import IntegrityError, connection, transaction

from apps.accounts.models import User
from apps.core.db import ClockTimestamp
from apps.reviews.errors import LeaseLost
from apps.reviews.leases import place_lease, release_lease, renew_lease, skip_task, take_next_task
from apps.reviews.models import Lease, ReviewTask
from apps.workflows.models import Role, Workflow
from tests.factories import NOW, join, make_task, make_user, make_workflow


def test_it_works(workflow: Workflow, rosa: User) -> None:
    task = make_task(workflow)
    lease = take_next_task(user=rosa, workflow=workflow)
    assert lease is not None
    assert lease.task_id == task.pk
    assert take_next_task(user=rosa, workflow=workflow) == lease


def test_empty_queue_is_no_error(workflow: Workflow, rosa: User) -> None:
    assert take_next_task(user=rosa, workflow=workflow) is None


def test_order_is_priority_then_due(workflow: Workflow, rosa: User) -> None:
    late, urgent, soon = make_task(workflow), make_task(workflow, priority=5), make_task(workflow)
    ReviewTask.objects.filter(pk=soon.pk).update(place_at=NOW)
    seen = []
    for _ in range(3):
        lease = take_next_task(user=rosa, workflow=workflow)
        assert lease is not None
        seen.append(lease.task_id)
        skip_task(user=rosa, lease_token=lease.token, reason="", now=NOW)
    assert seen == [urgent.pk, soon.pk, late.pk]


def test_a_colleague_never_gets_the_same(workflow: Workflow, rosa: User, ravi: User) -> None:
    make_task(workflow)
    assert take_next_task(user=rosa, workflow=workflow) is not None
    assert take_next_task(user=ravi, workflow=workflow) is None


def test_skipped_goes_to_a_colleague_then_comes_back(workflow: Workflow, rosa: User, ravi: User) -> None:
    make_task(workflow)
    for user, expected in ((rosa, True), (rosa, False), (ravi, True), (rosa, True)):
        lease = take_next_task(user=user, workflow=workflow)
        assert (lease is not None) is expected
        if lease:
            skip_task(user=user, lease_token=lease.token, reason="not mine", now=NOW)


def test_release_and_expiry_give_back(workflow: Workflow, rosa: User, ravi: User) -> None:
    make_task(workflow)
    lease = take_next_task(user=rosa, workflow=workflow)
    assert lease is not None
    release_lease(user=rosa, lease_token=lease.token)
    second = take_next_task(user=ravi, workflow=workflow)
    assert second is not None
    Lease.objects.update(expires_at=ClockTimestamp())
    assert take_next_task(user=rosa, workflow=workflow) is not None


def test_renewing_moves_the_end_and_says_when_lost(workflow: Workflow, rosa: User, ravi: User) -> None:
    make_task(workflow)
    lease = take_next_task(user=rosa, workflow=workflow)
    assert lease is not None
    assert renew_lease(user=rosa, lease_token=lease.token) > lease.expires_at
    Lease.objects.update(expires_at=NOW - timedelta(days=1))
    take_next_task(user=ravi, workflow=workflow)
    with pytest.raises(LeaseLost, match="ravi"):
        renew_lease(user=rosa, lease_token=lease.token)


def test_the_database_refuses_a_second_person(workflow: Workflow, rosa: User, ravi: User) -> None:
    task = make_task(workflow)
    place_lease(task_id=task.pk, user=rosa, workflow=workflow)
    with pytest.raises(IntegrityError, match="all the people it needs"), transaction.atomic():
        place_lease(task_id=task.pk, user=ravi, workflow=workflow)


def test_at_most_two_on_a_desk(workflow: Workflow, rosa: User) -> None:
    workflows = [workflow, make_workflow("second"), make_workflow("third")]
    for each in workflows[1:]:
        join(rosa, each, Role.REVIEWER)
    for each in workflows:
        make_task(each)
        take_next_task(user=rosa, workflow=each)
    assert sorted(Lease.objects.values_list("task__workflow__slug", flat=True)) == ["second", "third"]


@pytest.mark.django_db(transaction=True)
def test_fifty_asks_get_fifty_tasks() -> None:
    workflow = make_workflow()
    people = [make_user(f"person-{number}") for number in range(50)]
    for person in people:
        join(person, workflow, Role.REVIEWER)
        make_task(workflow)

    def ask(person: User) -> int | None:
        try:
            lease = take_next_task(user=person, workflow=workflow)
            return lease.task_id if lease else None
        finally:
            connection.close()

    with ThreadPoolExecutor(50) as pool:
        got = list(pool.map(ask, people))
    assert len(set(got) - {None}) == 50
    assert Lease.objects.count() == 50


@pytest.mark.django_db(transaction=True)
def test_two_tabs_of_one_person_share_one_task() -> None:
    workflow = make_workflow()
    rosa = make_user("rosa")
    join(rosa, workflow, Role.REVIEWER)
    for _ in range(10):
        make_task(workflow)

    def ask(_: int) -> int | None:
        try:
            lease = take_next_task(user=rosa, workflow=workflow)
            return lease.task_id if lease else None
        finally:
            connection.close()

    with ThreadPoolExecutor(8) as pool:
        assert len(set(pool.map(ask, range(8)))) == 1
