"""Which labels: the filters shared by the labels page, the API's exports and the shell, read in one place."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from typing import Any
from zoneinfo import ZoneInfo

from django.db.models import QuerySet

from apps.core.db import ClockTimestamp
from apps.core.errors import FieldProblem, InvalidInput
from apps.core.text import unstorable_at
from apps.reviews.models import Label
from apps.workflows.models import Workflow

Moment = date | datetime
"""A day of the workflow's time zone, or an instant."""

FILTERS = ("question", "value", "source", "since", "until", "blind")
NOT_FILTERS = frozenset({"format", "cursor", "limit"})
"""Parameters that stand in the same query string and say nothing about which labels."""
YES, NO = frozenset({"1", "true", "yes"}), frozenset({"0", "false", "no"})
_DAY = re.compile(r"\d{4}-\d{2}-\d{2}")
_FIRST_YEAR, _LAST_YEAR = 1970, 2199
_LONGEST = 200


@dataclass(frozen=True, slots=True)
class LabelQuery:
    """None leaves a filter out. `until` as a day includes that day, as an instant excludes it; both compare when
    the label was settled. `bom` begins a CSV with a byte order mark, for spreadsheets."""

    question: str | None = None
    value: str | None = None
    source: str | None = None
    since: Moment | None = None
    until: Moment | None = None
    blind: bool | None = None
    bom: bool = False

    @property
    def is_filtered(self) -> bool:
        return any(getattr(self, name) is not None for name in FILTERS)


def parse_label_query(params: Mapping[str, str]) -> LabelQuery:
    """A query string as a LabelQuery; a blank value leaves its filter out.

    Raises InvalidInput naming each parameter that is wrong, unknown ones included: a mistyped filter must not
    export everything.
    """
    given = {name: text for name, text in params.items() if text != "" and name not in NOT_FILTERS}
    problems: list[FieldProblem] = [
        FieldProblem(name, f"is not a filter; there are {', '.join(FILTERS)} and bom")
        for name in given
        if name not in (*FILTERS, "bom")
    ]
    problems += [FieldProblem(name, wrong) for name, text in given.items() if (wrong := _unfit(text))]
    if problems:
        raise InvalidInput(*problems)
    values: dict[str, Any] = {}
    for name, text in given.items():
        try:
            values[name] = _READ[name](text)
        except ValueError as error:
            problems.append(FieldProblem(name, str(error)))
    if problems:
        raise InvalidInput(*problems)
    return LabelQuery(**values)


def _unfit(text: str) -> str:
    if len(text) > _LONGEST:
        return f"has {len(text):,} characters; the limit is {_LONGEST}"
    return "holds a character that cannot be stored" if unstorable_at(text) is not None else ""


def parse_moment(text: str) -> Moment:
    """A day ("2026-11-30") or an instant with its zone ("2026-11-30T09:00:00Z"); ValueError says what is wrong."""
    try:
        moment = date.fromisoformat(text) if _DAY.fullmatch(text) else datetime.fromisoformat(text)
    except ValueError:
        moment = None
    if moment is None or (isinstance(moment, datetime) and moment.tzinfo is None):
        raise ValueError(
            "must be a day like 2026-11-30 or an instant with its zone like 2026-11-30T09:00:00Z"
        )
    if not _FIRST_YEAR <= moment.year <= _LAST_YEAR:
        raise ValueError(f"must lie between the years {_FIRST_YEAR} and {_LAST_YEAR}")
    return moment


def to_instant(moment: Moment, workflow: Workflow, *, is_end: bool = False) -> datetime:
    """Where a window begins, or ends without including it. Days begin at midnight in the workflow's time zone,
    so a day is 23 or 25 hours long when the clocks change."""
    if isinstance(moment, datetime):
        return moment.astimezone(UTC)
    day = moment + timedelta(days=1) if is_end else moment
    return datetime.combine(day, time.min, ZoneInfo(workflow.time_zone)).astimezone(UTC)


def _parse_source(text: str) -> str:
    if text not in Label.Source.values:
        raise ValueError(f"must be one of {', '.join(Label.Source.values)}")
    return text


def _parse_flag(text: str) -> bool:
    if text.lower() not in YES | NO:
        raise ValueError("must be true or false")
    return text.lower() in YES


_READ: dict[str, Callable[[str], str | bool | Moment]] = {
    "question": str,
    "value": str,
    "source": _parse_source,
    "since": parse_moment,
    "until": parse_moment,
    "blind": _parse_flag,
    "bom": _parse_flag,
}


def labels_in_force(workflow: Workflow) -> QuerySet[Label]:
    return Label.objects.filter(workflow=workflow, taken_back_at=None)


def labels_for(*, workflow: Workflow, query: LabelQuery) -> QuerySet[Label]:
    """The settled labels that a query names, without an order."""
    labels = labels_in_force(workflow)
    for name in FILTERS:
        labels = _narrowed(labels, workflow, query, name)
    return labels


def lasting(labels: QuerySet[Label], workflow: Workflow) -> QuerySet[Label]:
    """Without answers given blind that can still be taken back: who read the model's beside theirs could answer anew,
    and not blind."""
    lately = (ClockTimestamp() - timedelta(seconds=workflow.undo_s), ClockTimestamp())
    return labels.exclude(blind=True, review__isnull=False, created_at__range=lately)


def _narrowed(labels: QuerySet[Label], workflow: Workflow, query: LabelQuery, name: str) -> QuerySet[Label]:
    value = getattr(query, name)
    if value is None:
        return labels
    if name == "since":
        return labels.filter(created_at__gte=to_instant(value, workflow))
    if name == "until":
        return labels.filter(created_at__lt=to_instant(value, workflow, is_end=True))
    return labels.filter(**{"question__key" if name == "question" else name: value})


@dataclass(frozen=True, slots=True)
class Removed:
    """What one filter took away, and how many labels it left, after the filters before it."""

    parameter: str
    value: str
    removed: int
    left: int


def removed_by_filters(*, workflow: Workflow, query: LabelQuery) -> Iterator[Removed]:
    """Why a query finds so little: each filter in the order of `FILTERS`. Counts everything, so ask only then."""
    labels = labels_in_force(workflow)
    left = labels.count()
    for name in FILTERS:
        value = getattr(query, name)
        if value is None:
            continue
        labels = _narrowed(labels, workflow, query, name)
        before, left = left, labels.count()
        yield Removed(name, _shown(value), before - left, left)


def _shown(value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return value.isoformat() if isinstance(value, date) else str(value)


def why_empty(*, workflow: Workflow, query: LabelQuery) -> str:
    """A sentence for an export without labels: which filter removed how many."""
    total = labels_in_force(workflow).count()
    if total == 0:
        return "There are no settled labels yet: a label is made when a person answers."
    parts = [
        f"{each.parameter} = {each.value} removed {each.removed:,} and left {each.left:,}"
        for each in removed_by_filters(workflow=workflow, query=query)
    ]
    left = labels_for(workflow=workflow, query=query)
    if left.exists() and not lasting(left, workflow).exists():
        parts.append(f"the rest can be taken back for up to {workflow.undo_s:,} s more")
    return f"Of {total:,} settled labels, {'; '.join(parts)}."
