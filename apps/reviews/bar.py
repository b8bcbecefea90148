"""The line above an item: what this person has done today, how fast, and how much is left for them."""

from __future__ import annotations

import re
import uuid
from dataclasses import dataclass
from datetime import datetime

from django.db import transaction

from apps.accounts.models import User
from apps.core.db import Columns, fetch
from apps.items.models import Item
from apps.reviews.errors import LeaseLost
from apps.reviews.leases import locked_lease
from apps.reviews.queue import Seeker
from apps.reviews.selectors import MOST_COUNTED, start_of_day
from apps.reviews.standing import left_for
from apps.workflows.models import Workflow

_CARRIED = re.compile(r"(?P<done>[0-9]{1,6})(?: (?P<median>[0-9]{1,4}(?:\.[0-9]{1,20})?))?")
_ITEM = Columns(Item, "id", "external_id")
_DONE = f"""
    SELECT today.done, today.median, {_ITEM.of("item")}
    FROM (
        SELECT count(*) AS done, percentile_disc(0.5) WITHIN GROUP (ORDER BY review.seconds) AS median,
               max(review.id) AS last
        FROM reviews_review review JOIN reviews_reviewtask task ON task.id = review.task_id
        WHERE review.user_id = %(user)s AND task.workflow_id = %(workflow)s
          AND review.taken_back_at IS NULL AND review.created_at >= %(since)s
    ) today
    LEFT JOIN reviews_review review ON review.id = today.last
    LEFT JOIN reviews_reviewtask task ON task.id = review.task_id
    LEFT JOIN items_item item ON item.id = task.item_id
"""  # noqa: S608 - our own columns


@dataclass(frozen=True, slots=True)
class Bar:
    """`left` is None where it was not counted, and stops at MOST_COUNTED. `last_item` is the one answered last today;
    what was taken back counts nowhere."""

    done_today: int
    median_seconds: float | None
    last_item: Item | None
    left: int | None

    @property
    def is_capped(self) -> bool:
        return self.left is not None and self.left >= MOST_COUNTED

    @property
    def carried(self) -> str:
        """The figures as the page sends them back with an answer."""
        return f"{self.done_today} {'' if self.median_seconds is None else self.median_seconds}".strip()


def counted_on(carried: str, answered: Item) -> Bar | None:
    """The figures that stood on the page and one answer more; None where they cannot be read.

    Counting a day's answers anew at each of them would make the last of the day the slowest; the page asks for all
    figures anew every few seconds.
    """
    found = _CARRIED.fullmatch(carried)
    if found is None:
        return None
    median = float(found["median"]) if found["median"] else None
    return Bar(done_today=int(found["done"]) + 1, median_seconds=median, last_item=answered, left=None)


def session_bar(*, user: User, workflow: Workflow, now: datetime, counts_left: bool) -> Bar:
    """Counting what is left looks at much of the queue: the reply to an answer does without, the page keeps its own."""
    since = start_of_day(workflow, now)
    (row,) = fetch(_DONE, {"user": user.pk, "workflow": workflow.pk, "since": since})
    done, median, *last = row
    seeker = Seeker.of(user, workflow) if counts_left else None
    return Bar(
        done_today=done,
        median_seconds=median,
        last_item=_ITEM.take(iter(last)) if done else None,
        left=None if seeker is None else left_for(seeker, most=MOST_COUNTED),
    )


@transaction.atomic
def why_gone(*, user: User, lease_token: uuid.UUID) -> str:
    """Who has the item now, or what became of it; empty while an answer of this person's would count."""
    try:
        locked_lease(user=user, lease_token=lease_token)
    except LeaseLost as lost:
        return str(lost)
    return ""
