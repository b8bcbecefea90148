"""Items whose question people answered, as columns: what the model had said of each, and what people say.

Of routes in force, of one question version and one model, by the day they were routed. An automatic item enters
only if it was drawn for a check; imported answers and those that nobody asked for never do. Each stands for 1 / pi
items.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
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
        return _to_columns([], question.option_ids)

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


ROUTES = """
    route.workflow_id = %(workflow)s AND route.superseded_at IS NULL AND route.question_set_id = %(question_set)s
        AND route.created_at >= (%(start_on)s::date::timestamp AT TIME ZONE %(zone)s)
        AND route.created_at < (%(after)s::date::timestamp AT TIME ZONE %(zone)s)
        AND decision.model = %(model)s
"""
_JUDGED = f"""
SELECT decision.answers->%(key)s->>'probabilities', label.value,
       CASE WHEN route.outcome = 'review' AND %(is_blind_only)s THEN {BLIND_CHANCE} ELSE route.pi END,
       route.outcome = 'automatic',
       (route.created_at AT TIME ZONE %(zone)s)::date
FROM items_route route
JOIN items_decision decision ON decision.id = route.decision_id
JOIN reviews_label label ON label.item_id = route.item_id AND label.question_id = %(question)s
    AND label.taken_back_at IS NULL AND label.source <> 'import' AND label.is_asked
LEFT JOIN reviews_reviewtask task ON %(is_blind_only)s AND task.route_id = route.id AND task.status <> 'cancelled'
WHERE {ROUTES}
    AND (route.outcome <> 'review' OR (task.blind AND task.blind_pi > 0) OR NOT %(is_blind_only)s)
    AND (route.outcome = 'review' OR route.drawn) AND route.pi > 0 AND decision.answers ? %(key)s
ORDER BY route.created_at DESC, route.id DESC LIMIT %(most)s
"""  # noqa: S608 - put together from constants; what comes from outside are parameters


def judged(stretch: Stretch, *, is_blind_only: bool = False) -> tuple[Judged, bool]:
    """The newest answers of the stretch, and whether older ones had to be left out. Then the oldest day that
    remains is whole, unless a single day has too many. `is_blind_only`: of reviews only blind ones, each by its chance
    of being blind."""
    options = stretch.question.option_ids
    most = max(1, min(MOST_ANSWERS, MOST_PROBABILITIES // len(options)))
    rows: list[tuple[str, str | None, float, bool, date]] = []
    with connection.cursor() as cursor:
        for part in _newest_first(stretch):
            cursor.execute(
                _JUDGED, part.to_sql() | {"most": most + 1 - len(rows), "is_blind_only": is_blind_only}
            )
            rows += cursor.fetchall()
            if len(rows) > most:
                break
    is_cut = len(rows) > most
    if is_cut:
        oldest = rows[-1][4]
        rows = [row for row in rows[:most] if row[4] > oldest] or rows[:most]
    return _to_columns(rows, options), is_cut


def _newest_first(stretch: Stretch) -> Iterator[Stretch]:
    """The last day, the two before it, the four before those …: of a long history only the end is ever read."""
    left, days = (stretch.end_on - stretch.start_on).days + 1, 1
    while left > 0:
        first = max(0, left - days)
        yield stretch.between(*(stretch.start_on + timedelta(days=day) for day in (first, left - 1)))
        left, days = first, 2 * days


def _to_columns(rows: list[tuple[str, str | None, float, bool, date]], options: list[str]) -> Judged:
    given = json.loads(f"[{','.join(row[0] for row in rows)}]")
    has_none = any(row[1] is None for row in rows)
    columns = (*options, *([""] if has_none else []))
    places = {option: place for place, option in enumerate(columns)}
    p = np.zeros((len(rows), len(columns)))
    if rows:
        p[:, : len(options)] = [_in_order(pairs, options) for pairs in given]
    return Judged(
        options=columns,
        p=p,
        truth=np.asarray([places[row[1] or ""] for row in rows], np.intp),
        pi=np.asarray([row[2] for row in rows], np.float64),
        automatic=np.asarray([row[3] for row in rows], np.bool_),
        days=tuple(row[4] for row in rows),
    )


def _in_order(pairs: list[list[Any]], options: list[str]) -> list[float]:
    if [pair[0] for pair in pairs] == options:
        return [pair[1] for pair in pairs]
    given = dict(pairs)
    return [given.get(option, 0.0) for option in options]


# Read from the narrow columns of routes in force: a long queue's decisions take half a second to read.
_OPEN = """
SELECT (columns.created_at AT TIME ZONE %(zone)s)::date, columns.is_automatic, count(*),
       count(*) FILTER (WHERE columns.drawn AND columns.created_at < %(deadline)s)
FROM reviews_reviewtask task
JOIN items_routecolumns columns ON columns.route_id = task.route_id
WHERE columns.workflow_id = %(workflow)s AND columns.question_set_id = %(question_set)s
    AND columns.created_at >= (%(start_on)s::date::timestamp AT TIME ZONE %(zone)s)
    AND columns.created_at < (%(after)s::date::timestamp AT TIME ZONE %(zone)s)
    AND columns.model = %(model)s
    AND task.workflow_id = %(workflow)s AND task.status = 'open' AND %(key)s = ANY (task.asked)
    AND task.created_at >= (%(start_on)s::date::timestamp AT TIME ZONE %(zone)s)
GROUP BY 1, 2
"""


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
