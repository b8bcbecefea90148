"""Events written in the transaction of what they tell, and what a manager may do about their sending."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

from django.db import transaction
from django.db.models import Exists, OuterRef

from apps.core.db import ClockTimestamp
from apps.core.errors import Conflict
from apps.core.wake import wake
from apps.outbox.models import Event, Sending, Subscription
from apps.workflows.models import Workflow

KEPT = timedelta(days=30)
SWEPT_AT_ONCE = 5_000
Data = Mapping[str, Any]


def emit(*, workflow: Workflow, type: str, data: Data, now: datetime) -> Event:
    """Writes the event, and a sending to every active subscription that wants its type.

    To be called inside the transaction of what it tells: both happen or neither. `data["text"]`, when there, is
    the sentence that people get by mail.
    """
    return emit_all(workflow=workflow, type=type, data=[data], now=now)[0]


@transaction.atomic
def emit_all(
    *,
    workflow: Workflow,
    type: str,
    data: Sequence[Data],
    now: datetime,
    not_before: datetime | None = None,
) -> list[Event]:
    """As `emit`, for several at once. None is sent before `not_before`; until then `withdraw` takes it back."""
    events = Event.objects.bulk_create(
        Event(workflow=workflow, type=type, data={"workflow": workflow.slug, **each}, created_at=now)
        for each in data
    )
    wanting = Subscription.objects.filter(workflow=workflow, is_active=True, events__contains=[type])
    sendings = [
        Sending(event=event, subscription=subscription, next_try_at=not_before or now)
        for subscription in wanting
        for event in events
    ]
    if sendings:
        Sending.objects.bulk_create(sendings)
        transaction.on_commit(wake_senders)
    return events


def wanted_types(workflow: Workflow) -> frozenset[str]:
    """The types that somebody is subscribed to: one cheap query, for those that would tell of every item."""
    active = Subscription.objects.filter(workflow=workflow, is_active=True)
    return frozenset(each for events in active.values_list("events", flat=True) for each in events)


def withdraw(*, workflow: Workflow, type: str, item_id: int) -> int:
    """Takes back what was not tried yet of an item's events; how many sendings it was."""
    untried = Sending.objects.filter(status=Sending.Status.PENDING, tries=0, event__workflow=workflow)
    return untried.filter(event__type=type, event__data__item__id=item_id).delete()[0]


def send_again(*, sending: Sending, now: datetime) -> None:
    """Once more from the first try, under the same id, so that a receiver recognises it.

    Raises Conflict for one that waits already, and while its subscription is off.
    """
    if not Subscription.objects.filter(pk=sending.subscription_id, is_active=True).exists():
        raise Conflict("This subscription is switched off. Resume it first.")
    ended = Sending.objects.filter(pk=sending.pk).exclude(status=Sending.Status.PENDING)
    fresh: dict[str, Any] = {"claim_token": None, "claimed_until": None, "sent_at": None}
    if not ended.update(status=Sending.Status.PENDING, tries=0, next_try_at=now, **fresh):
        raise Conflict("It is waiting to be sent already.")
    transaction.on_commit(wake_senders)


def pause(*, subscription: Subscription) -> None:
    """Nothing is sent any more, and what happens meanwhile is not kept for it; what waits stays."""
    Subscription.objects.filter(pk=subscription.pk).update(is_active=False, error="")


def resume(*, subscription: Subscription) -> None:
    """What waits is tried at once, whatever kept it."""
    Subscription.objects.filter(pk=subscription.pk).update(
        is_active=True, failures_in_a_row=0, paused_until=None, error=""
    )
    waiting = Sending.objects.filter(subscription=subscription, status=Sending.Status.PENDING, tries__gt=0)
    waiting.filter(next_try_at__gt=ClockTimestamp()).update(next_try_at=ClockTimestamp())
    transaction.on_commit(wake_senders)


def sweep_events(*, now: datetime) -> int:
    """Removes events older than `KEPT` that nobody who is on waits for; a bounded number, the next round goes on."""
    waiting = Sending.objects.filter(
        event=OuterRef("pk"), status=Sending.Status.PENDING, subscription__is_active=True
    )
    old = Event.objects.filter(~Exists(waiting), created_at__lt=now - KEPT).order_by("pk")[:SWEPT_AT_ONCE]
    return Event.objects.filter(pk__in=list(old.values_list("pk", flat=True))).delete()[0]


def wake_senders() -> None:
    wake("apps.outbox.tasks.send")
