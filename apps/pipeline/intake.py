"""The way in, for the API, files and the demo alike: idempotent by external id, whoever else posts the same."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.db import connection, transaction

from apps.core.errors import FieldProblem
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


def add_items(*, workflow: Workflow, incoming: Sequence[Incoming], source: str, now: datetime) -> Intake:
    """Stores what is new, recognises what was there, refuses what cannot be taken; good rows are kept.

    The same thing posted by a hundred callers at once becomes one item. Workers are woken after commit.
    """
    refused: dict[int, Refused] = {}
    first_of: dict[str, int] = {}
    for index, each in enumerate(incoming):
        problems = check_incoming(each)
        if problems:
            refused[index] = Refused(index, tuple(problems))
        else:
            first_of.setdefault(each.external_id, index)
    with transaction.atomic():
        # In one order, whoever posts: two overlapping batches wait for each other instead of deadlocking.
        fresh = [incoming[index] for _, index in sorted(first_of.items())]
        made = _insert(workflow, fresh, source=source, now=now)
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


_INSERT = """
    WITH item AS (
        INSERT INTO items_item (workflow_id, external_id, content_hash, title, source, metadata, priority, status,
                                audit_open, received_at, created_at, due_at, attempts, wait_reason, group_key)
        SELECT %(workflow)s, new.external_id, new.content_hash, new.title, %(source)s, new.metadata::jsonb,
               new.priority, 'received', false, new.received_at, %(now)s, %(now)s + %(due)s, 0, '',
               new.group_key
        FROM unnest(%(external_id)s::text[], %(content_hash)s::text[], %(title)s::text[], %(metadata)s::text[],
                    %(priority)s::int[], %(received_at)s::timestamptz[], %(group_key)s::text[])
             AS new(external_id, content_hash, title, metadata, priority, received_at, group_key)
        ON CONFLICT (workflow_id, external_id) DO NOTHING
        RETURNING id, external_id
    ), content AS (
        INSERT INTO items_itemcontent (item_id, state, text, repairs)
        SELECT item.id, new.state::jsonb, new.text, new.repairs::jsonb
        FROM unnest(%(external_id)s::text[], %(state)s::text[], %(text)s::text[], %(repairs)s::text[])
             AS new(external_id, state, text, repairs)
        JOIN item USING (external_id)
    )
    SELECT external_id, id FROM item
"""


def _insert(workflow: Workflow, fresh: Sequence[Incoming], *, source: str, now: datetime) -> dict[str, int]:
    """External id → item id of those that were not there."""
    if not fresh:
        return {}
    columns: dict[str, Any] = {
        "external_id": [each.external_id for each in fresh],
        "content_hash": [each.content_hash for each in fresh],
        "title": [each.title for each in fresh],
        "metadata": [json.dumps(dict(each.metadata), ensure_ascii=False) for each in fresh],
        "priority": [each.priority for each in fresh],
        "received_at": [each.received_at or now for each in fresh],
        "state": [json.dumps(each.state, ensure_ascii=False) for each in fresh],
        "text": [each.text for each in fresh],
        "repairs": [json.dumps(each.repairs, ensure_ascii=False) for each in fresh],
        "group_key": [each.group for each in fresh],
    }
    with connection.cursor() as cursor:
        due = timedelta(hours=workflow.due_hours)
        cursor.execute(_INSERT, columns | {"workflow": workflow.pk, "source": source, "now": now, "due": due})
        made = dict(cursor.fetchall())
    enclose([(made[each.external_id], each) for each in fresh if each.external_id in made])
    return made


def _stored(workflow: Workflow, external_ids: Sequence[str]) -> dict[str, _Known]:
    rows = Item.objects.filter(workflow=workflow, external_id__in=external_ids).values_list(
        "external_id", "pk", "content_hash", "content__state", "metadata"
    )
    return {external_id: _Known(*rest) for external_id, *rest in rows}
