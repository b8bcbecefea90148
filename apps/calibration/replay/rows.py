"""Stored decisions as columns, newest first, a batch at a time: the database packs them, numpy reads them.

Nothing here walks over rows in Python: a batch comes as a few byte strings, one a column.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import Any, NamedTuple, cast
from zoneinfo import ZoneInfo

import numpy as np
from django.db import connection
from numpy.typing import NDArray

from apps.routing.bulk import Answers, Bools, Floats, Indexes
from apps.routing.types import AnswerKind
from apps.workflows.models import Question, QuestionSet, Workflow

EPOCH = date(2000, 1, 1)
_EPOCH_S = 946_684_800
_QUARTER = 900_000_000
NOBODY, OTHER = -2, -1
"""In `Batch.answer`: nobody answered; people said what is no option of the question ("none of these")."""


@dataclass(frozen=True, slots=True)
class Source:
    """Which decisions are replayed: answers of one model to one version of the questions, since `start`."""

    workflow: Workflow
    question_set: QuestionSet
    model: str
    start: datetime
    now: datetime

    @property
    def questions(self) -> list[Question]:
        """In the order of a vector's parts."""
        return sorted(self.question_set.questions.all(), key=lambda each: each.key.encode())

    @property
    def routing(self) -> Question:
        return next(question for question in self.question_set.questions.all() if question.is_routing)


class Found(NamedTuple):
    """What there is in the window: `replayable`; `without_answer` of the model, held whatever the rules say;
    `others`, of another model or version of the questions."""

    replayable: int
    without_answer: int
    others: int


@dataclass(frozen=True)
class Batch:
    """One entry an item. `day` counts from EPOCH in the workflow's time zone, `at` microseconds from it in UTC.

    `was_automatic`, `drawn` and `pi` are how the item really went; `answer` is the place of people's answer among
    the routing question's options. `held` names, for each place in `held_ids`, which overrides held it then.
    """

    route_id: NDArray[np.int64]
    item_id: NDArray[np.int64]
    policy_id: NDArray[np.int64]
    at: NDArray[np.int64]
    day: NDArray[np.int64]
    was_automatic: Bools
    drawn: Bools
    pi: Floats
    answer: Indexes
    held: Indexes
    held_ids: tuple[frozenset[str], ...]
    answers: Mapping[str, Answers]

    def __len__(self) -> int:
        return len(self.route_id)


_MATCHING = """
workflow_id = %(workflow)s AND created_at >= %(start)s AND created_at <= %(now)s
"""
_REPLAYABLE = "question_set_id = %(question_set)s AND model = %(model)s AND octet_length(vector) = %(width)s"
_FOUND = f"""
SELECT count(*) FILTER (WHERE {_REPLAYABLE}), count(*) FILTER (WHERE vector = '' AND model = ''), count(*)
FROM items_routecolumns WHERE {_MATCHING}
"""  # noqa: S608 - our own words
_WITHOUT_ANSWER = f"""
SELECT (created_at AT TIME ZONE %(zone)s)::date - '2000-01-01'::date AS day, count(*)
FROM items_routecolumns WHERE {_MATCHING} AND vector = '' AND model = '' GROUP BY day
"""  # noqa: S608 - our own words
# Where a batch ends is read from the index alone; what is in it then needs no order.
_END = f"""
SELECT created_at, route_id FROM items_routecolumns
WHERE {_MATCHING} AND (created_at, route_id) < (%(before_at)s, %(before_id)s)
ORDER BY created_at DESC, route_id DESC OFFSET %(size)s - 1 LIMIT 1
"""  # noqa: S608 - our own words
# Every aggregate of one query sees the rows in the same order.
_BATCH = f"""
SELECT string_agg(int8send(route_id), ''), string_agg(int8send(item_id), ''),
    string_agg(int8send(policy_id), ''), string_agg(timestamptz_send(created_at), ''),
    string_agg(boolsend(is_automatic), ''), string_agg(boolsend(drawn), ''), string_agg(float8send(pi), ''),
    string_agg(coalesce(array_to_string(held, ' '), ''), E'\n'), string_agg(vector, '')
FROM items_routecolumns
WHERE {_MATCHING} AND {_REPLAYABLE} AND (created_at, route_id) < (%(before_at)s, %(before_id)s)
    AND (created_at, route_id) >= (%(last_at)s, %(last_id)s)
"""  # noqa: S608 - our own words
_ANSWERS = f"""
SELECT string_agg(int8send(item_id), ''),
    string_agg(int4send(coalesce(array_position(%(options)s::text[], value::text) - 1, {OTHER})), '')
FROM reviews_label
WHERE item_id BETWEEN %(first)s AND %(last)s AND question_id = %(question)s AND taken_back_at IS NULL
    AND source <> 'import' AND is_asked
"""  # noqa: S608 - our own words


