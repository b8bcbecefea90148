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
from apps.sources.batches import in_batches
from apps.sources.images.enclosures import RawFile, to_attachments
from apps.sources.mail.importing import MailImport, mail_size
from apps.sources.mail.reading import RawMail, split_mbox
from apps.sources.models import Upload
from apps.sources.tables.csv_rows import UnreadableFile
from apps.sources.tables.importing import (
    BATCH_CHARACTERS,
    BATCH_ROWS,
    Counts,
    Import,
    RefusedRow,
    prepare_batch,
    row_size,
)
from apps.sources.tables.reading import Row, read_rows
from apps.sources.tables.understanding import Kind
from apps.sources.uploads.selectors import understanding_of

BATCH_MAILS, BATCH_BYTES = 4, 8 * 1024 * 1024
Entry = TypeVar("Entry", Row, RawMail)
Ready = TypeVar("Ready")


@dataclass(frozen=True, slots=True)
class Read(Generic[Ready]):
    """A batch of `count` entries, ready to be taken; `position` is how many bytes of the file were read by then."""

    count: int
    ready: Ready
    position: int


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
class Pass(Generic[Entry, Ready]):
    """Once over a file. `counts` are those that `hand_in` counts; twins are told from what it saw before.

    `make_ready` may run in another thread, `hand_in` asks the database.
    """

    batches_of: Callable[[BinaryIO, int], Iterator[list[Entry]]]
    make_ready: Callable[[list[Entry]], Ready]
    hand_in: Callable[[Ready, datetime], Iterable[RefusedRow]]
    counts: Counts

    def read(self, file: BinaryIO, *, skip: int) -> Iterator[Read[Ready]]:
        """What comes after the first `skip` ones. Raises UnreadableFile for what cannot be taken as a whole."""
        for batch in self.batches_of(file, skip):
            yield Read(len(batch), self.make_ready(batch), file.tell())

    def take(self, batch: Read[Ready], now: datetime) -> Taken:
        before = copy(self.counts)
        refusals = tuple(self.hand_in(batch.ready, now))
        return Taken(
            read=batch.count,
            new=self.counts.accepted - before.accepted,
            same=self.counts.existing - before.existing,
            changed=self.counts.changed - before.changed,
            refused=self.counts.refused - before.refused,
            repaired=self.counts.repaired - before.repaired,
            refusals=refusals,
        )


def pass_over(upload: Upload) -> Pass[Any, Any]:
    """In the stage that the upload is in: the check writes nothing."""
    found = understanding_of(upload)
    is_check = upload.stage == Upload.Stage.CHECK
    if found.kind in (Kind.EML, Kind.MBOX):
        return _pass_over_mails(upload, found.kind, MailImport(upload.workflow, dry_run=is_check))
    rows = Import(upload.workflow, dry_run=is_check)

    def batches_of(file: BinaryIO, skip: int) -> Iterator[list[Row]]:
        entries = read_rows(file, found) if found.kind.has_columns else _picture(upload, file)
        return in_batches(
            islice(entries, skip, None), most=BATCH_ROWS, most_size=BATCH_CHARACTERS, size_of=row_size
        )

    return Pass(batches_of, prepare_batch, lambda batch, now: rows.take_batch(batch, now=now), rows.counts)


def _pass_over_mails(upload: Upload, kind: Kind, mails: MailImport) -> Pass[RawMail, list[RawMail]]:
    def batches_of(file: BinaryIO, skip: int) -> Iterator[list[RawMail]]:
        entries = islice(_mails(upload, kind, file), skip, None)
        return in_batches(entries, most=BATCH_MAILS, most_size=BATCH_BYTES, size_of=mail_size)

    def hand_in(batch: Sequence[RawMail], now: datetime) -> Iterator[RefusedRow]:
        for mail, why in mails.take(batch, now=now):
            yield replace(why, external_id=mail.place)

    return Pass(batches_of, lambda batch: batch, hand_in, mails.counts)


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
