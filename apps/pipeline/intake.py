"""The way in, for the API, files and the demo alike: idempotent by external id, whoever else posts the same."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.db import connection, transaction

from apps.core.errors import FieldProblem
from apps.core.languages import to_tag
from apps.items.models import Item
from apps.pipeline.enclosing import enclose
from apps.pipeline.incoming import Incoming, canonical, check_incoming
from apps.pipeline.wake import wake_deciders
from apps.workflows.models import Workflow


@dataclass(frozen=True, slots=True)
class Added:
    """`index` is the position in what was handed over."""

    index: int
    item_id: int
    created: bool


@dataclass(frozen=True, slots=True)
class Refused:
    """`is_conflict`: the external id is taken by other content; `problems` then names the fields that differ."""

    index: int
    problems: tuple[FieldProblem, ...]
    is_conflict: bool = False


@dataclass(frozen=True, slots=True)
class Intake:
    added: tuple[Added, ...]
    refused: tuple[Refused, ...]

    @property
    def created(self) -> int:
        return sum(each.created for each in self.added)

    @property
    def existing(self) -> int:
        return len(self.added) - self.created


@dataclass(frozen=True, slots=True)
class Prepared:
    """A batch that was checked, and written as the database takes it. `first_of`: external id → its first index."""

    incoming: Sequence[Incoming]
    refused: dict[int, Refused]
    first_of: dict[str, int]
    fresh: Sequence[Incoming]
    rows: str


def prepare(incoming: Sequence[Incoming]) -> Prepared:
    """All of adding that needs no database: a thread may do it while the database works on the batch before."""
    refused: dict[int, Refused] = {}
    first_of: dict[str, int] = {}
    for index, each in enumerate(incoming):
        problems = check_incoming(each)
        if problems:
            refused[index] = Refused(index, tuple(problems))
        else:
            first_of.setdefault(each.external_id, index)
    # In one order, whoever posts: two overlapping batches wait for each other instead of deadlocking.
    fresh = [incoming[index] for _, index in sorted(first_of.items())]
    return Prepared(incoming, refused, first_of, fresh, canonical([_to_row(each) for each in fresh]))


def add_items(*, workflow: Workflow, incoming: Sequence[Incoming], source: str, now: datetime) -> Intake:
    """Stores what is new, recognises what was there, refuses what cannot be taken; good rows are kept.

    The same thing posted by a hundred callers at once becomes one item. Workers are woken after commit.
    """
    return add_prepared(workflow=workflow, prepared=prepare(incoming), source=source, now=now)


def add_prepared(*, workflow: Workflow, prepared: Prepared, source: str, now: datetime) -> Intake:
    """The second half of `add_items`."""
    incoming, first_of = prepared.incoming, prepared.first_of
    refused = dict(prepared.refused)
    with transaction.atomic():
        made = _insert(workflow, prepared, source=source, now=now)
        known = _stored(workflow, [external_id for external_id in first_of if external_id not in made])
        if made:
            transaction.on_commit(wake_deciders)
    added: list[Added] = []
    for index, each in enumerate(incoming):
        if index in refused:
            continue
        if each.external_id in made and first_of[each.external_id] == index:
            added.append(Added(index, made[each.external_id], created=True))
            continue
        item_id, same, differing = _compare(each, made, known, incoming[first_of[each.external_id]])
        if same:
            added.append(Added(index, item_id, created=False))
        else:
            refused[index] = Refused(index, differing, is_conflict=True)
    return Intake(tuple(added), tuple(refused[index] for index in sorted(refused)))


@dataclass(frozen=True, slots=True)
class _Known:
    item_id: int
    content_hash: str
    state: Any
    metadata: Mapping[str, Any]


def _compare(
    each: Incoming, made: Mapping[str, int], known: Mapping[str, _Known], first: Incoming
) -> tuple[int, bool, tuple[FieldProblem, ...]]:
    stored = known.get(each.external_id)
    if stored is None:  # the twin stands in the same batch
        stored = _Known(made[each.external_id], first.content_hash, first.state, first.metadata)
    if stored.content_hash == each.content_hash:
        return stored.item_id, True, ()
    differing = [
        FieldProblem(name, f"differs from the item that has external_id {each.external_id!r} already")
        for name, ours, theirs in (
            ("state", stored.state, each.state),
            ("metadata", stored.metadata, each.metadata),
        )
        # As JSON: 1, 1.0 and true are three contents, and equal in Python.
        if canonical(ours) != canonical(theirs)
    ] or [FieldProblem("images", f"differ from those of the item that has external_id {each.external_id!r}")]
    return stored.item_id, False, tuple(differing)


# One JSON text for a batch costs both sides less than an array for each column. A state that is a text, and no
# repairs, are left out of it.
_INSERT = """
    WITH new AS MATERIALIZED (
        SELECT * FROM json_to_recordset(%(rows)s::json) AS new(
            external_id text, content_hash text, title text, metadata json, priority int,
            received_at timestamptz, group_key text, language text, state json, text text, repairs json)
    ), item AS (
        INSERT INTO items_item (workflow_id, external_id, content_hash, title, source, metadata, priority, status,
                                audit_open, received_at, created_at, due_at, attempts, wait_reason, group_key,
                                language)
        SELECT %(workflow)s, external_id, content_hash, title, %(source)s, metadata::jsonb, priority, 'received',
               false, COALESCE(received_at, %(now)s), %(now)s, %(now)s + %(due)s, 0, '', group_key,
               COALESCE(language, %(language)s)
        FROM new
        ON CONFLICT (workflow_id, external_id) DO NOTHING
        RETURNING id, external_id
    ), content AS (
        INSERT INTO items_itemcontent (item_id, state, text, repairs)
        SELECT item.id, COALESCE(new.state::jsonb, to_jsonb(new.text)), new.text,
               COALESCE(new.repairs::jsonb, '[]')
        FROM new JOIN item USING (external_id)
    )
    SELECT external_id, id FROM item
"""


def _insert(workflow: Workflow, prepared: Prepared, *, source: str, now: datetime) -> dict[str, int]:
    """External id → item id of those that were not there."""
    if not prepared.fresh:
        return {}
    due = timedelta(hours=workflow.due_hours)
    with connection.cursor() as cursor:
        given: dict[str, Any] = {"workflow": workflow.pk, "source": source, "now": now, "due": due}
        # What does not say its language is in that of its workflow.
        given["language"] = to_tag(workflow.content_language) or ""
        cursor.execute(_INSERT, given | {"rows": prepared.rows})
        made = dict(cursor.fetchall())
    enclose([(made[each.external_id], each) for each in prepared.fresh if each.external_id in made])
    return made


def _to_row(each: Incoming) -> dict[str, Any]:
    row: dict[str, Any] = {
        "external_id": each.external_id,
        "content_hash": each.content_hash,
        "title": each.title,
        "metadata": dict(each.metadata),
        "priority": each.priority,
        "received_at": each.received_at.isoformat() if each.received_at else None,
        "group_key": each.group,
        "text": each.text,
    }
    if each.language is not None:
        row["language"] = each.language
    if not isinstance(each.state, str):
        row["state"] = each.state
    if each.repairs:
        row["repairs"] = each.repairs
    return row


def _stored(workflow: Workflow, external_ids: Sequence[str]) -> dict[str, _Known]:
    rows = Item.objects.filter(workflow=workflow, external_id__in=external_ids).values_list(
        "external_id", "pk", "content_hash", "content__state", "metadata"
    )
    return {external_id: _Known(*rest) for external_id, *rest in rows}
