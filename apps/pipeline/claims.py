"""Which worker has which items. A claim is a token and an end on the row; who wakes up late writes nothing."""

from __future__ import annotations

import uuid
from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime

from django.db import connection
from django.db.models import Exists, F, OuterRef, Q

from apps.core.db import ClockTimestamp
from apps.core.text import repaired
from apps.items.models import Item
from apps.policies.models import Policy
from apps.workflows.models import Endpoint, QuestionSet, Workflow

ASK_S = 90.0
"""Seconds a batch may begin to ask; what is not asked by then goes back to wait."""
WRITE_S = 10.0
BATCH = 128

_CLAIM = """
    UPDATE items_item SET status = 'deciding', claim_token = %(token)s, attempts = attempts + 1,
                          claimed_until = clock_timestamp() + make_interval(secs => %(seconds)s)
    WHERE id IN (
        SELECT id FROM items_item
        WHERE workflow_id = %(workflow)s AND status = 'received'
          AND (next_try_at IS NULL OR next_try_at <= clock_timestamp())
        ORDER BY {order} LIMIT %(limit)s FOR UPDATE SKIP LOCKED
    )
    RETURNING id
"""


def claim_s(endpoint: Endpoint) -> float:
    """How long a claim holds: the last attempt may begin as `ASK_S` ends, wait its time out to connect and
    once more for the reply, and is written after that. A shorter claim would have a slow item asked twice."""
    return ASK_S + 2 * endpoint.timeout_s + WRITE_S


_MOST_URGENT = "priority DESC, id"
# The item at which an endpoint failed must not be its only probe ever after: untried ones first, then by turns.
_LEAST_TRIED = "next_try_at NULLS FIRST, priority DESC, id"


@dataclass(frozen=True, slots=True)
class Claim:
    token: uuid.UUID
    item_ids: tuple[int, ...]


def claim_items(*, workflow: Workflow, limit: int = BATCH) -> Claim:
    """The most urgent items that wait, now this caller's for `claim_s` seconds; perhaps none.

    An endpoint that was in trouble gets a single item, to see whether it is over.
    """
    token, is_probe = uuid.uuid4(), workflow.endpoint.failures_in_a_row > 0
    claim = _CLAIM.format(order=_LEAST_TRIED if is_probe else _MOST_URGENT)
    limit = 1 if is_probe else limit
    with connection.cursor() as cursor:
        seconds = claim_s(workflow.endpoint)
        cursor.execute(claim, {"token": token, "seconds": seconds, "workflow": workflow.pk, "limit": limit})
        return Claim(token, tuple(row[0] for row in cursor.fetchall()))


def put_back(
    *,
    claim: Claim,
    item_ids: Collection[int],
    why: str = "",
    next_try_at: datetime | None = None,
    is_counted: bool,
) -> None:
    """Claimed items wait again; `is_counted`: the attempt counts against the item, not against what is around it."""
    Item.objects.filter(pk__in=item_ids, claim_token=claim.token, status=Item.Status.DECIDING).update(
        status=Item.Status.RECEIVED,
        claim_token=None,
        claimed_until=None,
        attempts=F("attempts") - (0 if is_counted else 1),
        next_try_at=next_try_at,
        wait_reason=repaired(why)[0][:300],
    )


def waiting_items() -> Q:
    """What a worker may take now."""
    return Q(status=Item.Status.RECEIVED) & (Q(next_try_at=None) | Q(next_try_at__lte=ClockTimestamp()))


def workflows_with_work() -> list[Workflow]:
    """Those with waiting items, questions, a policy, and an endpoint that is not paused."""
    clock = ClockTimestamp()
    of_workflow = {"workflow": OuterRef("pk")}
    return list(
        Workflow.objects.select_related("endpoint")
        .filter(Q(endpoint__paused_until=None) | Q(endpoint__paused_until__lte=clock))
        .filter(
            Exists(Item.objects.filter(waiting_items(), **of_workflow)),
            Exists(QuestionSet.objects.filter(is_current=True, **of_workflow)),
            Exists(Policy.objects.filter(status=Policy.Status.ACTIVE, **of_workflow)),
        )
        .order_by("pk")
    )
