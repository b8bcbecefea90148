"""Items whose question people answered, as columns: what the model had said of each, and what people say.

Of routes in force, of one question version and one model, by the day they were routed. An automatic item enters
only if it was drawn for a check; imported answers and those that nobody asked for never do. Each stands for 1 / pi
items.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime, timedelta
from typing import Any

import numpy as np
from django.db import connection
from numpy.typing import NDArray

from apps.calibration.counting.days import BLIND_CHANCE, refresh
from apps.stats.intervals import Floats
from apps.workflows.models import Question, Workflow

MOST_ANSWERS = 10_000
"""Read at once; beyond it the window begins later, at a whole day."""
MOST_PROBABILITIES = 1_000_000


@dataclass(frozen=True, slots=True)
class Stretch:
    """Routes of one question version and one model, of whole days of the workflow's time zone, both included."""

    workflow: Workflow
    question: Question
    model: str
    start_on: date
    end_on: date

    def between(self, start_on: date, end_on: date) -> Stretch:
        return replace(self, start_on=start_on, end_on=end_on)

    def to_sql(self) -> dict[str, Any]:
        return {
            "workflow": self.workflow.pk,
            "zone": self.workflow.time_zone,
            "question": self.question.pk,
            "key": self.question.key,
            "question_set": self.question.question_set_id,
            "model": self.model,
            "start_on": self.start_on,
            "after": self.end_on + timedelta(days=1),
        }


@dataclass(frozen=True, slots=True)
class Judged:
    """One entry an item, newest first. `options` are the columns of `p`; where people once said "none of these" and
    no option means that, a last one, "", which the model cannot have named."""

    options: tuple[str, ...]
    p: Floats
    truth: NDArray[np.intp]
    pi: Floats
    automatic: NDArray[np.bool_]
    days: tuple[date, ...]

    def __len__(self) -> int:
        return len(self.truth)

    @classmethod
    def nothing(cls, question: Question) -> Judged:
        return _Read.of([b""] * 5, len(question.option_ids)).to_judged(question.option_ids)

    def until(self, day: date) -> Judged:
        kept = np.asarray([each <= day for each in self.days], np.bool_)
        return Judged(
            options=self.options,
            p=self.p[kept],
            truth=self.truth[kept],
            pi=self.pi[kept],
            automatic=self.automatic[kept],
            days=tuple(each for each in self.days if each <= day),
        )

    @property
    def predicted(self) -> NDArray[np.intp]:
        """The most probable option; of equals the first declared."""
        return np.asarray(np.argmax(self.p, axis=1), np.intp)

    @property
    def confidence(self) -> Floats:
        return np.asarray(self.p.max(axis=1, initial=0.0), np.float64)

    @property
    def wrong(self) -> NDArray[np.bool_]:
        return np.asarray(self.predicted != self.truth, np.bool_)

    @property
    def weights(self) -> Floats:
        return np.asarray(1 / self.pi, np.float64)


# Routes in force are read from their narrow columns: a decision as it is stored takes many times as long.
ROUTES = """
    columns.workflow_id = %(workflow)s AND columns.question_set_id = %(question_set)s
        AND columns.created_at >= (%(start_on)s::date::timestamp AT TIME ZONE %(zone)s)
        AND columns.created_at < (%(after)s::date::timestamp AT TIME ZONE %(zone)s)
        AND columns.model = %(model)s AND columns.model <> ''
"""
# A vector that lacks a question is no use: then it is the decision's own answer, option by option.
_TOLD = """
SELECT (SELECT string_agg(float8send(coalesce((pair ->> 1)::float8, 0)), '' ORDER BY place)
        FROM unnest(%(options)s::text[]) WITH ORDINALITY option (id, place)
        LEFT JOIN jsonb_array_elements(decision.answers->%(key)s->'probabilities') pair ON pair ->> 0 = id)
FROM items_route route JOIN items_decision decision ON decision.id = route.decision_id
WHERE route.id = columns.route_id AND decision.answers ? %(key)s
"""
_COUNTING = """label.question_id = %(question)s AND label.taken_back_at IS NULL AND label.source <> 'import'
        AND label.is_asked"""
