"""Who asks the queue, in tests."""

from __future__ import annotations

import uuid
from datetime import timedelta

from apps.accounts.models import User
from apps.core.db import ClockTimestamp
from apps.reviews.leases import take_next_task
from apps.reviews.models import DeskPreferences, ReviewTask
from apps.reviews.queue import EVERYTHING, QueueFilter
from apps.workflows.models import Workflow


def gets(user: User, workflow: Workflow, wanted: QueueFilter = EVERYTHING) -> ReviewTask | None:
    """What lies on the desk after asking."""
    lease = take_next_task(user=user, workflow=workflow, wanted=wanted)
    return lease.task if lease else None


def token_of(user: User, workflow: Workflow) -> uuid.UUID:
    """The token of what lies on the desk."""
    lease = take_next_task(user=user, workflow=workflow)
    assert lease is not None
    return lease.token


def read_only(user: User, *languages: str) -> None:
    DeskPreferences.objects.create(user=user, languages=list(languages))


def hand_to(user: User, task: ReviewTask) -> None:
    ReviewTask.objects.filter(pk=task.pk).update(
        assigned_to=user, assigned_until=ClockTimestamp() + timedelta(hours=1)
    )
