"""Counts of everything, so exact: what came in, where it went, what waits, what it did outside, what it cost."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

import numpy as np
from django.db.models import Count, F, FloatField, Func, Max, Min, Q, Sum, Value

from apps.actions.models import ActionRun
from apps.calibration.counting import quarters
from apps.insights import metrics_counts as counts
from apps.insights.metrics_values import Figure, Key, Window, count, key_of, measured
from apps.items.models import Item, Route
from apps.reviews.models import ReviewTask
from apps.stats.rates import NO_DATA, Rate, exact_share
from apps.workflows.models import Workflow

AUDIT_DAYS = 7
"""An audit unanswered for longer counts as an error where something is promised."""
PERCENTILES = {"p50": 0.5, "p95": 0.95, "p99": 0.99}
NOTHING_WAITS = "nothing waits"
_MOST_REASONS = 5
# Of a route. Subtracted by the database: to make datetimes of ten thousand texts takes longer than all the rest.
_DECIDED_S = Func(
    F("item__decided_at") - F("item__created_at"),
    template="EXTRACT(EPOCH FROM %(expressions)s)::float8",
    output_field=FloatField(),
)
MOST_TIMED = 5_000
"""Decisions whose speed is looked at: what it was lately, whatever the window holds."""


def _routes(workflow: Workflow, window: Window) -> Q:
    return Q(workflow=workflow, superseded_at=None) & window.holds("created_at")


def items_in(workflow: Workflow, window: Window) -> Figure:
    if quarters.is_whole(window.start, window.end):
        return count(quarters.items_in(workflow, window.start, window.end))
    return count(Item.objects.filter(window.holds("created_at"), workflow=workflow).count())


@dataclass(frozen=True, slots=True)
class Routed:
    """`without_answer` of them went to people because the model could not answer."""

    routed: int = 0
    automatic: int = 0
    without_answer: int = 0

    def figures(self) -> dict[str, Figure | Rate]:
        return {
            "routed": count(self.routed),
            "automatic_share": exact_share(self.automatic, self.routed),
            "without_model_answer": count(self.without_answer),
        }


def routed(workflow: Workflow, window: Window, group: str | None = None) -> dict[Key, Routed]:
    """Routes in force by the group's key (under None when there is no group); reviewers route nothing."""
    if days := counts.whole_days(workflow, window):
        return {key: Routed(*found) for key, found in counts.routed(days, group).items()}
    key = key_of(group, route="", reviewer="pk", at="created_at", workflow=workflow)
    rows = (
        Route.objects.filter(_routes(workflow, window))
        .annotate(key=key)
        .values("key")
        .order_by()
        .annotate(
            routed=Count("*"),
            automatic=Count(Value(1), filter=Q(outcome=Route.Outcome.AUTOMATIC)),
            without_answer=Count(Value(1), filter=Q(label=None)),
        )
    )
    return {row.pop("key"): Routed(**row) for row in rows}


@dataclass(frozen=True, slots=True)
class Waiting:
    """Items that the model has not answered, by reason ("" for those whose turn has not come)."""

    reason: str
    items: int
    next_try_at: datetime | None


def waiting(workflow: Workflow) -> list[Waiting]:
    """The commonest reasons first, at most five."""
    rows = (
        Item.objects.filter(workflow=workflow, status=Item.Status.RECEIVED)
        .values("wait_reason")
        .annotate(n=Count("*"), next=Max("next_try_at"))
        .order_by("-n", "wait_reason")[:_MOST_REASONS]
    )
    return [Waiting(row["wait_reason"], row["n"], row["next"]) for row in rows]


