"""What an upload's file holds, rows or mails or a picture, in batches; and what becomes of a batch.

A batch is taken in one transaction, under a claim: it is small enough for both.
"""

from __future__ import annotations

import mimetypes
from collections.abc import Callable, Iterable, Iterator, Sequence
from copy import copy
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import islice
from typing import Any, BinaryIO, Generic, TypeVar

from apps.core.errors import FieldProblem
from apps.pipeline import limits
from apps.pipeline.incoming import Incoming
from apps.sources.images.enclosures import RawFile, to_attachments
from apps.sources.mail.importing import MailImport
from apps.sources.mail.reading import RawMail, split_mbox
from apps.sources.models import Upload
from apps.sources.tables.csv_rows import UnreadableFile
from apps.sources.tables.importing import BATCH, Counts, Import, RefusedRow
from apps.sources.tables.reading import Row, read_rows
from apps.sources.tables.understanding import Kind
from apps.sources.uploads.selectors import understanding_of

BATCH_ROWS, BATCH_MAILS = BATCH, 4
BATCH_CHARACTERS = 8 * 1024 * 1024
Entry = TypeVar("Entry", Row, RawMail)


@dataclass(frozen=True, slots=True)
class Taken:
    """What became of one batch. `repaired` counts replaced characters of rows, or mails."""

    read: int
    new: int
    same: int
    changed: int
    refused: int
    repaired: int
    refusals: tuple[RefusedRow, ...]


@dataclass(frozen=True, slots=True)
class Pass(Generic[Entry]):
    """Once over a file. `counts` are those that `hand_in` counts; twins are told from what it saw before."""

    entries: Callable[[BinaryIO], Iterator[Entry]]
    hand_in: Callable[[Sequence[Entry], datetime], Iterable[RefusedRow]]
    counts: Counts
    batch: int

    def batches(self, stream: BinaryIO, *, skip: int) -> Iterator[list[Entry]]:
        """What comes after the first `skip` ones. Raises UnreadableFile for what cannot be taken as a whole."""
        batch: list[Entry] = []
        size = 0
        for entry in islice(self.entries(stream), skip, None):
            batch.append(entry)
            size += _size(entry)
            if len(batch) >= self.batch or size >= BATCH_CHARACTERS:
                yield batch
                batch, size = [], 0
        if batch:
            yield batch

    def take(self, batch: Sequence[Entry], now: datetime) -> Taken:
        before = copy(self.counts)
        refusals = tuple(self.hand_in(batch, now))
        return Taken(
            read=len(batch),
            new=self.counts.accepted - before.accepted,
            same=self.counts.existing - before.existing,
            changed=self.counts.changed - before.changed,
            refused=self.counts.refused - before.refused,
            repaired=self.counts.repaired - before.repaired,
            refusals=refusals,
        )


def pass_over(upload: Upload) -> Pass[Any]:
    """In the stage that the upload is in: the check writes nothing."""
    found = understanding_of(upload)
    is_check = upload.stage == Upload.Stage.CHECK
    if found.kind in (Kind.EML, Kind.MBOX):
        mails = MailImport(upload.workflow, dry_run=is_check)

        def hand_in(batch: Sequence[RawMail], now: datetime) -> Iterator[RefusedRow]:
            for mail, why in mails.take(batch, now=now):
                yield replace(why, external_id=mail.place)

        return Pass(lambda stream: _mails(upload, found.kind, stream), hand_in, mails.counts, BATCH_MAILS)
    rows = Import(upload.workflow, dry_run=is_check)

    def entries(stream: BinaryIO) -> Iterator[Row]:
        return read_rows(stream, found) if found.kind.has_columns else _picture(upload, stream)

    return Pass(entries, lambda batch, now: rows.take(batch, now=now), rows.counts, BATCH_ROWS)


def _size(entry: Row | RawMail) -> int:
    """Roughly, in characters or bytes."""
    if isinstance(entry, RawMail):
        return len(entry.data)
    if entry.incoming is None:
        return 0
    state = entry.incoming.state
    return len(state) if isinstance(state, str) else len(str(state))


def _mails(upload: Upload, kind: Kind, stream: BinaryIO) -> Iterator[RawMail]:
    if kind is Kind.EML:
        yield RawMail(1, upload.file_name, _whole(stream))
        return
    mails = split_mbox(stream)
    first = next(mails, None)
    if first is None:
        raise UnreadableFile(
            "holds no mail: none begins with a line like “From ann@example.org Mon Nov 30 …”"
        )
    yield first
    yield from mails


def _picture(upload: Upload, stream: BinaryIO) -> Iterator[Row]:
    """One item, called as the file is."""
    name = upload.file_name
    kind = mimetypes.guess_type(name)[0] or ""
    attachments = to_attachments([RawFile(name, kind, _whole(stream))])
    if any(each.image for each in attachments):
        yield Row(1, Incoming(name, "", attachments=attachments))
    else:
        yield Row(1, None, tuple(FieldProblem("file", each.note) for each in attachments))


def _whole(stream: BinaryIO) -> bytes:
    data = stream.read(limits.MAX_MAIL_BYTES + 1)
    if len(data) > limits.MAX_MAIL_BYTES:
        raise UnreadableFile(
            f"has more than {limits.MAX_MAIL_BYTES:,} bytes, the limit of one mail or picture"
        )
    return data
