"""Which open tasks a person may take, of what they want to work on, and in which order."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self
from urllib.parse import urlencode

from apps.accounts.models import User
from apps.core.db import Columns, fetch
from apps.core.languages import reads
from apps.reviews import shown
from apps.reviews.conditions import (
    ANSWERED,
    FOR_SENIORS,
    HANDED_OVER,
    HELD,
    IN_ORDER,
    IN_THEIR_TONGUE,
    IN_TURN,
    OPEN,
    SAW,
    TONGUE,
    UNREAD,
)
from apps.reviews.models import Lease
from apps.reviews.searching import bounded, with_text
from apps.workflows.models import Role, Workflow

FEW = 500
_NEXT = """
    SELECT {chosen} FROM reviews_reviewtask task WHERE {free} AND {narrowed} {in_order}
    LIMIT 1 FOR UPDATE OF task SKIP LOCKED
"""
LEASE = Columns(Lease)
# The desk shows the task's row as it was locked, whole: read beside it, it would be as it was when the statement began.
_PLACED = f"""
    WITH found AS MATERIALIZED ({{found}}), placed AS (
        INSERT INTO reviews_lease (task_id, user_id, token, acquired_at, expires_at)
        SELECT (found.task).id, %(user)s, gen_random_uuid(), clock_timestamp(),
               clock_timestamp() + make_interval(secs => %(seconds)s)
        FROM found WHERE (found.task).id IS NOT NULL
        RETURNING {LEASE.of("reviews_lease")}
    )
    SELECT {LEASE.of("placed")}, {shown.COLUMNS}
    FROM placed CROSS JOIN found CROSS JOIN LATERAL (SELECT (found.task).*) AS task {shown.BESIDE_TASK}
"""  # noqa: S608 - our own columns
MEMBER = "member.role, member.is_senior, desk.languages"
MEMBERS = """workflows_membership member
    LEFT JOIN reviews_deskpreferences desk ON desk.user_id = member.user_id"""
_SITTING = f"""
    SELECT {MEMBER},
           lease.expires_at > clock_timestamp() AND {{narrowed}}, {LEASE.of("lease")}
    FROM {MEMBERS}
    LEFT JOIN (reviews_lease lease JOIN reviews_reviewtask task ON task.id = lease.task_id)
        ON lease.user_id = member.user_id
    WHERE member.user_id = %(user)s AND member.workflow_id = %(workflow)s
    ORDER BY lease.acquired_at DESC
"""  # noqa: S608 - our own columns
_SEEKER = f"""
    SELECT {MEMBER} FROM {MEMBERS}
    WHERE member.user_id = %(user)s AND member.workflow_id = %(workflow)s
