"""Finds rows that were left behind: by a killed worker, a lost message, an endpoint that stayed away too long."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

import structlog
from django.db import transaction
from django.db.models import Exists, OuterRef, Q

from apps.actions.models import ActionRun
from apps.core.db import ClockTimestamp
from apps.items.models import Item
from apps.pipeline.claims import workflows_with_work
from apps.pipeline.rulebook import Rulebook, rulebook_for
from apps.pipeline.writing import Routed, to_people, write_routes
from apps.policies.models import Policy
from apps.reviews.leases import forget_leases
from apps.routing.types import Route
from apps.workflows.models import QuestionSet, Workflow

log = structlog.get_logger()
MOST_ATTEMPTS = 5
WORKER_DIED = "A worker died while it had this item."
BATCH = 500


@dataclass(frozen=True, slots=True)
class Swept:
    freed: int
    to_people: int
    to_decide: bool
    to_act: bool


def sweep_rows(*, now: datetime) -> Swept:
    """Frees claims of dead workers, gives to people what can wait no longer, and says what workers should do."""
    freed = free_dead_claims()
    given = give_to_people(now=now)
    # Kept for a day, so that who comes back late is told what happened to the item.
    forget_leases(ended_before=now - timedelta(days=1))
    due = Q(not_before__lte=ClockTimestamp(), status__in=["pending", "unknown"])
    dead = Q(status="running", claimed_until__lt=ClockTimestamp())
    return Swept(
        freed=freed,
        to_people=given,
        to_decide=bool(workflows_with_work()),
        to_act=ActionRun.objects.filter(due | dead).exists(),
    )


def free_dead_claims() -> int:
    return Item.objects.filter(status=Item.Status.DECIDING, claimed_until__lt=ClockTimestamp()).update(
        status=Item.Status.RECEIVED,
        claim_token=None,
        claimed_until=None,
        wait_reason=WORKER_DIED,
    )


def give_to_people(*, now: datetime) -> int:
    """Items whose due time came while the endpoint was away, and items at which workers die again and again.

    A workflow at which this breaks stops no other.
    """
    late = Exists(Item.objects.filter(_late(now), workflow=OuterRef("pk")))
    asks = Exists(QuestionSet.objects.filter(is_current=True, workflow=OuterRef("pk")))
    ruled = Exists(Policy.objects.filter(status=Policy.Status.ACTIVE, workflow=OuterRef("pk")))
    given = 0
    for workflow in Workflow.objects.select_related("endpoint").filter(late, asks, ruled).order_by("pk"):
        try:
            given += _give(workflow, now)
        except Exception:
            log.exception("not_given_to_people", workflow=workflow.slug)
    return given


def _late(now: datetime) -> Q:
    # An item that came while the endpoint was paused was never tried, so it carries no reason of its own.
    in_trouble = ~Q(wait_reason="") | Q(workflow__endpoint__failures_in_a_row__gt=0)
    overdue = Q(due_at__lte=now) & in_trouble
    return Q(status=Item.Status.RECEIVED) & (overdue | Q(attempts__gte=MOST_ATTEMPTS))


@transaction.atomic
def _give(workflow: Workflow, now: datetime) -> int:
    items = Item.objects.select_for_update(skip_locked=True, of=("self",)).filter(
        _late(now), workflow=workflow
    )
    book = rulebook_for(workflow)
    routed = [Routed(item, None, _why(book, item)) for item in items.order_by("id")[:BATCH]]
    write_routes(book=book, routed=routed, now=now)
    return len(routed)


def _why(book: Rulebook, item: Item) -> Route:
    code = "not_in_time"
    if item.attempts >= MOST_ATTEMPTS:
        code = "worker_lost" if item.wait_reason in ("", WORKER_DIED) else "gave_up"
    reason = item.wait_reason or book.workflow.endpoint.pause_reason or "no answer"
    return to_people(book, code, reason)
