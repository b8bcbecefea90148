"""Who gives a task back while taking another waits for nobody who does the same the other way round."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from functools import partial

import pytest
from django.db import transaction

from apps.accounts.models import User
from apps.core.embedded_processes import wait_until
from apps.core.errors import Conflict
from apps.reviews.leases import forget_leases, place_lease, release_lease, take_task
from apps.reviews.models import Lease, ReviewRules, ReviewTask
from apps.reviews.services import SubmittedAnswer, submit_review
from apps.workflows.models import Workflow
from tests.factories import NOW, make_task
from tests.insights.answered import answer
from tests.reviews.test_two_tabs import at_once, or_lose, somebody_waits

pytestmark = pytest.mark.django_db(transaction=True)
ROUNDS = 6


def hold(user: User, *tasks: ReviewTask) -> None:
    for task in tasks:
        place_lease(task_id=task.pk, user=user, workflow=task.workflow)


def take_or_leave(user: User, task: ReviewTask) -> Lease | None:
    """A colleague may be taking or giving back the same one at this moment: then the person is told."""
    try:
        return take_task(user=user, workflow=task.workflow, task_id=task.pk)
    except Conflict:
        return None


def test_it_works(workflow: Workflow, rosa: User, ravi: User) -> None:
    for _ in range(ROUNDS):
        one, other = (make_task(workflow, reviews_wanted=2) for _ in range(2))
        hold(rosa, one, make_task(workflow))
        hold(ravi, other, make_task(workflow))
        at_once(partial(take_or_leave, rosa, other), partial(take_or_leave, ravi, one))
        assert [Lease.objects.filter(user=user).count() for user in (rosa, ravi)] == [2, 2]
        Lease.objects.all().delete()


def test_taken_once_more_while_it_is_called_back(workflow: Workflow, rosa: User) -> None:
    task = make_task(workflow)
    hold(rosa, task)
    with ThreadPoolExecutor(1) as pool:
        with transaction.atomic():
            ReviewTask.objects.select_for_update().get(pk=task.pk)
            again = pool.submit(at_once, partial(take_or_leave, rosa, task))
            assert wait_until(somebody_waits, 20)
            Lease.objects.all().delete()
        assert again.result() == [None]


def test_taken_once_more_when_it_was_taken_out_of_the_queue(workflow: Workflow, rosa: User) -> None:
    task = make_task(workflow)
    hold(rosa, task)
    ReviewTask.objects.filter(pk=task.pk).update(status="cancelled", closed_at=NOW)
    with pytest.raises(Conflict, match="taken out of the queue"):
        take_task(user=rosa, workflow=workflow, task_id=task.pk)


def test_a_page_left_while_a_colleagues_answer_calls_the_item_back(
    workflow: Workflow, rosa: User, ravi: User, mara: User
) -> None:
    ReviewRules.objects.create(workflow=workflow, consensus="unanimous", created_at=NOW)
    for _ in range(ROUNDS):
        task = make_task(workflow, reviews_wanted=2)
        answer(mara, task, "lead")
        ReviewTask.objects.filter(pk=task.pk).update(reviews_needed=3)
        hold(rosa, task)
        hold(ravi, task)
        mine, theirs = Lease.objects.get(user=rosa), Lease.objects.get(user=ravi)
        send = partial(
            submit_review, answers={"intent": SubmittedAnswer("spam")}, seconds=1, note="", now=NOW
        )
        at_once(
            partial(send, user=rosa, lease_token=mine.token),
            partial(release_lease, user=ravi, lease_token=theirs.token),
        )
        assert not Lease.objects.exists()
        task.refresh_from_db()
        assert task.stage == "adjudication"
        ReviewTask.objects.filter(pk=task.pk, status="open").update(status="cancelled", closed_at=NOW)


def test_what_is_put_on_a_desk_is_counted_and_what_is_renewed_is_not(workflow: Workflow, rosa: User) -> None:
    task = make_task(workflow)
    for opened in (1, 2):
        hold(rosa, task)
        Lease.objects.update(expires_at=NOW)
        task.refresh_from_db()
        assert task.times_opened == opened


def test_leases_are_forgotten_while_somebody_answers_what_they_are_of(
    workflow: Workflow, rosa: User, ravi: User
) -> None:
    for _ in range(ROUNDS):
        later, sooner = make_task(workflow), make_task(workflow)
        hold(rosa, sooner, later)
        Lease.objects.update(expires_at=NOW)
        tokens = Lease.objects.order_by("task").values_list("token", flat=True)
        mine = partial(
            submit_review, answers={"intent": SubmittedAnswer("spam")}, seconds=1, note="", now=NOW, user=rosa
        )
        at_once(
            partial(forget_leases, ended_before=NOW + timedelta(seconds=1)),
            *(partial(or_lose, partial(mine, lease_token=token)) for token in tokens),
        )
        assert not Lease.objects.exists()
        ReviewTask.objects.filter(status="open").update(status="cancelled", closed_at=NOW)


def test_a_lease_that_ended_lately_is_kept(workflow: Workflow, rosa: User) -> None:
    hold(rosa, make_task(workflow), make_task(workflow))
    Lease.objects.filter(pk=Lease.objects.earliest("pk").pk).update(expires_at=NOW)
    forget_leases(ended_before=NOW + timedelta(seconds=1))
    assert Lease.objects.count() == 1
