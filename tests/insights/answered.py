"""Answered tasks by the handful, through the product's own doors."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from apps.accounts.models import User
from apps.reviews.leases import place_lease
from apps.reviews.models import Label, Review, ReviewTask
from apps.reviews.services import SubmittedAnswer, submit_review
from apps.workflows.models import Workflow
from tests.factories import NOW, make_task


def answer(
    user: User, task: ReviewTask, value: str | None, *, at: datetime = NOW, seconds: float | None = 4.0
) -> Review:
    """`value` None says "none of these"."""
    given = SubmittedAnswer(value, none_of_these=value is None)
    return send(user, task, dict.fromkeys(task.asked, given), at=at, seconds=seconds)


def cannot_tell(user: User, task: ReviewTask, *, at: datetime = NOW, said: str = "") -> Review:
    given = SubmittedAnswer(None, cannot_tell=True, said=said)
    return send(user, task, dict.fromkeys(task.asked, given), at=at)


def send(
    user: User,
    task: ReviewTask,
    answers: dict[str, SubmittedAnswer],
    *,
    at: datetime = NOW,
    seconds: float | None = 4.0,
    note: str = "",
) -> Review:
    lease = place_lease(task_id=task.pk, user=user, workflow=task.workflow)
    return submit_review(
        user=user, lease_token=lease.token, answers=answers, seconds=seconds, note=note, now=at
    ).review


def make_label(
    workflow: Workflow, user: User, value: str | None = "spam", *, at: datetime = NOW, **task: Any
) -> Label:
    review = answer(user, make_task(workflow, **task), value, at=at)
    return Label.objects.get(review=review)


def make_labels(workflow: Workflow, user: User, *values: str | None, **task: Any) -> list[Label]:
    return [make_label(workflow, user, value, **task) for value in values]