# Each by its key, so that no more is read than is found, whatever the planner takes the tables for.
_OF_ROUTES = f"""items_routecolumns columns
    CROSS JOIN LATERAL (
        SELECT label.value FROM reviews_label label WHERE label.item_id = columns.item_id AND {_COUNTING} LIMIT 1
    ) label"""  # noqa: S608 - put together from constants; what comes from outside are parameters
_OF_LABELS = f"""reviews_label label
    JOIN items_route route ON route.item_id = label.item_id AND route.superseded_at IS NULL AND {_COUNTING}
    JOIN items_routecolumns columns ON columns.route_id = route.id"""
# What is found comes as one byte string a column, all of them in the same order.
_JUDGED = f"""
SELECT string_agg(p, ''), string_agg(int4send(truth), ''), string_agg(float8send(pi), ''),
       string_agg(boolsend(is_automatic), ''), string_agg(int4send(day), '')
FROM (
    SELECT CASE WHEN octet_length(columns.vector) = %(width)s
                THEN substring(columns.vector FROM %(first)s FOR %(size)s) ELSE ({_TOLD}) END AS p,
           coalesce(array_position(%(options)s::text[], label.value::text), 0) - 1 AS truth,
           CASE WHEN %(is_blind_only)s AND NOT columns.is_automatic THEN {BLIND_CHANCE} ELSE columns.pi END AS pi,
           columns.is_automatic, (columns.created_at AT TIME ZONE %(zone)s)::date - '1970-01-01'::date AS day
    FROM {{answered}}
    LEFT JOIN reviews_reviewtask task
        ON %(is_blind_only)s AND task.route_id = columns.route_id AND task.status <> 'cancelled'
    WHERE {ROUTES}
        AND (columns.is_automatic OR task.blind OR NOT %(is_blind_only)s)
        AND (NOT columns.is_automatic OR columns.drawn) AND columns.pi > 0
        AND (octet_length(columns.vector) = %(width)s OR ({_TOLD}) IS NOT NULL)
    ORDER BY columns.created_at DESC, columns.route_id DESC LIMIT %(most)s
) newest
"""  # noqa: S608 - as above
_FEW = f"""
SELECT count(*) <= %(most)s FROM (SELECT FROM reviews_label label WHERE {_COUNTING} LIMIT %(most)s + 1) first
"""  # noqa: S608 - as above


@dataclass(frozen=True, slots=True)
class _Read:
    """Answered items as they come. `truth` is the place among the options, -1 for none of these; days from 1970."""

    p: Floats
    truth: NDArray[np.intp]
    pi: Floats
    automatic: NDArray[np.bool_]
    day: NDArray[np.int64]

    @classmethod
    def of(cls, found: Sequence[bytes], options: int) -> _Read:
        p, truth, pi, automatic, day = found
        return cls(
            p=np.frombuffer(p, ">f8").astype(np.float64).reshape(-1, options),
            truth=np.frombuffer(truth, ">i4").astype(np.intp),
            pi=np.frombuffer(pi, ">f8").astype(np.float64),
            automatic=np.frombuffer(automatic, np.bool_),
            day=np.frombuffer(day, ">i4").astype(np.int64),
        )

    def to_judged(self, options: Sequence[str]) -> Judged:
        nothing = [""] if (self.truth < 0).any() else []
        return Judged(
            options=(*options, *nothing),
            p=np.hstack([self.p, np.zeros((len(self.p), len(nothing)))]),
            truth=np.where(self.truth < 0, len(options), self.truth),
            pi=self.pi,
            automatic=self.automatic,
            days=tuple(self.day.astype("datetime64[D]").tolist()),
        )


