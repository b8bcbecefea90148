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
from apps.reviews.queue import QueueFilter, Seeker, narrowing
from apps.reviews.searching import bounded
from apps.reviews.standing import standing_sql
from apps.workflows.models import Workflow

PAGE = 50
OFTEN = 3
"""Opened so many times without an answer, a task is flagged: people keep leaving it."""

# In two steps, each with a range of the index: those of the same priority beyond the place, then those of others.
_SAME = "task.priority = %(priority)s AND (task.place_at, task.item_id) {beyond} (%(place_at)s, %(item)s)"
_ONWARD = (_SAME.format(beyond=">"), "task.priority < %(priority)s")
_BACK = (_SAME.format(beyond="<"), "task.priority > %(priority)s")
_BACK_IN_ORDER = "ORDER BY task.priority, task.place_at DESC, task.item_id DESC"
_ROWS = """
    SELECT task.id, {standing} FROM reviews_reviewtask task
    WHERE {open} AND {matches} AND {beyond} {in_order} LIMIT {most}
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
    """In the queue's order. `next_after` is the task to page on with, None at the end, `previous_before` the one to
    page back with, None at the front."""

    rows: tuple[QueueRow, ...]
    next_after: int | None
    previous_before: int | None


@transaction.atomic
def queue_page(
    seeker: Seeker,
    wanted: QueueFilter,
    *,
    after: int | None = None,
    before: int | None = None,
    now: datetime,
    size: int = PAGE,
) -> QueuePage:
    """`size` rows behind the task `after`, else those that end at `before`, else the first. Raises InvalidInput when a
    search for words takes too long."""
    place = _place_of(seeker.workflow, before if after is None else after)
    if after is None and place is not None:
        found = _find(seeker, wanted, place, steps=_BACK, in_order=_BACK_IN_ORDER, most=size + 1)
        if len(found) > size:
            rows = _to_rows(seeker.workflow, found[:size][::-1], now)
            return QueuePage(tuple(rows), next_after=found[0][0], previous_before=found[size - 1][0])
        # The front is reached, and what came to it meanwhile is shown as well.
        place = None
    found = _find(seeker, wanted, place, steps=_ONWARD, in_order=IN_ORDER, most=size + 1)
    return QueuePage(
        tuple(_to_rows(seeker.workflow, found[:size], now)),
        next_after=found[size - 1][0] if len(found) > size else None,
        previous_before=found[0][0] if place is not None and found else None,
    )


def queue_row(seeker: Seeker, task_id: int, *, now: datetime) -> QueueRow | None:
    """One open task, None when it is none."""
    with connection.cursor() as cursor:
        sql = _rows_sql(seeker, "TRUE", "task.id = %(task)s", most=1)
        cursor.execute(sql, seeker.values | {"task": task_id})
        found = cursor.fetchall()
    return next(iter(_to_rows(seeker.workflow, found, now)), None)


def _place_of(workflow: Workflow, task_id: int | None) -> Mapping[str, Any] | None:
    if task_id is None:
        return None
    place = ReviewTask.objects.filter(pk=task_id, workflow=workflow)
    return place.values("priority", "place_at", "item").first()


def _find(
    seeker: Seeker,
    wanted: QueueFilter,
    place: Mapping[str, Any] | None,
    *,
    steps: Sequence[str],
    in_order: str,
    most: int,
) -> list[tuple[int, str]]:
    condition, values = narrowing(seeker.workflow, wanted)
    values = seeker.values | values | dict(place or {})
    found: list[tuple[int, str]] = []
    with bounded(wanted.text), connection.cursor() as cursor:
        for step in steps if place else ["TRUE"]:
            left = most - len(found)
            if left:
                cursor.execute(_rows_sql(seeker, condition, step, in_order=in_order, most=left), values)
                found += cursor.fetchall()
    return found


def _rows_sql(seeker: Seeker, matches: str, beyond: str, *, in_order: str = IN_ORDER, most: int) -> str:
    standing = standing_sql(seeker, "TRUE")
    return _ROWS.format(
        standing=standing, open=OPEN, matches=matches, beyond=beyond, in_order=in_order, most=most
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
