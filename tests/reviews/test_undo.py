from __future__ import annotations

from datetime import timedelta

import pytest

from apps.accounts.models import User
from apps.actions.models import ActionRun
from apps.actions.services import claim_runs
from apps.reviews.errors import NothingToUndo
from apps.reviews.leases import take_next_task
from apps.reviews.models import Label, Review
from apps.reviews.services import SubmittedAnswer, submit_review, undo_last_review
from apps.workflows.models import Workflow
from tests.factories import NOW, make_task

LATER = NOW + timedelta(seconds=60)


def decide(user: User, workflow: Workflow, value: str = "spam") -> None:
    lease = take_next_task(user=user, workflow=workflow)
    assert lease is not None
    given = {"intent": SubmittedAnswer(value)}
    submit_review(user=user, lease_token=lease.token, answers=given, seconds=1, note="", now=NOW)


def test_it_works(workflow: Workflow, rosa: User) -> None:
    task = make_task(workflow)
    decide(rosa, workflow)
    lease = undo_last_review(user=rosa, workflow=workflow, now=NOW)
    task.item.refresh_from_db()
    assert (lease.task_id, task.item.status) == (task.pk, "in_review")
    assert ActionRun.objects.get().status == "cancelled"
    assert Label.objects.get().taken_back_at == NOW
    decide(rosa, workflow, "lead")
    assert list(Review.objects.order_by("revision").values_list("revision", flat=True)) == [1, 2]
    assert Label.objects.get(taken_back_at=None).value == "lead"


def test_audit_is_open_again(workflow: Workflow, rosa: User) -> None:
    task = make_task(workflow, kind="audit")
    decide(rosa, workflow)
    undo_last_review(user=rosa, workflow=workflow, now=NOW)
    task.item.refresh_from_db()
    assert task.item.audit_open


def test_not_after_the_action_started(workflow: Workflow, rosa: User) -> None:
    make_task(workflow)
    decide(rosa, workflow)
    ActionRun.objects.update(not_before=NOW - timedelta(days=1))
    assert len(claim_runs(limit=10)) == 1
    with pytest.raises(NothingToUndo, match="already started"):
        undo_last_review(user=rosa, workflow=workflow, now=NOW)
    assert Label.objects.get().taken_back_at is None


def test_a_late_worker_leaves_time_to_undo(workflow: Workflow, rosa: User) -> None:
    make_task(workflow)
    decide(rosa, workflow)
    assert undo_last_review(user=rosa, workflow=workflow, now=LATER)


def test_without_an_action_the_time_decides(workflow: Workflow, rosa: User) -> None:
    make_task(workflow)
    decide(rosa, workflow, "other")
    with pytest.raises(NothingToUndo, match="too old"):
        undo_last_review(user=rosa, workflow=workflow, now=LATER)


def test_nothing_to_undo(workflow: Workflow, rosa: User, ravi: User) -> None:
    make_task(workflow)
    decide(ravi, workflow)
    with pytest.raises(NothingToUndo, match="no answer here"):
        undo_last_review(user=rosa, workflow=workflow, now=NOW)