def standing(workflow: Workflow, now: datetime) -> dict[str, Figure | Rate]:
    """The backlog at this moment, whatever the window."""
    undone = (Item.Status.RECEIVED, Item.Status.DECIDING, Item.Status.IN_REVIEW)
    rows = (
        Item.objects.filter(workflow=workflow, status__in=undone)
        .values("status")
        .order_by()
        .annotate(n=Count("*"), oldest=Min("created_at"))
    )
    found: Mapping[str, tuple[int, datetime]] = {row["status"]: (row["n"], row["oldest"]) for row in rows}
    audits = ReviewTask.objects.filter(workflow=workflow, status="open", kind="audit").aggregate(
        n=Count("*"), overdue=Count(Value(1), filter=Q(created_at__lt=now - timedelta(days=AUDIT_DAYS)))
    )
    in_review = found.get(Item.Status.IN_REVIEW)
    left = [found[status] for status in undone[:2] if status in found]
    return {
        "in_review_now": count(in_review[0] if in_review else 0),
        "oldest_in_review_s": _age(now, in_review[1] if in_review else None),
        "waiting_now": count(sum(n for n, _ in left)),
        "oldest_waiting_s": _age(now, min((oldest for _, oldest in left), default=None)),
        "audits_open": count(audits["n"]),
        "audits_overdue": count(audits["overdue"]),
    }


def _age(now: datetime, since: datetime | None) -> Figure:
    seconds = None if since is None else max(0.0, (now - since).total_seconds())
    return Figure(seconds, unit="s", reason=NOTHING_WAITS if since is None else None)


def action_runs(workflow: Workflow, window: Window) -> dict[str, Figure | Rate]:
    """Runs begun in the window by where they stand; what is neither good nor bad yet is under way."""
    if quarters.is_whole(window.start, window.end):
        found = quarters.runs_begun(workflow, window.start, window.end)
    else:
        runs = ActionRun.objects.filter(window.holds("created_at"), action__workflow=workflow)
        found = dict(runs.values_list("status").order_by().annotate(n=Count("*")))
    under_way = sum(found.get(status, 0) for status in ("pending", "running", "applied"))
    told = ("verified", "failed", "unknown", "cancelled")
    return {
        **{f"action_runs_{status}": count(found.get(status, 0)) for status in told},
        "action_runs_under_way": count(under_way),
    }


def decisions(workflow: Workflow, window: Window) -> dict[str, Figure | Rate]:
    """Cost and speed of the decisions behind the routes of the window; speed of the newest 5,000 of them.

    `model_call_s` is the call alone; `decided_s` counts from the item's arrival here, waiting included.
    """
    decided = Route.objects.filter(_routes(workflow, window), decision__isnull=False)
    if days := counts.whole_days(workflow, window):
        n, priced, cost = counts.costs(days)
    else:
        row = decided.aggregate(n=Count("*"), priced=Count("decision__cost"), cost=Sum("decision__cost"))
        n, priced, cost = row["n"], row["priced"], row["cost"]
    reason = NO_DATA if n == 0 else "the endpoint told no tokens"
    newest = decided.order_by("-created_at", "-id")[:MOST_TIMED]
    took = list(newest.annotate(decided_s=_DECIDED_S).values_list("decision__latency_s", "decided_s"))
    return {
        "decision_cost": measured(None if cost is None else float(cost), priced, "USD", reason),
        **_percentile_figures("model_call_s", [call_s for call_s, _ in took]),
        **_percentile_figures("decided_s", [s for _, s in took if s is not None]),
    }


def _percentile_figures(name: str, seconds: Sequence[float]) -> dict[str, Figure]:
    found = np.quantile(seconds, list(PERCENTILES.values())).tolist() if seconds else [None] * 3
    return {
        f"{name}_{key}": measured(value, len(seconds), "s")
        for key, value in zip(PERCENTILES, found, strict=True)
    }


def models_asked(workflow: Workflow, window: Window) -> list[str]:
    """Every model whose answers stand behind the figures, by the name in its replies."""
    if days := counts.whole_days(workflow, window):
        return counts.models(days)
    rows = Route.objects.filter(_routes(workflow, window), decision__isnull=False).order_by()
    return sorted(rows.values_list("decision__model", flat=True).distinct())
