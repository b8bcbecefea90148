"""The open tasks as a list. What others have is there to see; of a blind one nothing that the model said."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db import connection, transaction

from apps.core.db import ClockTimestamp
from apps.reviews.conditions import IN_ORDER, OPEN
from apps.reviews.forms_queue import label_names, reason_names
from apps.reviews.models import Lease, ReviewTask, TaskEvent
from apps.reviews.queue import QueueFilter, Seeker, bounded, matching
from apps.reviews.standing import standing_sql
from apps.workflows.models import Workflow

PAGE = 50
OFTEN = 3
"""Opened so many times without an answer, a task is flagged: people keep leaving it."""

# In two steps, each with a range of the index: those of the same priority after the place, then those below.
_SAME = "task.priority = %(priority)s AND (task.place_at, task.item_id) > (%(place_at)s, %(item)s)"
_BELOW = "task.priority < %(priority)s"
_ROWS = """
    SELECT task.id, {standing} FROM reviews_reviewtask task
    WHERE {open} AND {matches} AND {after} {in_order} LIMIT {most}
"""


@dataclass(frozen=True, slots=True)
class QueueRow:
    """`standing` as in `standing.standing_sql`; `label` and `reasons` are empty for a blind task."""

    task: ReviewTask
    standing: str
    holders: tuple[Lease, ...]
    label: str
    reasons: tuple[str, ...]
    is_handed: bool
    is_overdue: bool

    @property
    def can_take(self) -> bool:
        return self.standing in ("free", "skipped", "filtered")

    @property
    def times_left(self) -> int:
        return max(0, self.task.times_opened - self.task.reviews_done - len(self.holders))

    @property
    def is_often_left(self) -> bool:
        return self.times_left >= OFTEN


@dataclass(frozen=True, slots=True)
class QueuePage:
    """In the queue's order. `next_after` is the task to page on with, None at the end."""

    rows: tuple[QueueRow, ...]
    next_after: int | None


@transaction.atomic
def queue_page(
    seeker: Seeker, wanted: QueueFilter, *, after: int | None, now: datetime, size: int = PAGE
) -> QueuePage:
    """`size` rows behind the task `after`. Raises InvalidInput when a search for words takes too long."""
    found = _find(seeker, wanted, after, most=size + 1)
    rows = _to_rows(seeker.workflow, found[:size], now)
    return QueuePage(tuple(rows), found[size - 1][0] if len(found) > size else None)


def queue_row(seeker: Seeker, task_id: int, *, now: datetime) -> QueueRow | None:
    """One open task, None when it is none."""
    with connection.cursor() as cursor:
        sql = _rows_sql(seeker, "TRUE", "task.id = %(task)s", most=1)
        cursor.execute(sql, seeker.values | {"task": task_id})
        found = cursor.fetchall()
    return next(iter(_to_rows(seeker.workflow, found, now)), None)


def _find(seeker: Seeker, wanted: QueueFilter, after: int | None, *, most: int) -> list[tuple[int, str]]:
    condition, values = matching(seeker.workflow, wanted)
    steps = ["TRUE"]
    if after is not None:
        place = ReviewTask.objects.filter(pk=after, workflow=seeker.workflow)
        begin = place.values("priority", "place_at", "item").first()
        if begin is not None:
            values, steps = values | begin, [_SAME, _BELOW]
    found: list[tuple[int, str]] = []
    with bounded(wanted), connection.cursor() as cursor:
        for step in steps:
            left = most - len(found)
            if left:
                cursor.execute(_rows_sql(seeker, condition, step, most=left), seeker.values | values)
                found += cursor.fetchall()
    return found


def _rows_sql(seeker: Seeker, matches: str, after: str, *, most: int) -> str:
    standing = standing_sql(seeker, "TRUE")
    return _ROWS.format(
        standing=standing, open=OPEN, matches=matches, after=after, in_order=IN_ORDER, most=most
    )


def _to_rows(workflow: Workflow, found: Sequence[tuple[int, str]], now: datetime) -> list[QueueRow]:
    ids = [task_id for task_id, _ in found]
    tasks = (
        ReviewTask.objects.select_related("item", "route", "assigned_to")
        .defer("item__metadata", "route__gates")
        .in_bulk(ids)
    )
    holders = defaultdict(list)
    live = Lease.objects.filter(task__in=ids, expires_at__gt=ClockTimestamp()).select_related("user")
    for lease in live.order_by("acquired_at"):
        holders[lease.task_id].append(lease)
    names = _Names(label_names(workflow), reason_names(workflow))
    return [
        names.to_row(tasks[task_id], standing, holders[task_id], now)
        for task_id, standing in found
        if task_id in tasks
    ]


@dataclass(frozen=True, slots=True)
class _Names:
    labels: Mapping[str, str]
    reasons: Mapping[str, str]

    def to_row(self, task: ReviewTask, standing: str, holders: list[Lease], now: datetime) -> QueueRow:
        said: Sequence[Mapping[str, Any]] = () if task.blind else task.route.reasons
        label = None if task.blind else task.route.label
        return QueueRow(
            task=task,
            standing=standing,
            holders=tuple(holders),
            label="" if label is None else self.labels.get(label, label),
            reasons=tuple(self.reasons.get(each["code"], each["code"]) for each in said),
            is_handed=_is_handed(task, now),
            is_overdue=task.due_at < now,
        )


def _is_handed(task: ReviewTask, now: datetime) -> bool:
    until, person = task.assigned_until, task.assigned_to
    return person is not None and person.is_active and until is not None and until > now


def events_of(task: ReviewTask) -> list[TaskEvent]:
    """What people did with it besides answering, newest last. How many opinions it needs says, of a blind one, that
    others disagree, as does who was called to decide: only who adjudicates reads that."""
    events = (
        TaskEvent.objects.filter(task=task).select_related("user", "to_user").order_by("created_at", "pk")
    )
    if task.stage != ReviewTask.Stage.ADJUDICATION:
        events = events.exclude(kind__in=[TaskEvent.Kind.MORE_OPINIONS, TaskEvent.Kind.SAW_ANSWERS])
    return list(events)
