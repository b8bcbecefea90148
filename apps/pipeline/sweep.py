"""Finds rows that were left behind: by a killed worker, a lost message, an endpoint that stayed away too long."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import groupby

from django.db import transaction
from django.db.models import Q

from apps.actions.models import ActionRun
from apps.core.db import ClockTimestamp
from apps.items.models import Item
from apps.pipeline.claims import workflows_with_work
from apps.pipeline.rulebook import rulebook_for
from apps.pipeline.writing import Routed, to_people, write_routes
from apps.policies.models import Policy
from apps.reviews.models import Lease

MOST_ATTEMPTS = 5
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
    Lease.objects.filter(expires_at__lt=now - timedelta(days=1)).delete()
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
        wait_reason="A worker died while it had this item.",
    )


@transaction.atomic
def give_to_people(*, now: datetime) -> int:
    """Items whose due time came while the endpoint was away, and items at which workers die again and again."""
    active = Policy.objects.filter(status=Policy.Status.ACTIVE).values("workflow")
    overdue = Q(due_at__lte=now) & ~Q(wait_reason="")
    items = (
        Item.objects.select_for_update(skip_locked=True, of=("self",))
        .filter(overdue | Q(attempts__gte=MOST_ATTEMPTS), status=Item.Status.RECEIVED, workflow__in=active)
        .select_related("workflow__endpoint")
        .order_by("workflow_id", "id")[:BATCH]
    )
    given = 0
    for workflow, group in groupby(items, key=lambda item: item.workflow):
        book = rulebook_for(workflow)
        routed = [
            Routed(
                item,
                None,
                to_people(
                    book,
                    "worker_lost" if item.attempts >= MOST_ATTEMPTS else "not_in_time",
                    item.wait_reason or "no answer",
                ),
            )
            for item in group
        ]
        write_routes(book=book, routed=routed, now=now)
        given += len(routed)
    return given
