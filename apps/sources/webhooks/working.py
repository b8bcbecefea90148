"""Works off what was posted. The row is the truth: who claims it has `CLAIM_S` seconds, then another may."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from datetime import datetime, timedelta
from typing import Any

import structlog
from django.db import transaction
from django.db.models import Q

from apps.core.bodies import NotJson, parse_json
from apps.core.db import ClockTimestamp
from apps.core.errors import Conflict, FieldProblem, InvalidInput
from apps.core.text import repaired
from apps.pipeline.intake import Intake, add_items
from apps.sources.mail.adding import add_mails
from apps.sources.models import Delivery, Source
from apps.sources.posted import at
from apps.sources.wake import wake
from apps.sources.webhooks.chats import read_chats
from apps.sources.webhooks.posts import read_items, read_whole
from apps.sources.webhooks.reading import LONGEST_NOTE, NOT_LOOKED_AT, Look, Reading, storable, to_note
from apps.sources.webhooks.settings import webhook_settings

log = structlog.get_logger()
CLAIM_S = 300
MOST_ATTEMPTS = 6
FIRST_PAUSE_S = 15
"""Four times as long after every try: 15 s, 1, 4, 16 min, 1 h."""
MOST_AT_ONCE = 200
"""Deliveries a task works off; the next one goes on."""
KEPT = timedelta(days=30)
KINDS = (Source.Kind.WEBHOOK, Source.Kind.WHATSAPP)


class ClaimLost(Conflict):
    """Another worker has the delivery meanwhile; what this one wrote is rolled back."""


def work_off_deliveries(*, now: Callable[[], datetime]) -> int:
    """How many were taken up, the oldest first; one that breaks stops no other."""
    for done in range(MOST_AT_ONCE):
        delivery = claim_delivery()
        if delivery is None:
            return done
        try:
            _try(delivery, now=now())
        except ClaimLost:
            log.warning("delivery_claim_lost", delivery=delivery.pk)
    wake("work_off_deliveries")
    return MOST_AT_ONCE


@transaction.atomic
def claim_delivery() -> Delivery | None:
    """The oldest whose time has come. One at which workers die again and again comes once more, to be refused."""
    due = Q(next_try_at=None) | Q(next_try_at__lte=ClockTimestamp())
    delivery = (
        Delivery.objects.select_for_update(skip_locked=True, of=("self",))
        .select_related("source__workflow")
        .filter(due, status=Delivery.Status.PENDING, source__is_paused=False, source__kind__in=KINDS)
        .order_by("pk")
        .first()
    )
    if delivery is not None:
        delivery.attempts += 1
        until = ClockTimestamp() + timedelta(seconds=CLAIM_S)
        Delivery.objects.filter(pk=delivery.pk).update(attempts=delivery.attempts, next_try_at=until)
    return delivery


def _try(delivery: Delivery, *, now: datetime) -> None:
    try:
        work_off(delivery, now=now)
    except ClaimLost:
        raise
    except Exception as error:
        log.exception("delivery_broke", delivery=delivery.pk)
        _put_back(delivery, f"{type(error).__name__} while it was worked off.")


def work_off(delivery: Delivery, *, now: datetime) -> None:
    """Raises ClaimLost."""
    if delivery.attempts > MOST_ATTEMPTS:
        why = f"Given up after {MOST_ATTEMPTS} tries. {delivery.note}".strip()
        _finish(delivery, status=Delivery.Status.REFUSED, note=why[:LONGEST_NOTE], done_at=now)
        return
    look = Look()
    try:
        reading = _read(delivery, look)
    except (NotJson, InvalidInput) as error:
        reading = Reading(problems=[FieldProblem("", str(error))])
    except RecursionError:
        reading = Reading(problems=[FieldProblem("", "nested too deep to be read")])
    _add_mails(delivery, reading, look, now=now)
    _store(delivery, reading, now=now)


def _read(delivery: Delivery, look: Look) -> Reading:
    source, body = delivery.source, parse_json(bytes(delivery.body))
    if source.kind == Source.Kind.WHATSAPP:
        is_last_try = delivery.attempts == MOST_ATTEMPTS
        reading = read_chats(body, source=source, is_last_try=is_last_try, look=look)
    elif webhook_settings(source).whole_body:
        reading = read_whole(body, message_id=delivery.message_id)
    else:
        message_id = delivery.message_id
        reading = read_items(body, workflow=source.workflow, message_id=message_id, look=look)
    reading.taken = [(place, storable(each)) for place, each in reading.taken]
    return reading


def _add_mails(delivery: Delivery, reading: Reading, look: Look, *, now: datetime) -> None:
    """One by one, and outside the delivery's transaction: their PDFs are drawn meanwhile. Safe to repeat."""
    source = delivery.source
    for place, mail in reading.mails:
        if look.is_over:
            reading.problems.append(at(place, NOT_LOOKED_AT))
            continue
        intake = add_mails(workflow=source.workflow, mails=[mail], source=source.kind, now=now)
        delivery.items += intake.created
        reading.problems += _refused(intake, [(place, mail)], source)