"""  # noqa: S608 - our own columns


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
        return cls.read(user, workflow, found[0])

    @classmethod
    def read(cls, user: User, workflow: Workflow, member: Sequence[Any]) -> Self:
        """`member`: role, whether a senior, languages or None."""
        role, is_senior, languages = member
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
            "tongues": ["", *(_tongue(each) for each in own)],
        }


def _tongue(tag: str) -> str:
    return tag.lower().split("-")[0]


def free_for(seeker: Seeker) -> str:
    theirs = [IN_THEIR_TONGUE] if seeker.languages else []
    return " AND ".join([OPEN, *theirs, *(f"NOT {bar}" for bar in seeker.bars)])


def matching(workflow: Workflow, wanted: QueueFilter) -> tuple[str, dict[str, Any]]:
    """The filter as a condition, and its values."""
    parts, values = ["TRUE"], dict[str, Any]()
    if wanted.label:
        parts.append("NOT task.blind AND task.suggested = %(label)s")
        values["label"] = wanted.label
    if wanted.reason:
        # What the model or the policy said may be asked only where the person may read it.
        parts.append("NOT task.blind AND task.reasons @> ARRAY[%(reason)s]::text[]")
        values["reason"] = wanted.reason
    if wanted.language:
        tag = wanted.language.lower()
        parts.append(
            f"{TONGUE} = %(tongue)s AND (lower(task.language) = %(tag)s OR lower(task.language) LIKE %(tags)s)"
        )
        values |= {"tongue": _tongue(tag), "tag": tag, "tags": f"{tag}-%"}
    if wanted.source:
        parts.append("task.source = %(source)s")
        values["source"] = wanted.source
    if wanted.older_than_h is not None:
        parts.append("task.created_at <= statement_timestamp() - make_interval(hours => %(hours)s)")
        values["hours"] = wanted.older_than_h
    if wanted.text:
        part, more = with_text(workflow, wanted.text)
        parts.append(part)
        values |= more
    return " AND ".join(parts), values


def find_free(seeker: Seeker, wanted: QueueFilter, *, narrowed: str = "TRUE", **more: Any) -> int | None:
    """The first task in order that this person may take, its row locked; None when there is none.

    One atomic statement: what somebody else is taking at this moment is passed over.
    """
    condition, values = matching(seeker.workflow, wanted)
    rows = _ask(wanted, next_sql(seeker, f"{condition} AND {narrowed}"), seeker.values | values | more)
    return int(rows[0][0]) if rows else None


def find_next(seeker: Seeker, wanted: QueueFilter) -> int | None:
    """As `find_free`, what was handed to this person first, and what they skipped last."""
    found = _first_of_turns(seeker, wanted, "SELECT (found.task).id FROM ({found}) AS found")
    return int(found[0]) if found and found[0] is not None else None


def place_next(seeker: Seeker, wanted: QueueFilter) -> Lease | None:
    """What `find_next` finds, with its lease placed by the same statement; of a person who has no lease at all."""
    placed = _first_of_turns(seeker, wanted, _PLACED)
    if placed is None:
        return None
    values = iter(placed)
    lease = LEASE.take(values)
    lease.read_along = tuple(values)
    return lease


def _first_of_turns(seeker: Seeker, wanted: QueueFilter, doing: str) -> tuple[Any, ...] | None:
    """The first row of `doing` with what is found, if there is any: what was handed to this person, else the first
    in order, else what they passed on and nobody else is left to take."""
    condition, values = narrowing(seeker.workflow, wanted)
    if values.get("few") == []:
        return None
    values = seeker.values | values | {"seconds": seeker.workflow.lease_s}
    for turn in IN_TURN:
        steps = ", ".join(
            f"({next_sql(seeker, f'{condition} AND {narrowed}', chosen='task')})" for narrowed in turn
        )
        rows = _ask(wanted, doing.format(found=f"SELECT COALESCE({steps}) AS task"), values)
        if rows and rows[0][0] is not None:
            return rows[0]
    return None


def narrowing(workflow: Workflow, wanted: QueueFilter) -> tuple[str, dict[str, Any]]:
    """As `matching`. Reasons do not stand in the queue's index: what was held for one is looked up first where it is
    little, and then that is looked at and not the whole queue. Where it is much, some of it stands near the front."""
    condition, values = matching(workflow, wanted)
    if not wanted.reason:
        return condition, values
    of_reason, asked = matching(workflow, QueueFilter(reason=wanted.reason))
    sql = f"SELECT task.id FROM reviews_reviewtask task WHERE {OPEN} AND {of_reason} LIMIT {FEW + 1}"  # noqa: S608 - our own
    few = [int(row[0]) for row in fetch(sql, asked | {"workflow": workflow.pk}, is_common=False)]
    if len(few) > FEW:
        return condition, values
    return f"{condition} AND task.id = ANY(%(few)s)", values | {"few": few}


def next_sql(seeker: Seeker, narrowed: str, *, chosen: str = "task.id") -> str:
    return _NEXT.format(chosen=chosen, free=free_for(seeker), narrowed=narrowed, in_order=IN_ORDER)


@dataclass(frozen=True, slots=True)
class Sitting:
    """A person at their desk. `held`: all their leases, anywhere, what was taken up last first; `fitting`: the first
    of them that still holds and matches."""

    seeker: Seeker
    held: Sequence[Lease]
    fitting: Lease | None


def sit_down(user: User, workflow: Workflow, wanted: QueueFilter) -> Sitting | None:
    """None for who is no member any more."""
    condition, values = matching(workflow, wanted)
    sql = _SITTING.format(narrowed=f"{OPEN} AND {condition}")
    rows = _ask(wanted, sql, values | {"user": user.pk, "workflow": workflow.pk})
    if not rows:
        return None
    found = [(row[3], LEASE.take(iter(row[4:]))) for row in rows if row[4] is not None]
    fitting = next((lease for fits, lease in found if fits), None)
    return Sitting(Seeker.read(user, workflow, rows[0][:3]), [lease for _, lease in found], fitting)


def _ask(wanted: QueueFilter, sql: str, values: Mapping[str, Any]) -> list[tuple[Any, ...]]:
    """What is filtered is planned for what it is filtered by."""
    with bounded(wanted.text):
        return fetch(sql, values, is_common=not wanted)
