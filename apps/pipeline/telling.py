"""Tells the outside what became of items, where somebody is subscribed to it."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from apps.items.models import Decision, Item, Route
from apps.items.selectors import model_values
from apps.outbox.events import ITEM_DECIDED, ITEM_SETTLED
from apps.outbox.services import emit_all, wanted_types
from apps.pipeline.rulebook import Rulebook


def tell_routed(
    *, book: Rulebook, routed: Sequence[tuple[Item, Decision | None, Route]], now: datetime
) -> None:
    """One query where nobody wants to know. Never content, and nothing of audits: who checks must not be told."""
    wanted = wanted_types(book.workflow) if routed else frozenset()
    if ITEM_DECIDED in wanted:
        decided = [_decided(book, item, decision, route) for item, decision, route in routed]
        emit_all(workflow=book.workflow, type=ITEM_DECIDED, data=decided, now=now)
    if ITEM_SETTLED in wanted:
        settled = [
            _settled(book, item, decision, route)
            for item, decision, route in routed
            if route.outcome == Route.Outcome.AUTOMATIC
        ]
        emit_all(workflow=book.workflow, type=ITEM_SETTLED, data=settled, now=now)


def _decided(book: Rulebook, item: Item, decision: Decision | None, route: Route) -> dict[str, Any]:
    return {
        "item": {"id": item.pk, "external_id": item.external_id},
        "outcome": route.outcome,
        "label": route.label,
        "p": route.p,
        "reasons": [reason["code"] for reason in route.reasons],
        "answers": model_values(decision),
        "model": None if decision is None else decision.model,
        "questions_version": book.question_set.version,
        "policy_version": book.policy.version,
        "decided_at": route.created_at.isoformat(),
    }


def _settled(book: Rulebook, item: Item, decision: Decision | None, route: Route) -> dict[str, Any]:
    return {
        "item": {"id": item.pk, "external_id": item.external_id},
        "settled_by": Item.SettledBy.POLICY,
        "label": route.label,
        "answers": model_values(decision) | {book.routing_key: route.label},
        "questions_version": book.question_set.version,
        "settled_at": route.created_at.isoformat(),
    }
