"""Which worker has which items. A claim is a token and an end on the row; who wakes up late writes nothing."""

from __future__ import annotations

import uuid
from dataclasses import dataclass

from django.db import connection
from django.db.models import Exists, OuterRef, Q

from apps.core.db import ClockTimestamp
from apps.items.models import Item
from apps.policies.models import Policy
from apps.workflows.models import QuestionSet, Workflow

CLAIM_S = 120
"""How long a worker may take for a batch; `processing.ASK_S` keeps asking well under it."""
BATCH = 128

_CLAIM = """
    UPDATE items_item SET status = 'deciding', claim_token = %(token)s, attempts = attempts + 1,
                          claimed_until = clock_timestamp() + make_interval(secs => %(seconds)s)
    WHERE id IN (
        SELECT id FROM items_item
        WHERE workflow_id = %(workflow)s AND status = 'received'
          AND (next_try_at IS NULL OR next_try_at <= clock_timestamp())
        ORDER BY priority DESC, id LIMIT %(limit)s FOR UPDATE SKIP LOCKED
    )
    RETURNING id
"""


@dataclass(frozen=True, slots=True)
class Claim:
    token: uuid.UUID
    item_ids: tuple[int, ...]


def claim_items(*, workflow: Workflow, limit: int = BATCH) -> Claim:
    """The most urgent items that wait, now this caller's for `CLAIM_S` seconds; perhaps none."""
    token = uuid.uuid4()
    with connection.cursor() as cursor:
        cursor.execute(_CLAIM, {"token": token, "seconds": CLAIM_S, "workflow": workflow.pk, "limit": limit})
        return Claim(token, tuple(row[0] for row in cursor.fetchall()))


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
