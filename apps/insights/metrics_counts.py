"""The figures of whole days, from counts kept by the day: the same as from every row, without reading every row.

What has no counts, the median of seconds and percentiles of latency, is read from a bounded part of the rows.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from typing import Any
from zoneinfo import ZoneInfo

from django.db import connection

from apps.accounts.models import User
from apps.calibration.counting.days import refresh
from apps.insights.metrics_values import CONFIDENCE_EDGES, Key, Window
from apps.stats.thresholds import GRID
from apps.workflows.models import Workflow

_EVER = (date.min, date(9999, 12, 31))
MOST_TIMED = 10_000
"""Reviews a median is taken from: an even part of all of the window, where there are more."""


@dataclass(frozen=True, slots=True)
class Days:
    """Whole days of a workflow, both included."""

    workflow: Workflow
    first: date
    last: date

    def to_sql(self) -> dict[str, Any]:
        return {"workflow": self.workflow.pk, "first": self.first, "last": self.last}


def whole_days(workflow: Workflow, window: Window) -> Days | None:
    """The window as days of the workflow; None where it begins or ends within one."""
    zone = ZoneInfo(workflow.time_zone)
    first, last = _EVER
    if window.start is not None:
        first = window.start.astimezone(zone).date()
        if window.start != _midnight(first, zone):
            return None
    if window.end is not None:
        after = window.end.astimezone(zone).date()
        if window.end != _midnight(after, zone):
            return None
        last = after - timedelta(days=1)
    return Days(workflow, first, last)


def _midnight(day: date, zone: ZoneInfo) -> datetime:
    return datetime.combine(day, time(), zone)


_ROUTED = """
SELECT {key}, sum(items + beside), coalesce(sum(items + beside) FILTER (WHERE stratum <> 'reviewed'), 0),
       coalesce(sum(items + beside) FILTER (WHERE label = ''), 0)
FROM calibration_daycount WHERE workflow_id = %(workflow)s AND day BETWEEN %(first)s AND %(last)s
GROUP BY 1 HAVING sum(items + beside) > 0
"""
_REVIEWED = """
SELECT {key}, kind, blind, pi, sum(answers), sum(agreed), sum(first), sum(first_agreed)
FROM calibration_reviewcount WHERE workflow_id = %(workflow)s AND day BETWEEN %(first)s AND %(last)s
GROUP BY 1, 2, 3, 4 HAVING sum(answers) > 0
"""
_REVIEWS = """
SELECT {key}, sum(reviews) FROM calibration_reviewcount
WHERE workflow_id = %(workflow)s AND day BETWEEN %(first)s AND %(last)s GROUP BY 1 HAVING sum(reviews) > 0
"""
_TIMED = """
SELECT {key}, count(*), percentile_cont(0.5) WITHIN GROUP (ORDER BY counted.seconds)
FROM calibration_countedreview counted JOIN calibration_reviewcount ON calibration_reviewcount.id = counted.count_id
WHERE workflow_id = %(workflow)s AND day BETWEEN %(first)s AND %(last)s AND counted.seconds IS NOT NULL
    AND (review_id & (review_id * -1)) >= %(every)s
GROUP BY 1
"""
_LEFT_OUT = """
SELECT coalesce(sum(cannot_tell), 0), coalesce(sum(without_model), 0) FROM calibration_reviewcount
WHERE workflow_id = %(workflow)s AND day BETWEEN %(first)s AND %(last)s
"""
_COSTS = """
SELECT coalesce(sum(items + beside), 0), coalesce(sum(priced), 0), sum(cost) FROM calibration_daycount
WHERE workflow_id = %(workflow)s AND day BETWEEN %(first)s AND %(last)s AND model <> ''
"""
_MODELS = """
SELECT DISTINCT model FROM calibration_daycount WHERE workflow_id = %(workflow)s
    AND day BETWEEN %(first)s AND %(last)s AND model <> '' AND items + beside > 0
"""
_KEYS = {
    None: "NULL::text",
    "label": "nullif(label, '')",
    "day": "day",
    # Every end of a confidence group is one of the grid, so a bin lies within one group.
    "confidence": "width_bucket(nullif(bin, -1)::int, ARRAY[{}])".format(
        ", ".join(str(GRID.index(edge) + 1) for edge in CONFIDENCE_EDGES)
    ),
    "reviewer": "user_id",
}


def routed(days: Days, group: str | None) -> dict[Key, tuple[int, int, int]]:
    """Routed, automatic, and without an answer of the model."""
    rows = _rows(_ROUTED, days, group)
    return {key: (int(n), int(automatic), int(without)) for key, n, automatic, without in rows}


def answers(days: Days, group: str | None) -> list[tuple[Key, str, bool, float, int, int]]:
    """By kind of task, blindness and pi: usable answers, and those that agreed. Each person's every answer where
    people are the groups; else of each item the first one there ever was."""
    found = []
    for key, kind, blind, pi, n, agreed, first, first_agreed in _rows(_REVIEWED, days, group):
        counts = (n, agreed) if group == "reviewer" else (first, first_agreed)
        found.append((key, kind, blind, pi, int(counts[0]), int(counts[1])))
    given = [row for row in found if row[4]]
    return _by_name(given) if group == "reviewer" else given


def reviews(
    days: Days, group: str | None, *, most: int = MOST_TIMED
) -> list[tuple[Key, int, int, float | None]]:
    """Reviews, how many of them a median of their seconds was taken from, and that median."""
    refresh(days.workflow)
    key = _KEYS[group]
    counted = _fetch(_REVIEWS.format(key=key), days)
    # Every second, fourth, eighth …, which an index knows.
    every = 1 << max(0, -(-int(sum(n for _, n in counted)) // most) - 1).bit_length()
    timed = {name: (n, median) for name, n, median in _fetch(_TIMED.format(key=key), days, {"every": every})}
    found = [(name, int(n), *timed.get(name, (0, None))) for name, n in counted]
    return _by_name(found) if group == "reviewer" else found


def left_out(days: Days) -> tuple[int, int]:
    """Answers that say "cannot tell", and those to items of which the model had said nothing."""
    refresh(days.workflow)
    [(cannot_tell, without_model)] = _fetch(_LEFT_OUT, days)
    return cannot_tell, without_model


def costs(days: Days) -> tuple[int, int, Decimal | None]:
    """Routes with a decision, those of them with a cost, and the sum of it in USD."""
    refresh(days.workflow)
    [(decided, priced, cost)] = _fetch(_COSTS, days)
    return decided, priced, cost if priced else None


def models(days: Days) -> list[str]:
    refresh(days.workflow)
    return sorted(row[0] for row in _fetch(_MODELS, days))


def _by_name(rows: Sequence[Any]) -> list[Any]:
    """People by their username instead of their id."""
    names = dict(User.objects.filter(pk__in=[row[0] for row in rows]).values_list("pk", "username"))
    return [(names[row[0]], *row[1:]) for row in rows]


def _rows(sql: str, days: Days, group: str | None) -> list[tuple[Any, ...]]:
    refresh(days.workflow)
    return _fetch(sql.format(key=_KEYS[group]), days)


def _fetch(sql: str, days: Days, more: Mapping[str, Any] | None = None) -> list[tuple[Any, ...]]:
    with connection.cursor() as cursor:
        cursor.execute(sql, days.to_sql() | dict(more or {}))
        rows: list[tuple[Any, ...]] = cursor.fetchall()
        return rows
