"""Answers sent again, taken back, or overtaken by the policy."""

from __future__ import annotations

import pytest
from django.utils import timezone

from apps.accounts.models import User
from apps.items.models import Route
from apps.reviews.errors import LeaseLost, NothingToUndo
from apps.reviews.leases import take_next_task
from apps.reviews.models import Lease, Review, ReviewTask
from apps.reviews.services import Submitted, SubmittedAnswer, submit_review, undo_last_review
from apps.workflows.models import Workflow
from tests.factories import NOW, make_task


def take(user: User, workflow: Workflow) -> Lease:
    lease = take_next_task(user=user, workflow=workflow)
    assert lease is not None
    return lease


def send(user: User, lease: Lease, value: str | None = "spam", note: str = "") -> Submitted:
    given = {"intent": SubmittedAnswer(value, none_of_these=value is None)}
    return submit_review(user=user, lease_token=lease.token, answers=given, seconds=1, note=note, now=NOW)


@pytest.mark.parametrize("value", ["spam", None])
def test_it_works(workflow: Workflow, rosa: User, value: str | None) -> None:
    make_task(workflow)
    lease = take(rosa, workflow)
    assert not send(rosa, lease, value).repeated
    assert send(rosa, lease, value).repeated
    assert Review.objects.count() == 1


def test_an_answer_taken_back_is_not_called_saved_when_its_form_comes_again(
    workflow: Workflow, rosa: User
) -> None:
    make_task(workflow)
    lease = take(rosa, workflow)
    send(rosa, lease)
    undo_last_review(user=rosa, workflow=workflow, now=NOW)
    with pytest.raises(LeaseLost, match="taken this answer back"):
        send(rosa, lease)


@pytest.mark.parametrize(("value", "note"), [("lead", ""), ("spam", "They wrote twice.")])
def test_another_answer_under_the_same_hold_is_not_called_saved(
    workflow: Workflow, rosa: User, value: str, note: str
) -> None:
    make_task(workflow)
    lease = take(rosa, workflow)
    send(rosa, lease)
    with pytest.raises(LeaseLost, match="first answer counts"):
        send(rosa, lease, value, note)
    assert Review.objects.get().answers.get().value == "spam"


def test_an_audit_whose_route_was_replaced_is_not_opened_again(workflow: Workflow, rosa: User) -> None:
    make_task(workflow, kind="audit")
    send(rosa, take(rosa, workflow))
    Route.objects.update(superseded_at=timezone.now())
    newer = Route.objects.get()
    newer.pk, newer.superseded_at, newer.outcome, newer.drawn = None, None, "review", False
    newer.save()
    with pytest.raises(NothingToUndo, match="routed anew"):
        undo_last_review(user=rosa, workflow=workflow, now=NOW)
    assert ReviewTask.objects.get().status == "done"
