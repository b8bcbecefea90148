"""One person's requests at the same moment: neither deadlocks, none of them is a second answer."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from threading import Barrier
from typing import Any

import pytest
from django.db import connection, transaction

from apps.accounts.models import User
from apps.core.embedded_processes import wait_until
from apps.reviews.errors import LeaseLost
from apps.reviews.leases import lock_person, release_lease, skip_task, take_next_task
from apps.reviews.models import Lease, Review, ReviewTask, Skip
from apps.reviews.services import Submitted, SubmittedAnswer, submit_review
from apps.workflows.models import Workflow
from tests.factories import NOW, make_task

SEVERAL = 8
SPAM = {"intent": SubmittedAnswer("spam")}


def at_once(*calls: Callable[[], Any]) -> list[Any]:
    """Each in a thread with a connection of its own, begun together."""
    start = Barrier(len(calls))

    def run(call: Callable[[], Any]) -> Any:
        try:
            connection.ensure_connection()
            start.wait()
            return call()
        finally:
            connection.close()

    with ThreadPoolExecutor(len(calls)) as pool:
        return list(pool.map(run, calls))


def somebody_waits() -> bool:
    """For what this very transaction has locked."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT 1 FROM pg_locks WHERE NOT granted AND pg_backend_pid() = ANY(pg_blocking_pids(pid))"
        )
        return cursor.fetchone() is not None


def take(user: User, workflow: Workflow) -> Lease:
    lease = take_next_task(user=user, workflow=workflow)
    assert lease is not None
    return lease


def or_lose(call: Callable[[], Any]) -> Any:
    try:
        return call()
    except LeaseLost:
        return None


def send_or_lose(user: User, lease: Lease) -> Submitted | None:
    """The other request may be first; then the person is told."""
    sent: Submitted | None = or_lose(partial(send, user, lease))
    return sent


def send(user: User, lease: Lease) -> Submitted:
    return submit_review(user=user, lease_token=lease.token, answers=SPAM, seconds=1, note="", now=NOW)


@pytest.mark.django_db(transaction=True)
def test_it_works(workflow: Workflow, rosa: User) -> None:
    make_task(workflow)
    lease = take(rosa, workflow)
    sent = at_once(*[partial(send, rosa, lease)] * SEVERAL)
    assert sorted(each.repeated for each in sent) == [False] + [True] * (SEVERAL - 1)
    assert Review.objects.count() == 1


@pytest.mark.django_db(transaction=True)
def test_a_page_that_is_left_while_its_answer_is_under_way(workflow: Workflow, rosa: User) -> None:
    for _ in range(SEVERAL):
        task = make_task(workflow)
        lease = take(rosa, workflow)
        at_once(
            partial(send_or_lose, rosa, lease), partial(release_lease, user=rosa, lease_token=lease.token)
        )
        assert not Lease.objects.exists()
        ReviewTask.objects.filter(pk=task.pk, status="open").update(status="cancelled", closed_at=NOW)


@pytest.mark.django_db(transaction=True)
def test_a_skip_beside_an_answer(workflow: Workflow, rosa: User) -> None:
    make_task(workflow)
    lease = take(rosa, workflow)
    skip = partial(skip_task, user=rosa, lease_token=lease.token, reason="", now=NOW)
    at_once(partial(send_or_lose, rosa, lease), partial(or_lose, skip))
    assert Review.objects.count() + Skip.objects.count() == 1


@pytest.mark.django_db(transaction=True)
def test_who_waited_for_their_other_request_sees_what_it_left(workflow: Workflow, rosa: User) -> None:
    make_task(workflow)
    lease = take(rosa, workflow)
    skip = partial(skip_task, user=rosa, lease_token=lease.token, reason="", now=NOW)
    with ThreadPoolExecutor(1) as pool:
        with transaction.atomic():
            lock_person(rosa)
            second = pool.submit(at_once, partial(or_lose, skip))
            assert wait_until(somebody_waits, 20)
            lease.delete()
        second.result()
    assert not Skip.objects.exists()