@transaction.atomic
def _store(delivery: Delivery, reading: Reading, *, now: datetime) -> None:
    """Items and the delivery's end together: whoever reads the page sees both or neither."""
    source, incoming = delivery.source, [each for _, each in reading.taken]
    intake = add_items(workflow=source.workflow, incoming=incoming, source=source.kind, now=now)
    problems = [*reading.problems, *_refused(intake, reading.taken, source)]
    delivery.items += intake.created
    if reading.waiting:
        _put_back(delivery, reading.waiting)
        return
    is_whole = not problems
    _finish(
        delivery,
        status=Delivery.Status.DONE if is_whole else Delivery.Status.REFUSED,
        note=to_note(problems, reading.ignored),
        done_at=now,
        **({"body": b""} if is_whole else {}),
    )


def _refused(intake: Intake, places: Sequence[tuple[str, Any]], source: Source) -> Iterator[FieldProblem]:
    for refused in intake.refused:
        # Meta's own id says that it is the same message, whatever was fetched or told along with it.
        if not (refused.is_conflict and source.kind == Source.Kind.WHATSAPP):
            yield from (at(places[refused.index][0], problem) for problem in refused.problems)


def _put_back(delivery: Delivery, why: str) -> None:
    pause = timedelta(seconds=FIRST_PAUSE_S * 4 ** (delivery.attempts - 1))
    _finish(delivery, note=repaired(why)[0][:LONGEST_NOTE], next_try_at=ClockTimestamp() + pause)


def _finish(delivery: Delivery, **values: object) -> None:
    # `attempts` is the claim: who woke up late finds it counted on and changes nothing.
    mine = Delivery.objects.filter(pk=delivery.pk, attempts=delivery.attempts, status=Delivery.Status.PENDING)
    if not mine.update(items=delivery.items, **{"next_try_at": None} | values):
        raise ClaimLost("Another worker has this delivery.")


def work_again(*, delivery: Delivery) -> None:
    """A refused delivery from the start, what it brought before is recognised. Raises Conflict."""
    again = Delivery.objects.filter(
        pk=delivery.pk, status=Delivery.Status.REFUSED, source__kind__in=KINDS
    ).exclude(body=b"")
    if not again.update(status=Delivery.Status.PENDING, attempts=0, next_try_at=None, done_at=None):
        raise Conflict("This delivery is not refused any more, or its content is gone.")
    transaction.on_commit(lambda: wake("work_off_deliveries"))


def pause(*, source: Source) -> None:
    Source.objects.filter(pk=source.pk).update(is_paused=True)


def resume(*, source: Source) -> None:
    """What came meanwhile is worked off; a mailbox is looked at with the next round."""
    Source.objects.filter(pk=source.pk).update(is_paused=False, next_look_at=None)
    transaction.on_commit(lambda: wake("work_off_deliveries"))


def sweep_deliveries(*, now: datetime) -> int:
    """Removes what was done or refused more than `KEPT` ago; what waits stays."""
    old = Delivery.objects.filter(received_at__lt=now - KEPT).exclude(status=Delivery.Status.PENDING)
    return old.delete()[0]
