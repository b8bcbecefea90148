"""What metrics are made of: a window, a figure that is no share, and what each may be grouped by."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

from django.contrib.postgres.fields import ArrayField
from django.db.models import Aggregate, F, FloatField, Func, IntegerField, Q, Value
from django.db.models.expressions import Combinable
from django.db.models.functions import TruncDate

from apps.core.errors import FieldProblem, InvalidInput
from apps.reviews.exports_query import parse_moment, to_instant
from apps.stats.rates import NO_DATA
from apps.workflows.models import Workflow

GROUPS = ("label", "reviewer", "day", "confidence", "question")
# Finer where confident models put most of their answers.
CONFIDENCE_EDGES = (0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.99)


@dataclass(frozen=True, slots=True)
class Window:
    """[start, end); None leaves an end open."""

    start: datetime | None = None
    end: datetime | None = None

    def holds(self, field: str) -> Q:
        inside = Q()
        if self.start is not None:
            inside &= Q(**{f"{field}__gte": self.start})
        if self.end is not None:
            inside &= Q(**{f"{field}__lt": self.end})
        return inside


def last_days(workflow: Workflow, days: int, now: datetime) -> Window:
    """Today and the days before it, whole days of the workflow's time zone."""
    today = now.astimezone(ZoneInfo(workflow.time_zone)).date()
    return Window(
        to_instant(today - timedelta(days=days - 1), workflow), to_instant(today, workflow, is_end=True)
    )


def parse_window(params: Mapping[str, str], workflow: Workflow) -> Window:
    """`from` and `to` of a query string, each a day of the workflow or an instant; a last day counts whole.

    Raises InvalidInput naming the parameter.
    """
    ends: dict[str, datetime | None] = {"from": None, "to": None}
    for name in ends:
        if text := params.get(name, ""):
            try:
                ends[name] = to_instant(parse_moment(text), workflow, is_end=name == "to")
            except ValueError as error:
                raise InvalidInput(FieldProblem(name, str(error))) from error
    start, end = ends["from"], ends["to"]
    if start is not None and end is not None and start >= end:
        raise InvalidInput(FieldProblem("to", "must come after from"))
    return Window(start, end)


@dataclass(frozen=True, slots=True)
class Figure:
    """A count, a sum or a percentile of everything in the window; `of` says from how many it was taken.

    Not `exact`: estimated from answers, with `low` and `high` where an interval is known.
    """

    value: float | None
    of: int | None = None
    unit: str = ""
    reason: str | None = None
    exact: bool = True
    low: float | None = None
    high: float | None = None

    def to_json(self) -> dict[str, Any]:
        """The form of a rate: a count is its own numerator, and `exact` says everything was counted."""
        shape = {
            "value": self.value,
            "numerator": None if self.unit else self.value,
            "denominator": self.of,
            "low": self.low,
            "high": self.high,
        }
        if self.exact:
            shape["exact"] = True
        return shape | {key: text for key, text in (("unit", self.unit), ("reason", self.reason)) if text}


def count(n: int) -> Figure:
    return Figure(n)


def measured(value: float | None, of: int, unit: str, reason: str = NO_DATA) -> Figure:
    return Figure(value, of, unit, None if value is not None else reason)


class Percentiles(Aggregate):
    """The continuous percentiles at `fractions`, as a list; None without values."""

    function = "PERCENTILE_CONT"
    template = "%(function)s(ARRAY[%(fractions)s]) WITHIN GROUP (ORDER BY %(expressions)s)"
    output_field = ArrayField(FloatField())

    def __init__(self, expression: Combinable, fractions: Sequence[float], **extra: Any) -> None:
        super().__init__(expression, fractions=", ".join(map(str, fractions)), **extra)


def key_of(group: str | None, *, route: str, reviewer: str, at: str, workflow: Workflow) -> Combinable:
    """What rows are grouped by; `route` leads from the row to its route ("" on routes), `at` is its own time."""
    match group:
        case "label":
            return F(f"{route}label")
        case "reviewer":
            return F(reviewer)
        case "day":
            return TruncDate(at, tzinfo=ZoneInfo(workflow.time_zone))
        case "confidence":
            edges = Value(list(CONFIDENCE_EDGES), output_field=ArrayField(FloatField()))
            return Func(F(f"{route}p"), edges, function="WIDTH_BUCKET", output_field=IntegerField())
    return Value(None, output_field=IntegerField())


Key = str | int | date | None


def bin_ends(index: int) -> tuple[float, float]:
    """The lowest confidence of a bin, and the one it ends before (the last one ends with 1)."""
    edges = (0.0, *CONFIDENCE_EDGES, 1.0)
    return edges[index], edges[index + 1]
