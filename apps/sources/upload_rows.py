"""An upload's file as rows in batches, and what becomes of a batch: looked at only, or brought in."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from copy import copy
from dataclasses import dataclass
from datetime import datetime
from itertools import islice
from typing import BinaryIO

from apps.sources.files import Row, read_rows
from apps.sources.importing import Import, RefusedRow
from apps.sources.models import Upload
from apps.sources.selectors_uploads import understanding_of

Batch = Sequence[Row]
BATCH_ROWS = 1_000
BATCH_CHARACTERS = 8 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class Taken:
    """What became of one batch. `repaired` counts characters that had to be replaced in rows that were taken."""

    read: int
    new: int
    same: int
    changed: int
    refused: int
    repaired: int
    refusals: tuple[RefusedRow, ...]


def batches_of(upload: Upload, stream: BinaryIO, *, skip: int) -> Iterator[Batch]:
    """The rows after the first `skip` ones. Raises UnreadableFile for a file that cannot be taken as a whole."""
    rows = islice(read_rows(stream, understanding_of(upload)), skip, None)
    batch: list[Row] = []
    size = 0
    for row in rows:
        batch.append(row)
        size += 0 if row.incoming is None else len(str(row.incoming.state))
        if len(batch) >= BATCH_ROWS or size >= BATCH_CHARACTERS:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch


def batch_taker(upload: Upload) -> Callable[[Batch, datetime], Taken]:
    """For one pass: twins within the file are told from what it saw before."""
    run = Import(upload.workflow, dry_run=upload.stage == Upload.Stage.CHECK)

    def take(batch: Batch, now: datetime) -> Taken:
        before = copy(run.counts)
        refusals = tuple(run.take(batch, now=now))
        after = run.counts
        return Taken(
            read=len(batch),
            new=after.accepted - before.accepted,
            same=after.existing - before.existing,
            changed=after.changed - before.changed,
            refused=after.refused - before.refused,
            repaired=after.repaired - before.repaired,
            refusals=refusals,
        )

    return take
