"""How much is left for a person, and why they do not get the rest."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from django.db import connection, transaction

from apps.core.db import ClockTimestamp
from apps.reviews.conditions import (
    ANSWERED,
    COMES_BACK,
    FOR_SENIORS,
    HANDED_OVER,
    HELD,
    IN_ORDER,
    MINE,
    OPEN,
    SAW,
    SKIPPED,
    UNREAD,
)
from apps.reviews.models import Lease, ReviewTask
from apps.reviews.queue import EVERYTHING, QueueFilter, Seeker, free_for, matching
from apps.reviews.searching import bounded
from apps.workflows.models import Workflow

MOST_LOOKED_AT = 10_000
"""Counts are of so many tasks from the front of the queue: nobody plans a day by what lies behind them."""
MOST_TOLD = 2_000
"""Of so many an empty desk says why it gets none: it asks again and again, and the first tell it."""

_COUNTS = """
    SELECT standing, count(*), min(held_until) FROM (
        SELECT task.held_until, {standing} AS standing
        FROM reviews_reviewtask task WHERE {open} {in_order} LIMIT {most}
    ) AS looked_at GROUP BY standing
"""
_LEFT = """
    SELECT count(*) FROM (
        SELECT 1 FROM (SELECT * FROM reviews_reviewtask task WHERE {open} {in_order} LIMIT {looked_at}) AS task
        WHERE {free} LIMIT {most}
    ) AS counted
"""
_ONE = "SELECT {standing} FROM reviews_reviewtask task WHERE task.id = %(task)s"


@dataclass(frozen=True, slots=True)
class Waiting:
    """Open tasks by what keeps them from this person; each counts once, under the first that applies.

    `free` are those they can take now, `mine` those on their desk. `earliest_free_at`: when the first of those that
    colleagues hold runs out. `is_capped`: there are more than were looked at.
    """

    mine: int = 0
    answered: int = 0
    saw: int = 0
    for_seniors: int = 0
    unread: int = 0
    handed_over: int = 0
    held: int = 0
    filtered: int = 0
    skipped: int = 0
    free: int = 0
    earliest_free_at: datetime | None = None
    is_capped: bool = False

    @property
    def open(self) -> int:
        """All that were looked at."""
        kept = self.answered + self.saw + self.for_seniors + self.unread + self.handed_over + self.held
        return self.mine + kept + self.filtered + self.skipped + self.free


def standing_sql(seeker: Seeker, matches: str) -> str:
    """One word for a task: what keeps it from this person, "mine" or "free"."""
    unread = UNREAD if seeker.languages else "FALSE"
    return f"""CASE WHEN {MINE} THEN 'mine' WHEN {ANSWERED} THEN 'answered' WHEN {SAW} THEN 'saw'
        WHEN {FOR_SENIORS} THEN 'for_seniors' WHEN {unread} THEN 'unread' WHEN {HANDED_OVER} THEN 'handed_over'
        WHEN {HELD} THEN 'held' WHEN NOT ({matches}) THEN 'filtered'
        WHEN {SKIPPED} AND NOT {COMES_BACK} THEN 'skipped' ELSE 'free' END"""


@transaction.atomic
def waiting_for(seeker: Seeker, wanted: QueueFilter = EVERYTHING, *, most: int = MOST_TOLD) -> Waiting:
    """Of the first `most` in the queue. Raises InvalidInput when a search for words takes too long."""
    condition, values = matching(seeker.workflow, wanted)
    standing = standing_sql(seeker, condition)
    sql = _COUNTS.format(standing=standing, open=OPEN, in_order=IN_ORDER, most=most)
    with bounded(wanted.text), connection.cursor() as cursor:
        cursor.execute(sql, seeker.values | values)
        found = {standing: (count, until) for standing, count, until in cursor.fetchall()}
    counts = {standing: count for standing, (count, _) in found.items()}
    _, earliest = found.get("held", (0, None))
    return Waiting(**counts, earliest_free_at=earliest, is_capped=sum(counts.values()) >= most)


def left_for(seeker: Seeker, *, most: int = 1_000) -> int:
    """How many this person can take now, at most `most`, of the first MOST_LOOKED_AT in the queue."""
    free = f"{free_for(seeker)} AND NOT {SKIPPED}"
    sql = _LEFT.format(open=OPEN, in_order=IN_ORDER, looked_at=MOST_LOOKED_AT, free=free, most=most)
    with connection.cursor() as cursor:
        cursor.execute(sql, seeker.values)
        return int(cursor.fetchone()[0])


def why_not(seeker: Seeker | None, workflow: Workflow, task_id: int) -> str:
    """A sentence: what keeps this task from this person."""
    task = ReviewTask.objects.filter(pk=task_id, workflow=workflow).select_related("assigned_to").first()
    if seeker is None or task is None:
        return "This item is not in this queue."
    if task.status != ReviewTask.Status.OPEN:
        return "This item has been settled or taken out of the queue meanwhile."
    if task.language and not seeker.reads(task.language):
        return f"This item is in a language you do not read ({task.language})."
    with connection.cursor() as cursor:
        sql = _ONE.format(standing=standing_sql(seeker, "TRUE"))
        cursor.execute(sql, seeker.values | {"task": task_id})
        (standing,) = cursor.fetchone()
    match standing:
        case "answered":
            return "You have answered this item; it waits for somebody else."
        case "saw":
            return "You have seen colleagues’ answers to this item; it waits for somebody who has not."
        case "for_seniors":
            return "This item waits for a senior or a manager."
        case "handed_over":
            return f"This item was handed to {task.assigned_to}."
        case "held":
            return f"{holders_of(task_id)} has this item open."
    return "Somebody was just faster. Try again."


def holders_of(task_id: int) -> str:
    live = Lease.objects.filter(task=task_id, expires_at__gt=ClockTimestamp()).order_by("acquired_at")
    return ", ".join(live.values_list("user__username", flat=True)) or "Somebody"
