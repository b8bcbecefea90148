"""A policy over decisions that are stored: what it would let through, send to people and cost, and how wrong.

The same rules as `routing.policy.route`, nothing is asked of the model and nothing is changed. What people would
answer is only known where they did; how each item could have been seen weighs it. (recalibration.md section 6)
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import numpy as np
from django.db import connection
from django.db.models import prefetch_related_objects

from apps.calibration.attempts import attempts_by_label, first_days
from apps.calibration.certs import settings_of
from apps.calibration.counting.blind_reviews import following_between
from apps.calibration.counting.counts import WINDOW_WEEKS
from apps.calibration.counting.evidence import basis_for, model_in_use, window_days
from apps.calibration.models import CalibrationSettings
from apps.calibration.replay.bounds import LabelBound, label_bounds
from apps.calibration.replay.figures import (
    NewlyAutomatic,
    NewlyReviewed,
    Side,
    Span,
    cells_of,
    newly_automatic,
    newly_reviewed,
    side_of,
)
from apps.calibration.replay.held import Held, overrides_by_policy
from apps.calibration.replay.routes import Routed, joined, routes_of
from apps.calibration.replay.rows import Found, Source, batches, count_found, days_without_answer
from apps.calibration.replay.unseen import only_blind
from apps.policies.rules import to_rules
from apps.policies.selectors import active_policy
from apps.routing.types import Rules
from apps.stats.anchoring import Anchoring
from apps.workflows.models import Workflow
from apps.workflows.selectors import current_question_set

BATCH = 200_000
_NUMBERS = 4_000_000
"""Probabilities in a batch at most, so that memory stays bounded with hundreds of options."""
SLOW_BATCH = 5_000
"""Where items must be looked at again, so that a budget of time is kept."""
_SECONDS_OF = 20_000


@dataclass(frozen=True, slots=True)
class Replayed:
    """`replayed` of `found.replayable` items, the newest; `days` is the time they span. `cells` counts items by
    (goes on by itself under the policy in force, under the candidate). Where reviewers may be `following` the model,
    of reviews only blind ones count, as for certificates."""

    start: datetime
    end: datetime
    days: float
    found: Found
    replayed: int
    cells: Mapping[tuple[bool, bool], int]
    current: Side
    candidate: Side
    newly_automatic: NewlyAutomatic
    newly_reviewed: NewlyReviewed
    labels: tuple[LabelBound, ...]
    following: Anchoring
    confidence: float
    load_change: float | None
    median_seconds: float | None
    seconds: float


def source_for(workflow: Workflow, *, now: datetime, weeks: int = WINDOW_WEEKS) -> Source | None:
    """The last `weeks` whole weeks, today included, as certificates count them. None before a model's first answer."""
    model = model_in_use(workflow)
    if model is None:
        return None
    questions = current_question_set(workflow)
    prefetch_related_objects([questions], "questions")
    first_day = window_days(workflow, now, weeks)[0]
    start = datetime.combine(first_day, datetime.min.time(), ZoneInfo(workflow.time_zone))
    return Source(workflow, questions, model, start, now)


def rules_in_force(source: Source) -> Rules | None:
    policy = active_policy(source.workflow)
    return to_rules(policy.rules, source.question_set) if policy else None


def replay(
    *,
    workflow: Workflow,
    rules: Mapping[str, Any],
    now: datetime,
    weeks: int = WINDOW_WEEKS,
    budget_s: float | None = None,
    batch: int = BATCH,
) -> Replayed | None:
    """`rules` are a candidate's, as `Policy.rules` stores them. With a budget of seconds it stops at the end of the
    first batch of items beyond it. None while there is nothing to replay or no policy in force.
    """
    began = time.perf_counter()
    source = source_for(workflow, now=now, weeks=weeks)
    current = rules_in_force(source) if source else None
    if source is None or current is None:
        return None
    candidate = to_rules(rules, source.question_set)
    found = count_found(source)

    def time_is_up() -> bool:
        return budget_s is not None and time.perf_counter() - began > budget_s

    parts = _route_batches(source, current, candidate, batch, time_is_up)
    if not parts:
        return None
    return _summed_up(source, found, joined(parts), candidate, began)


def _route_batches(
    source: Source, current: Rules, candidate: Rules, size: int, time_is_up: Callable[[], bool]
) -> list[Routed]:
    held = Held(overrides_by_policy(source.workflow, source.question_set))
    size = min(size, max(SLOW_BATCH, _NUMBERS // sum(len(each.option_ids) for each in source.questions)))
    if held.needs_items(current) or held.needs_items(candidate):
        size = min(size, SLOW_BATCH)
    parts = []
    for batch in batches(source, size=size):
        parts.append(routes_of(batch, source, held, current, candidate))
        if time_is_up():
            break
    return parts


def _summed_up(source: Source, found: Found, routed: Routed, candidate: Rules, began: float) -> Replayed:
    window = window_days(source.workflow, source.now, WINDOW_WEEKS)
    following = following_between(source.workflow, *window)
    if following.flagged:
        routed = only_blind(routed, source)
    settings = settings_of(source.workflow)
    delta = 1 - settings.confidence
    if settings.scope == CalibrationSettings.Scope.ALL_LABELS:
        delta /= max(1, len(candidate.labels))
    span = Span(_days(source, routed), _held_anyway(source, routed), median_seconds(source.workflow))
    options = source.routing.option_ids
    before = side_of(routed, options, candidate, routed.current, routed.current_rate, span)
    after = side_of(routed, options, candidate, routed.candidate, routed.candidate_rate, span)
    load = before.reviews.mean + before.audits.mean
    return Replayed(
        start=_time_of(routed.at.min()),
        end=source.now,
        days=span.days,
        found=found,
        replayed=len(routed),
        cells=cells_of(routed),
        current=before,
        candidate=after,
        newly_automatic=newly_automatic(routed, span.days),
        newly_reviewed=newly_reviewed(routed, span.days),
        labels=label_bounds(routed, source, candidate, delta=delta, since=_first_days(source)),
        following=following,
        confidence=settings.confidence,
        load_change=(after.reviews.mean + after.audits.mean) / load - 1 if load else None,
        median_seconds=span.seconds,
        seconds=time.perf_counter() - began,
    )


def _first_days(source: Source) -> dict[str, date]:
    basis = basis_for(workflow=source.workflow, now=source.now, weeks=WINDOW_WEEKS)
    return {} if basis is None else first_days(source.workflow, attempts_by_label(basis))


def _days(source: Source, routed: Routed) -> float:
    """At least one: what came within an hour is no rate of a day."""
    return max(1.0, (source.now - _time_of(routed.at.min())) / timedelta(days=1))


def _time_of(at: np.int64) -> datetime:
    return datetime(2000, 1, 1, tzinfo=UTC) + timedelta(microseconds=int(at))


def _held_anyway(source: Source, routed: Routed) -> dict[int, int]:
    first = int(routed.day.min())
    return {day: items for day, items in days_without_answer(source).items() if day >= first}


def median_seconds(workflow: Workflow) -> float | None:
    """From shown to answered, of the newest reviews in force whose time is known."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY seconds) FROM (SELECT review.seconds "
            "FROM reviews_review review JOIN reviews_reviewtask task ON task.id = review.task_id "
            "WHERE task.workflow_id = %s AND review.seconds IS NOT NULL AND review.taken_back_at IS NULL "
            "ORDER BY review.id DESC LIMIT %s) newest",
            [workflow.pk, _SECONDS_OF],
        )
        median: float | None = cursor.fetchone()[0]
    return median
