"""Files of items, handed to intake in batches; or only looked at, to say what would happen."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from apps.core.errors import FieldProblem
from apps.items.models import Item
from apps.pipeline.incoming import Incoming
from apps.pipeline.intake import Prepared, add_prepared, prepare
from apps.sources.batches import in_batches, read_ahead
from apps.sources.tables.reading import Row
from apps.workflows.models import Workflow

SOURCE = "file"
BATCH_ROWS = 2_000
BATCH_CHARACTERS = 8 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class RefusedRow:
    """`is_changed`: the external id is taken by an item with other content. `external_id` is "" when not known."""

    number: int
    problems: tuple[FieldProblem, ...]
    is_changed: bool = False
    external_id: str = ""


@dataclass(slots=True)
class Counts:
    """`repaired` counts characters that had to be replaced in rows that were taken."""

    accepted: int = 0
    existing: int = 0
    changed: int = 0
    refused: int = 0
    repaired: int = 0

    @property
    def rows(self) -> int:
        return self.accepted + self.existing + self.changed + self.refused


@dataclass(frozen=True, slots=True)
class Batch:
    """Rows, and what can be taken of them, checked."""

    rows: Sequence[Row]
    prepared: Prepared


def prepare_batch(rows: Sequence[Row]) -> Batch:
    return Batch(rows, prepare([row.incoming for row in rows if row.incoming is not None]))


@dataclass(slots=True)
class Import:
    """One run over any number of files; `counts` grow with every row that was taken or refused."""

    workflow: Workflow
    dry_run: bool = False
    counts: Counts = field(default_factory=Counts)
    _seen: dict[bytes, bytes] = field(default_factory=dict)

    def take(self, rows: Iterable[Row], *, now: datetime, reads_ahead: bool = False) -> Iterator[RefusedRow]:
        """Hands in what can be taken, batch by batch, and yields what cannot. Raises what reading raises.

        With `reads_ahead` the next batch is read and prepared in a thread meanwhile: only for rows that come
        without asking the database.
        """
        batches = map(
            prepare_batch, in_batches(rows, most=BATCH_ROWS, most_size=BATCH_CHARACTERS, size_of=row_size)
        )
        for batch in read_ahead(batches) if reads_ahead else batches:
            yield from self.take_batch(batch, now=now)

    def take_batch(self, batch: Batch, *, now: datetime) -> Iterator[RefusedRow]:
        """Hands in what can be taken, and yields what cannot."""
        prepared = batch.prepared
        readable = [row for row in batch.rows if row.incoming is not None]
        refused = self._preview(prepared) if self.dry_run else self._add(prepared, now)
        numbered = [
            RefusedRow(readable[index].number, problems, is_changed, _name(prepared.incoming[index]))
            for index, problems, is_changed in refused
        ]
        lost = {row.number for row in numbered}
        self.counts.repaired += sum(row.repaired for row in readable if row.number not in lost)
        unreadable = [RefusedRow(row.number, row.problems) for row in batch.rows if row.incoming is None]
        for row in sorted([*numbered, *unreadable], key=lambda row: row.number):
            self._count(row)
            yield row

    def _count(self, row: RefusedRow) -> None:
        if row.is_changed:
            self.counts.changed += 1
        else:
            self.counts.refused += 1

    def _add(self, prepared: Prepared, now: datetime) -> list[tuple[int, tuple[FieldProblem, ...], bool]]:
        intake = add_prepared(workflow=self.workflow, prepared=prepared, source=SOURCE, now=now)
        self.counts.accepted += intake.created
        self.counts.existing += intake.existing
        return [(each.index, each.problems, each.is_conflict) for each in intake.refused]

    def _preview(self, prepared: Prepared) -> list[tuple[int, tuple[FieldProblem, ...], bool]]:
        # Remembers digests of all rows, about 150 bytes each, to tell twins in a file as intake would.
        refused = [(index, each.problems, False) for index, each in prepared.refused.items()]
        stored = dict(
            Item.objects.filter(workflow=self.workflow, external_id__in=prepared.first_of).values_list(
                "external_id", "content_hash"
            )
        )
        for index, each in enumerate(prepared.incoming):
            if index in prepared.refused:
                continue
            name = hashlib.blake2b(each.external_id.encode(), digest_size=16).digest()
            content = bytes.fromhex(each.content_hash)[:16]
            there = stored.get(each.external_id)
            before = bytes.fromhex(there)[:16] if there else self._seen.get(name)
            self._seen.setdefault(name, content)
            if before is None:
                self.counts.accepted += 1
            elif before == content:
                self.counts.existing += 1
            else:
                refused.append((index, (FieldProblem("external_id", "is taken by other content"),), True))
        return refused


def _name(incoming: Incoming) -> str:
    """A row may be refused because its id is none."""
    return incoming.external_id if isinstance(incoming.external_id, str) else ""


def row_size(row: Row) -> int:
    """Roughly, in characters."""
    if row.incoming is None:
        return 0
    state = row.incoming.state
    return len(state) if isinstance(state, str) else len(str(state))
