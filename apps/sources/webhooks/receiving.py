"""Keeps what was posted, so that the sender can be answered at once; it is worked off later."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from datetime import datetime
from functools import partial

import structlog
from django.db import transaction

from apps.sources.models import Delivery, Source
from apps.sources.wake import wake

log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class Received:
    delivery_id: int
    is_replay: bool


@transaction.atomic
def receive(*, source: Source, message_id: str, body: bytes, now: datetime) -> Received:
    """One row, however often and by however many at once it is posted. A paused source keeps it, too."""
    sha256 = hashlib.sha256(body).hexdigest()
    delivery, is_new = Delivery.objects.defer("body").get_or_create(
        source=source,
        message_id=message_id,
        defaults={"body": body, "sha256": sha256, "received_at": now},
    )
    if is_new:
        transaction.on_commit(partial(wake, "work_off_deliveries"))
    elif delivery.sha256 != sha256:
        # By the standard the id alone says what is the same message.
        log.warning("replay_with_other_body", source=source.pk, delivery=delivery.pk)
    return Received(delivery.pk, not is_new)
