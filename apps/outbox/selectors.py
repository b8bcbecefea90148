"""What pages show of what is told to the outside."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

from django.db.models import Count, Q, QuerySet

from apps.core.db import ClockTimestamp
from apps.core.secrets import is_set
from apps.outbox.letters import NO_SERVER, mail_is_on
from apps.outbox.models import Sending, Subscription
from apps.workflows.models import Workflow

PAGE = 50
LATE = timedelta(seconds=60)


@dataclass(frozen=True, slots=True)
class Told:
    """A subscription, how many sendings wait, were given up in the last 30 days, and what is in their way."""

    subscription: Subscription
    waiting: int
    given_up: int
    trouble: str

    @property
    def is_resting(self) -> bool:
        return self.subscription.is_active and self.subscription.failures_in_a_row > 0


@dataclass(frozen=True, slots=True)
class OutboxHealth:
    """Over all workflows. `late`: due for longer than `LATE`, of subscriptions that neither rest nor are off."""

    waiting: int
    late: int
    given_up: int
    failing: tuple[Told, ...]


@dataclass(frozen=True, slots=True)
class SendingPage:
    sendings: tuple[Sending, ...]
    older: int | None


def subscriptions_of(workflow: Workflow) -> list[Told]:
    return _told(Subscription.objects.filter(workflow=workflow))


def told_of(subscription: Subscription) -> Told:
    return _told(Subscription.objects.filter(pk=subscription.pk))[0]


def outbox_health() -> OutboxHealth:
    told = _told(Subscription.objects.select_related("workflow"))
    running = Q(subscription__is_active=True) & (
        Q(subscription__paused_until=None) | Q(subscription__paused_until__lte=ClockTimestamp())
    )
    late = Sending.objects.filter(
        running, status=Sending.Status.PENDING, next_try_at__lt=ClockTimestamp() - LATE
    )
    return OutboxHealth(
        waiting=sum(each.waiting for each in told),
        late=late.count(),
        given_up=sum(each.given_up for each in told),
        failing=tuple(each for each in told if each.trouble),
    )


def sending_page(*, subscription: Subscription, before: int | None) -> SendingPage:
    """Newest first, each with its attempts; `before` is the id that the page begins below."""
    found = Sending.objects.filter(subscription=subscription).select_related("event")
    if before is not None:
        found = found.filter(pk__lt=before)
    rows = list(found.prefetch_related("attempts").order_by("-pk")[: PAGE + 1])
    return SendingPage(tuple(rows[:PAGE]), rows[PAGE - 1].pk if len(rows) > PAGE else None)


def _told(subscriptions: QuerySet[Subscription]) -> list[Told]:
    """Each count is answered from a partial index over what was not sent."""
    statuses = (Sending.Status.PENDING, Sending.Status.GIVEN_UP)
    counts = {status: _counts(status) for status in statuses}
    waiting, given_up = (counts[status] for status in statuses)
    return [
        Told(each, waiting.get(each.pk, 0), given_up.get(each.pk, 0), _trouble(each))
        for each in subscriptions.order_by("workflow__slug", "kind", "address")
    ]


def _counts(status: str) -> dict[int, int]:
    rows = Sending.objects.filter(status=status).values("subscription").annotate(n=Count("pk"))
    return {row["subscription"]: row["n"] for row in rows.order_by()}


def _trouble(subscription: Subscription) -> str:
    if subscription.error:
        return subscription.error
    if subscription.kind == Subscription.Kind.MAIL:
        return "" if mail_is_on() else NO_SERVER
    variable = subscription.secret_variable
    return "" if is_set(variable) else f"The environment variable {variable} is not set here."