def count_found(source: Source) -> Found:
    with connection.cursor() as cursor:
        cursor.execute(_FOUND, _values(source))
        replayable, without_answer, every = cursor.fetchone()
    return Found(replayable, without_answer, every - replayable - without_answer)


def batches(source: Source, *, size: int, before: tuple[datetime, int] | None = None) -> Iterator[Batch]:
    """Newest first, at most `size` items each, beginning after the route at that time with that id."""
    before = before or (source.now + timedelta(microseconds=1), 0)
    values = _values(source) | {"size": size}
    while before is not None:
        values |= {"before_at": before[0], "before_id": before[1]}
        with connection.cursor() as cursor:
            cursor.execute(_END, values)
            before = cursor.fetchone()
            last = before or (source.start, 0)
            cursor.execute(_BATCH, values | {"last_at": last[0], "last_id": last[1]})
            row = cursor.fetchone()
        if row[0] is not None:
            yield _to_batch(source, row)


def days_without_answer(source: Source) -> dict[int, int]:
    """How many items a day (from EPOCH) the model could not answer."""
    with connection.cursor() as cursor:
        cursor.execute(_WITHOUT_ANSWER, _values(source) | {"zone": source.workflow.time_zone})
        return dict(cursor.fetchall())


def day_of(day: int) -> date:
    return EPOCH + timedelta(days=day)


def _values(source: Source) -> dict[str, Any]:
    routing = source.routing
    return {
        "workflow": source.workflow.pk,
        "question_set": source.question_set.pk,
        "model": source.model,
        "question": routing.pk,
        "options": routing.option_ids,
        "width": 8 * sum(len(question.option_ids) for question in source.questions),
        "start": source.start,
        "now": source.now,
    }


def _to_batch(source: Source, row: Sequence[Any]) -> Batch:
    route_ids, item_ids, policy_ids, times, automatic, drawn, pi, held_texts, vectors = row
    held_ids: dict[str, int] = {}
    held = [held_ids.setdefault(each, len(held_ids)) for each in held_texts.split("\n")]
    item_id, at = _read(item_ids, ">i8"), _read(times, ">i8")
    return Batch(
        route_id=_read(route_ids, ">i8"),
        item_id=item_id,
        policy_id=_read(policy_ids, ">i8"),
        at=at,
        day=_days_of(at, ZoneInfo(source.workflow.time_zone)),
        was_automatic=np.frombuffer(automatic, np.uint8).astype(np.bool_),
        drawn=np.frombuffer(drawn, np.uint8).astype(np.bool_),
        pi=np.frombuffer(pi, ">f8").astype(np.float64),
        answer=_answers_to(item_id, source),
        held=np.array(held, np.intp),
        held_ids=tuple(frozenset(each.split()) for each in held_ids),
        answers=_to_answers(source, vectors),
    )


def _days_of(at: NDArray[np.int64], zone: ZoneInfo) -> NDArray[np.int64]:
    """Clocks change at quarters of an hour, so within one the days begin at the same offset."""
    quarters, which = np.unique(at // _QUARTER, return_inverse=True)
    starts = [datetime.fromtimestamp(_EPOCH_S + 900 * each, zone) for each in quarters.tolist()]
    offsets = np.array([(start.utcoffset() or timedelta()).total_seconds() for start in starts], np.int64)
    return np.asarray((at // 1_000_000 + offsets[which]) // 86_400, np.int64)


def _answers_to(item_id: NDArray[np.int64], source: Source) -> Indexes:
    answer = np.full(len(item_id), NOBODY, np.intp)
    with connection.cursor() as cursor:
        between = {"first": int(item_id.min()), "last": int(item_id.max())}
        cursor.execute(_ANSWERS, _values(source) | between)
        ids, found = cursor.fetchone()
    if ids is None:
        return answer
    answered = _read(ids, ">i8")
    order = np.argsort(answered)
    place = np.minimum(np.searchsorted(answered[order], item_id), len(order) - 1)
    is_there = answered[order][place] == item_id
    answer[is_there] = np.frombuffer(found, ">i4").astype(np.intp)[order][place][is_there]
    return answer


def _read(column: bytes, form: str) -> NDArray[np.int64]:
    return np.frombuffer(column, form).astype(np.int64)


def _to_answers(source: Source, vectors: bytes) -> dict[str, Answers]:
    widths = [len(question.option_ids) for question in source.questions]
    every = np.frombuffer(vectors, ">f8").astype(np.float64).reshape(-1, sum(widths))
    parts = np.split(every, np.cumsum(widths)[:-1], axis=1)
    return {
        question.key: Answers(cast(AnswerKind, question.kind), tuple(question.option_ids), part)
        for question, part in zip(source.questions, parts, strict=True)
    }
