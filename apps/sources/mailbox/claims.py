"""Who looks at a mailbox: one worker at a time, under a token that expires unless it is renewed."""

from __future__ import annotations

import uuid
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.db import transaction
from django.db.models import F, Q

from apps.core.db import ClockTimestamp
from apps.core.errors import Conflict
from apps.sources.models import Source

CLAIM_S = 600
"""Renewed with every batch: long enough for the largest mail over a slow line."""
LONGEST_PAUSE = timedelta(hours=1)


class ClaimLost(Conflict):
    """Another worker has the mailbox, or a person changed it; what this one wrote is rolled back."""


@dataclass(frozen=True, slots=True)
class Claim:
    token: uuid.UUID
    source: Source


@transaction.atomic
def claim_mailbox(*, now: datetime) -> Claim | None:
    """The one that is due for longest and that nobody looks at."""
    due = Q(next_look_at=None) | Q(next_look_at__lte=now)
    free = Q(claimed_until=None) | Q(claimed_until__lt=ClockTimestamp())
    source = (
        Source.objects.select_for_update(skip_locked=True, of=("self",))
        .select_related("workflow")
        .filter(due, free, kind=Source.Kind.IMAP, is_paused=False)
        .order_by(F("next_look_at").asc(nulls_first=True), "pk")
        .first()
    )
    if source is None:
        return None
    token = uuid.uuid4()
    Source.objects.filter(pk=source.pk).update(claim_token=token, claimed_until=_claim_end())
    return Claim(token, source)


def keep(claim: Claim, cursor: dict[str, Any]) -> bool:
    """Writes how far it is and renews the claim. Whether to go on: False once somebody paused it."""
    _write(claim, cursor=cursor, claimed_until=_claim_end())
    return not Source.objects.filter(pk=claim.source.pk, is_paused=True).exists()


def finish(
    claim: Claim, cursor: dict[str, Any], *, now: datetime, next_look_at: datetime, error: str
) -> None:
    """`error`: what did not go well beside the rest."""
    _write(
        claim,
        cursor=cursor,
        claim_token=None,
        claimed_until=None,
        next_look_at=next_look_at,
        failures_in_a_row=0,
        error=error[:300],
        **({} if error else {"looked_at": now}),
    )


def fail(claim: Claim, why: str, *, now: datetime, poll: timedelta) -> None:
    """The pause doubles with each failure in a row, up to an hour."""
    failures = claim.source.failures_in_a_row + 1
    pause = min(poll * 2 ** min(failures, 10), LONGEST_PAUSE)
    _write(
        claim,
        claim_token=None,
        claimed_until=None,
        next_look_at=now + pause,
        failures_in_a_row=failures,
        error=why[:300],
    )


def _claim_end() -> Any:
    return ClockTimestamp() + timedelta(seconds=CLAIM_S)


def _write(claim: Claim, **values: Any) -> None:
    if not Source.objects.filter(pk=claim.source.pk, claim_token=claim.token).update(**values):
        raise ClaimLost("Somebody else has this mailbox.")
