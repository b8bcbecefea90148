"""Sends what is due, one subscription's at a time. A claim on the row says whose it is; who is late writes nothing.

At least once: what a worker sent before it died, and did not write down, is sent again under the same id.
"""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from datetime import datetime, timedelta

import structlog
from django.conf import settings
from django.db import models, transaction
from django.db.models import Exists, F, OuterRef, Q

from apps.core.db import ClockTimestamp
from apps.outbox.letters import mail_event
from apps.outbox.models import Attempt, Sending, Subscription
from apps.outbox.posting import GONE, Outcome, post_event

log = structlog.get_logger()
AT_ONCE = 8
CLAIM_S = 120
"""A post takes 10 s, a mail some waits of 10 s each, and a name that is looked up its own time."""
PAUSES_S = (5, 300, 1_800, 7_200, 18_000, 36_000, 50_400, 72_000, 86_400)
MOST_TRIES = len(PAUSES_S) + 1
FIRST_REST_S, LONGEST_REST_S = 5, 3_600
MOST_FAILURES = 130
"""Rounds in a row of which nothing got through: with an hour between them about five days."""
BEGUN = "Begun; how it ended is not known."


@dataclass(frozen=True, slots=True)
class Claimed:
    sending: Sending
    attempt: Attempt


def send_next(*, now: Callable[[], datetime]) -> bool:
    """Sends a round of one subscription; False when nothing was due."""
    subscription = _next_subscription()
    if subscription is None:
        return False
    claimed = claim(subscription=subscription, now=now())
    if not claimed:
        return False
    outcomes = []
    with ThreadPoolExecutor(len(claimed)) as pool:
        under_way = {pool.submit(_try, each.sending): each for each in claimed}
        for done in as_completed(under_way):
            outcome, seconds = done.result()
            record(claimed=under_way[done], outcome=outcome, seconds=seconds, now=now())
            outcomes.append(outcome)
    _judge(subscription, outcomes)
    return True


def _next_subscription() -> Subscription | None:
    """One with something due and nothing under way, so that a slow receiver holds up one worker at most.

    By chance, so that a long queue of one lets the others through.
    """
    of_it = Sending.objects.filter(subscription=OuterRef("pk"), status=Sending.Status.PENDING)
    rested = Q(paused_until=None) | Q(paused_until__lte=ClockTimestamp())
    return (
        Subscription.objects.filter(rested, Exists(of_it.filter(_due())), is_active=True)
        .exclude(Exists(of_it.filter(claim_token__isnull=False, claimed_until__gt=ClockTimestamp())))
        .order_by("?")
        .first()
    )


def _due() -> Q:
    free = Q(claim_token=None) | Q(claimed_until__lt=ClockTimestamp())
    return free & Q(next_try_at__lte=ClockTimestamp())


@transaction.atomic
def claim(*, subscription: Subscription, now: datetime) -> list[Claimed]:
    """Up to AT_ONCE that are due, a single one while nothing gets through; each with the attempt it begins.

    What workers died at MOST_TRIES times is given up.
    """
    limit = AT_ONCE if subscription.failures_in_a_row == 0 else 1
    due = Sending.objects.filter(_due(), subscription=subscription, status=Sending.Status.PENDING)
    rows = list(
        due.select_for_update(skip_locked=True, of=("self",))
        .select_related("event__workflow", "subscription")
        .order_by("next_try_at")[:limit]
    )
    token, lost = uuid.uuid4(), [each.pk for each in rows if each.tries >= MOST_TRIES]
    _finish(Sending.objects.filter(pk__in=lost), status=Sending.Status.GIVEN_UP)
    taken = [each for each in rows if each.tries < MOST_TRIES]
    until = ClockTimestamp() + timedelta(seconds=CLAIM_S)
    Sending.objects.filter(pk__in=[each.pk for each in taken]).update(
        claim_token=token, claimed_until=until, tries=F("tries") + 1
    )
    for each in taken:
        each.claim_token, each.tries = token, each.tries + 1
    attempts = Attempt.objects.bulk_create(
        Attempt(sending=each, at=now, http_status=None, seconds=0, error=BEGUN) for each in taken
    )
    return [Claimed(each, attempt) for each, attempt in zip(taken, attempts, strict=True)]


def _try(sending: Sending) -> tuple[Outcome, float]:
    """In a thread of the round: HTTP and SMTP only, no rows."""
    begun = time.monotonic()
    try:
        if sending.subscription.kind == Subscription.Kind.MAIL:
            outcome = mail_event(sending.event, sending.subscription)
        else:
            allow_private = settings.ALLOW_PRIVATE_WEBHOOKS
            outcome = post_event(sending.event, sending.subscription, allow_private=allow_private)
    except Exception as error:
        log.exception("sending_broke", sending=sending.pk)
        outcome = Outcome(False, error=f"A fault of Fermata’s own ({type(error).__name__}, see the log).")
    return outcome, time.monotonic() - begun


@transaction.atomic
def record(*, claimed: Claimed, outcome: Outcome, seconds: float, now: datetime) -> None:
    """What came back, and what follows. Who lost the claim writes the attempt alone: it did take place."""
    sending = claimed.sending
    Attempt.objects.filter(pk=claimed.attempt.pk).update(
        http_status=outcome.http_status, seconds=seconds, error=outcome.error
    )
    mine = Sending.objects.filter(
        pk=sending.pk, claim_token=sending.claim_token, status=Sending.Status.PENDING
    )
    if outcome.is_sent:
        _finish(mine, status=Sending.Status.SENT, sent_at=now)
    elif outcome.is_final or sending.tries >= MOST_TRIES:
        _finish(mine, status=Sending.Status.GIVEN_UP)
    else:
        pause_s = max(PAUSES_S[sending.tries - 1], outcome.retry_after_s)
        _finish(mine, next_try_at=ClockTimestamp() + timedelta(seconds=pause_s))
    log.info("sent" if outcome.is_sent else "not_sent", sending=sending.pk, status=outcome.http_status)


def _finish(rows: models.QuerySet[Sending], **values: object) -> None:
    rows.update(claim_token=None, claimed_until=None, **values)


def _judge(subscription: Subscription, outcomes: list[Outcome]) -> None:
    """A receiver that takes nothing rests, longer each time; in the end it is off until a person resumes it."""
    row = Subscription.objects.filter(pk=subscription.pk)
    if any(each.is_sent for each in outcomes):
        row.exclude(failures_in_a_row=0).update(failures_in_a_row=0, paused_until=None, error="")
        return
    counted = [each for each in outcomes if not each.is_final]
    if not counted:
        return
    failures, why = subscription.failures_in_a_row + 1, counted[-1].error
    rest_s = min(LONGEST_REST_S, FIRST_REST_S * 2 ** min(failures - 1, 12))
    row.update(
        failures_in_a_row=failures,
        paused_until=ClockTimestamp() + timedelta(seconds=rest_s),
        error=why,
    )
    if any(each.http_status == GONE for each in counted):
        row.update(is_active=False, error="The receiver said that it is gone for good (410).")
    elif failures >= MOST_FAILURES:
        row.update(is_active=False, error=f"Nothing got through for days. {why}"[:300])
