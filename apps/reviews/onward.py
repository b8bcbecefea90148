"""An answer and the next item in one transaction: what a reviewer waits for is written to disk once."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from datetime import datetime
from typing import Any

import structlog
from django.db import DatabaseError, transaction

from apps.accounts.models import User
from apps.reviews.models import Lease
from apps.reviews.queue import EVERYTHING, place_next, sit_down
from apps.reviews.services import Submitted, SubmittedAnswer, record_review, submit_review
from apps.workflows.models import Workflow

log = structlog.get_logger()


def submit_and_take(
    *,
    user: User,
    workflow: Workflow,
    lease_token: uuid.UUID,
    answers: Mapping[str, SubmittedAnswer],
    seconds: float | None,
    note: str,
    now: datetime,
) -> tuple[Submitted, Lease | None]:
    """`submit_review`, with what it raises, and the next item whatever it is; None where that is still to be looked
    for, by `take_next_task`. An answer that can be taken is kept, whatever becomes of the next item."""
    answer: dict[str, Any] = {
        "user": user,
        "workflow": workflow,
        "lease_token": lease_token,
        "answers": answers,
        "seconds": seconds,
        "note": note,
        "now": now,
    }
    try:
        return _together(user, workflow, answer)
    except DatabaseError:
        # Perhaps it is the next item that cannot be found: that keeps no answer from being taken.
        log.warning("not_answered_together", workflow=workflow.slug, exc_info=True)
    return submit_review(**answer), None


@transaction.atomic
def _together(user: User, workflow: Workflow, answer: dict[str, Any]) -> tuple[Submitted, Lease | None]:
    sent = record_review(**answer)
    if sent.seeker is not None:
        return sent, place_next(sent.seeker, EVERYTHING)
    sitting = sit_down(user, workflow, EVERYTHING)
    if sitting is None:
        return sent, None
    if sitting.held:
        # Another may have to go for the next: beside the task that is locked, its row cannot be locked in order.
        return sent, sitting.fitting
    return sent, place_next(sitting.seeker, EVERYTHING)
