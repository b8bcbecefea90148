"""Which open tasks a person may take, and in which order: one set of conditions for every path to a desk."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Self
from urllib.parse import urlencode

from django.db import OperationalError, connection
from psycopg.errors import QueryCanceled

from apps.accounts.models import User
from apps.core.db import Columns, fetch
from apps.core.errors import FieldProblem, InvalidInput
from apps.core.languages import reads
from apps.items.models import Item
from apps.reviews.models import Lease
from apps.workflows.models import Role, Workflow

LONGEST_SEARCH_S = 5.0
# The index `task_queue` answers it.
IN_ORDER = "ORDER BY task.priority DESC, task.place_at, task.item_id"
OPEN = "task.workflow_id = %(workflow)s AND task.status = 'open'"

# Why a person may not take an open task; each is true or false, never null. All that a task is asked stands here
# once: next, take, hand-over, the counts and the queue's page are made of it.
ANSWERED = """EXISTS (SELECT 1 FROM reviews_review review
    WHERE review.task_id = task.id AND review.user_id = %(user)s AND review.taken_back_at IS NULL)"""
# Called to decide between answers that were taken back since: what they saw cannot be unseen.
SAW = """(task.stage = 'review' AND task.blind AND task.times_opened > 1 AND EXISTS (
    SELECT 1 FROM reviews_taskevent event WHERE event.task_id = task.id AND event.user_id = %(user)s
        AND event.kind = 'saw_answers'))"""
FOR_SENIORS = "(task.stage <> 'review' AND NOT %(is_senior)s)"
UNREAD = """(task.language <> '' AND NOT (
    lower(task.language) = ANY(%(languages)s) OR lower(task.language) LIKE ANY(%(variants)s)))"""
# A hand-over binds while its person is here and has not answered: who left or was deactivated keeps nothing.
HANDED_OVER = """(task.assigned_to_id IS NOT NULL AND task.assigned_to_id <> %(user)s
    AND task.assigned_until > clock_timestamp() AND EXISTS (
        SELECT 1 FROM workflows_membership member
        JOIN accounts_user person ON person.id = member.user_id AND person.is_active
        WHERE member.workflow_id = task.workflow_id AND member.user_id = task.assigned_to_id
            AND NOT EXISTS (SELECT 1 FROM reviews_review review WHERE review.task_id = task.id
                            AND review.user_id = member.user_id AND review.taken_back_at IS NULL)))"""
HELD = "(task.held_until IS NOT NULL AND task.held_until > clock_timestamp())"
SKIPPED = "EXISTS (SELECT 1 FROM reviews_skip skip WHERE skip.task_id = task.id AND skip.user_id = %(user)s)"
MINE = """EXISTS (SELECT 1 FROM reviews_lease lease
    WHERE lease.task_id = task.id AND lease.user_id = %(user)s AND lease.expires_at > clock_timestamp())"""
TO_ME = "(task.assigned_to_id = %(user)s AND task.assigned_until > clock_timestamp())"
# Somebody else here could still take it: then what a person passed on does not come back to them.
_OTHERS_COULD = """EXISTS (
    SELECT 1 FROM workflows_membership member
    JOIN accounts_user person ON person.id = member.user_id AND person.is_active
    LEFT JOIN reviews_deskpreferences desk ON desk.user_id = member.user_id
    WHERE member.workflow_id = task.workflow_id
        AND (task.stage = 'review' OR member.is_senior OR member.role = 'manager')
        AND (task.language = '' OR COALESCE(desk.languages, '{}') = '{}' OR EXISTS (
            SELECT 1 FROM unnest(desk.languages) AS own
            WHERE starts_with(lower(own) || '-', lower(task.language) || '-')
               OR starts_with(lower(task.language) || '-', lower(own) || '-')))
        AND NOT EXISTS (SELECT 1 FROM reviews_skip skip WHERE skip.task_id = task.id AND skip.user_id = member.user_id)
        AND NOT EXISTS (SELECT 1 FROM reviews_review review WHERE review.task_id = task.id
                        AND review.user_id = member.user_id AND review.taken_back_at IS NULL)
        AND NOT (task.stage = 'review' AND task.blind AND EXISTS (
            SELECT 1 FROM reviews_taskevent event WHERE event.task_id = task.id AND event.user_id = member.user_id
                AND event.kind = 'saw_answers')))"""
_ROUTE = "EXISTS (SELECT 1 FROM items_route route WHERE route.id = task.route_id"
_NEXT = """
    SELECT task.id FROM reviews_reviewtask task WHERE {free} AND {narrowed} {in_order}
    LIMIT 1 FOR UPDATE OF task SKIP LOCKED