def judged(stretch: Stretch, *, is_blind_only: bool = False, most: int = MOST_ANSWERS) -> tuple[Judged, bool]:
    """The newest answers of the stretch, and whether older ones had to be left out. Then the oldest day that
    remains is whole, unless a single day has too many. `is_blind_only`: of reviews only blind ones, each by its chance
    of being blind."""
    options = stretch.question.option_ids
    most = max(1, min(most, MOST_PROBABILITIES // len(options)))
    columns = [b""] * 5
    values = _place_in_vector(stretch.question) | {"options": options, "is_blind_only": is_blind_only}
    with connection.cursor() as cursor:
        # What is hardly ever answered is read by its answers; else days are read until there are enough.
        cursor.execute(_FEW, stretch.to_sql() | {"most": most})
        is_rare = cursor.fetchone()[0]
        statement = _JUDGED.format(answered=_OF_LABELS if is_rare else _OF_ROUTES)
        for part in [stretch] if is_rare else _newest_first(stretch):
            cursor.execute(statement, part.to_sql() | values | {"most": most + 1 - len(columns[3])})
            columns = [had + (more or b"") for had, more in zip(columns, cursor.fetchone(), strict=True)]
            if len(columns[3]) > most:
                break
    found = _Read.of(columns, len(options))
    is_cut = len(found.day) > most
    if is_cut:
        kept = int(np.count_nonzero(found.day > found.day[-1])) or most
        found = _Read(
            found.p[:kept], found.truth[:kept], found.pi[:kept], found.automatic[:kept], found.day[:kept]
        )
    return found.to_judged(options), is_cut


def _place_in_vector(question: Question) -> dict[str, Any]:
    """Where a vector has this question's probabilities, in bytes from 1; see `RouteColumns`."""
    every = sorted(question.question_set.questions.all(), key=lambda each: each.key.encode())
    widths = [8 * len(each.option_ids) for each in every]
    at = [each.pk for each in every].index(question.pk)
    return {"width": sum(widths), "first": 1 + sum(widths[:at]), "size": widths[at]}


def _newest_first(stretch: Stretch) -> Iterator[Stretch]:
    """The last day, the two before it, the four before those …: of a long history only the end is ever read."""
    left, days = (stretch.end_on - stretch.start_on).days + 1, 1
    while left > 0:
        first = max(0, left - days)
        yield stretch.between(*(stretch.start_on + timedelta(days=day) for day in (first, left - 1)))
        left, days = first, 2 * days


_OPEN = f"""
SELECT (columns.created_at AT TIME ZONE %(zone)s)::date, columns.is_automatic, count(*),
       count(*) FILTER (WHERE columns.drawn AND columns.created_at < %(deadline)s)
FROM reviews_reviewtask task
JOIN items_routecolumns columns ON columns.route_id = task.route_id
WHERE {ROUTES}
    AND task.workflow_id = %(workflow)s AND task.status = 'open' AND %(key)s = ANY (task.asked)
    AND task.created_at >= (%(start_on)s::date::timestamp AT TIME ZONE %(zone)s)
GROUP BY 1, 2
"""  # noqa: S608 - as above


@dataclass(frozen=True, slots=True)
class Open:
    """Tasks of one day that ask the question and wait; `late` are checks past their deadline."""

    day: date
    is_check: bool
    tasks: int
    late: int


def open_tasks(stretch: Stretch, deadline: datetime) -> list[Open]:
    with connection.cursor() as cursor:
        cursor.execute(_OPEN, stretch.to_sql() | {"deadline": deadline})
        return [Open(*row) for row in cursor.fetchall()]


_ROUTED = """
SELECT coalesce(sum(items + beside), 0), coalesce(sum(items + beside) FILTER (WHERE stratum = 'audited'), 0)
FROM calibration_daycount
WHERE workflow_id = %(workflow)s AND question_set_id = %(question_set)s AND model = %(model)s
    AND day >= %(start_on)s AND day < %(after)s
"""


def routed_counts(stretch: Stretch) -> tuple[int, int]:
    """All routes of the stretch, and those of them that were automatic with a chance of being drawn."""
    refresh(stretch.workflow)
    with connection.cursor() as cursor:
        cursor.execute(_ROUTED, stretch.to_sql())
        routed, checkable = cursor.fetchone()
        return int(routed), int(checkable)
