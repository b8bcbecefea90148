"""Tells the outside what people settled, where somebody is subscribed to it."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

from apps.items.models import Item
from apps.outbox.events import ITEM_SETTLED
from apps.outbox.services import emit_all, wanted_types
from apps.reviews.models import ReviewTask


def tell_settled(
    *,
    task: ReviewTask,
    label: str | None,
    answers: Mapping[str, str | None],
    now: datetime,
    not_before: datetime,
) -> None:
    """Sent from `not_before` on: until then the answer can be taken back, and its event with it."""
    if ITEM_SETTLED not in wanted_types(task.workflow):
        return
    data = {
        "item": {"id": task.item_id, "external_id": task.item.external_id},
        "settled_by": Item.SettledBy.PEOPLE,
        "label": label,
        "answers": dict(answers),
        "questions_version": task.question_set.version,
        "settled_at": now.isoformat(),
    }
    emit_all(workflow=task.workflow, type=ITEM_SETTLED, data=[data], now=now, not_before=not_before)