"""
LEASE = Columns(Lease)
_ON_DESK = """
    SELECT lease.expires_at > clock_timestamp() AND {narrowed}, {lease}
    FROM reviews_lease lease JOIN reviews_reviewtask task ON task.id = lease.task_id
    WHERE lease.user_id = %(user)s ORDER BY lease.acquired_at DESC
"""
COMES_BACK = f"({SKIPPED} AND NOT {_OTHERS_COULD})"
# What a person passed on comes back to them when nobody else is left who could take it.
IN_TURN = (TO_ME, f"NOT {SKIPPED}", COMES_BACK)
_SEEKER = """
    SELECT member.role, member.is_senior, desk.languages
    FROM workflows_membership member LEFT JOIN reviews_deskpreferences desk ON desk.user_id = member.user_id
    WHERE member.user_id = %(user)s AND member.workflow_id = %(workflow)s
"""


@dataclass(frozen=True, slots=True)
class QueueFilter:
    """What a person wants to work on; empty means anything. Blind tasks match no label and no reason, ever.

    `older_than_h`: hours since the task was made. `text`: words of the item, or its external id.
    """

    label: str = ""
    reason: str = ""
    language: str = ""
    source: str = ""
    older_than_h: int | None = None
    text: str = ""

    def __bool__(self) -> bool:
        return self != EVERYTHING

    @property
    def query(self) -> str:
        """As it stands in an address behind the question mark; `forms_queue.filter_of` reads it."""
        fields = {
            "label": self.label,
            "reason": self.reason,
            "language": self.language,
            "source": self.source,
            "older_than_h": self.older_than_h,
            "q": self.text,
        }
        return urlencode({name: value for name, value in fields.items() if value not in ("", None)})


EVERYTHING = QueueFilter()


@dataclass(frozen=True, slots=True)
class Seeker:
    """Who asks, in which workflow, with what the conditions need to know of them."""

    user: User
    workflow: Workflow
    is_senior: bool
    languages: tuple[str, ...]

    @classmethod
    def of(cls, user: User, workflow: Workflow) -> Self | None:
        """None for who is no member any more: nothing is put on their desk."""
        found = fetch(_SEEKER, {"user": user.pk, "workflow": workflow.pk})
        if not found:
            return None
        role, is_senior, languages = found[0]
        return cls(user, workflow, is_senior or role == Role.MANAGER, tuple(languages or ()))

    def reads(self, tag: str) -> bool:
        return reads(self.languages, tag)

    @property
    def bars(self) -> tuple[str, ...]:
        """The conditions that keep a task from this person, apart from what they skipped."""
        return (
            ANSWERED,
            SAW,
            FOR_SENIORS,
            *([UNREAD] if self.languages else []),
            HANDED_OVER,
            HELD,
        )

    @property
    def values(self) -> dict[str, Any]:
        own = [each.lower() for each in self.languages]
        # "pt" reads "pt-BR", and "pt-BR" what is only said to be "pt": `core.languages.reads`, in SQL.
        shorter = [each[:at] for each in own for at, sign in enumerate(each) if sign == "-"]
        return {
            "workflow": self.workflow.pk,
            "user": self.user.pk,
            "is_senior": self.is_senior,
            "languages": [*own, *shorter],
            "variants": [f"{each}-%" for each in own],
        }


def free_for(seeker: Seeker) -> str:
    return " AND ".join([OPEN, *(f"NOT {bar}" for bar in seeker.bars)])


def matching(seeker: Seeker, wanted: QueueFilter) -> tuple[str, dict[str, Any]]:
    """The filter as a condition, and its values."""
    parts, values = ["TRUE"], dict[str, Any]()
    if wanted.label:
        parts.append(_of_open_route("route.label = %(label)s"))
        values["label"] = wanted.label
    if wanted.reason:
        parts.append(_of_open_route("route.reasons @> %(reason)s::jsonb"))
        values["reason"] = json.dumps([{"code": wanted.reason}])
    if wanted.language:
        parts.append("(lower(task.language) = %(tongue)s OR lower(task.language) LIKE %(tongues)s)")
        values |= {"tongue": wanted.language.lower(), "tongues": f"{wanted.language.lower()}-%"}
    if wanted.source:
        parts.append(
            "EXISTS (SELECT 1 FROM items_item item WHERE item.id = task.item_id AND item.source = %(source)s)"
        )
        values["source"] = wanted.source
    if wanted.older_than_h is not None:
        parts.append("task.created_at <= clock_timestamp() - make_interval(hours => %(hours)s)")
        values["hours"] = wanted.older_than_h
    if wanted.text:
        part, more = _with_text(seeker.workflow, wanted.text)
        parts.append(part)
        values |= more
    return " AND ".join(parts), values


def _of_open_route(condition: str) -> str:
    """What the model or the policy said may be asked only where the person may read it."""
    return f"(NOT task.blind AND {_ROUTE} AND {condition}))"


def _with_text(workflow: Workflow, text: str) -> tuple[str, dict[str, Any]]:
    # Whoever searches for an external id means that item.
    named = Item.objects.filter(workflow=workflow, external_id=text).values_list("pk", flat=True).first()
    if named is not None:
        return "task.item_id = %(named)s", {"named": named}
    condition = """EXISTS (SELECT 1 FROM items_itemcontent content
        WHERE content.item_id = task.item_id AND content.text ILIKE %(text)s)"""
    return condition, {"text": f"%{_literally(text)}%"}


def _literally(text: str) -> str:
    return text.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")


@contextmanager
def bounded(wanted: QueueFilter, limit_s: float = LONGEST_SEARCH_S) -> Iterator[None]:
    """A search for words ends after `limit_s`, with InvalidInput. Inside a transaction, which it then ends."""
    if not wanted.text:
        yield
        return
    try:
        with connection.cursor() as cursor:
            cursor.execute("SELECT set_config('statement_timeout', %s, true)", [f"{limit_s * 1000:.0f}ms"])
            yield
            cursor.execute("SET LOCAL statement_timeout TO DEFAULT")
    except OperationalError as error:
        if isinstance(error.__cause__, QueryCanceled):
            sentence = "This search takes too long. Add a word, or another filter."
            raise InvalidInput(FieldProblem("q", sentence)) from error
        raise


def find_free(seeker: Seeker, wanted: QueueFilter, *, narrowed: str = "TRUE", **more: Any) -> int | None:
    """The first task in order that this person may take, its row locked; None when there is none.

    One atomic statement: what somebody else is taking at this moment is passed over.
    """
    condition, values = matching(seeker, wanted)
    sql = next_sql(seeker, f"{condition} AND {narrowed}")
    with bounded(wanted):
        rows = fetch(sql, seeker.values | values | more)
    return int(rows[0][0]) if rows else None


def find_next(seeker: Seeker, wanted: QueueFilter) -> int | None:
    """As `find_free`, what was handed to this person first, and what they skipped last."""
    condition, values = matching(seeker, wanted)
    # Of COALESCE's arguments none is looked at after the first that is something.
    steps = ", ".join(f"({next_sql(seeker, f'{condition} AND {narrowed}')})" for narrowed in IN_TURN)
    with bounded(wanted):
        ((found,),) = fetch(f"SELECT COALESCE({steps})", seeker.values | values)
    return None if found is None else int(found)


def next_sql(seeker: Seeker, narrowed: str) -> str:
    return _NEXT.format(free=free_for(seeker), narrowed=narrowed, in_order=IN_ORDER)


def on_desk(seeker: Seeker, wanted: QueueFilter) -> tuple[list[Lease], Lease | None]:
    """All leases of this person, what was taken up last first, and the first that still holds and matches."""
    condition, values = matching(seeker, wanted)
    sql = _ON_DESK.format(narrowed=f"{OPEN} AND {condition}", lease=LEASE.of("lease"))
    with bounded(wanted):
        rows = fetch(sql, seeker.values | values)
    leases = [LEASE.take(iter(row[1:])) for row in rows]
    return leases, next((lease for lease, row in zip(leases, rows, strict=True) if row[0]), None)
