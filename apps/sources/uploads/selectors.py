"""Uploads as pages show them: how far they are, what can be done with them, and the report of what was not taken."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime

from apps.core.errors import FieldProblem
from apps.reviews.exports_formats import BOM, to_csv_row
from apps.sources.models import Upload, UploadRefusal
from apps.sources.tables.understanding import Understanding
from apps.workflows.models import Workflow

PAGE = 25
FIRST_REFUSED = 50
_S = Upload.Status
AT_WORK = (_S.WAITING, _S.RUNNING)
UNDECIDED = (_S.UPLOADING, *AT_WORK, _S.CHECKED)
_WORDS = {
    _S.UPLOADING: ("Arriving", "is-info"),
    _S.CHECKED: ("Checked, not imported", "is-held"),
    _S.DONE: ("Imported", "is-good"),
    _S.CANCELLED: ("Cancelled", "is-plain"),
    _S.FAILED: ("Not taken", "is-bad"),
}


@dataclass(frozen=True, slots=True)
class UploadView:
    """`share` is of the bytes, 0 to 1; `rows_per_s` and `left_s` are None where nothing can be said yet."""

    upload: Upload
    words: str
    kind: str
    share: float
    rows_per_s: float | None
    left_s: float | None
    seen: str

    @property
    def percent(self) -> int:
        return int(self.share * 100)

    @property
    def is_at_work(self) -> bool:
        return self.upload.status in AT_WORK

    @property
    def is_import(self) -> bool:
        return self.upload.stage == Upload.Stage.IMPORT

    @property
    def can_import(self) -> bool:
        return self.upload.status == _S.CHECKED and self.upload.new > 0

    @property
    def is_asking(self) -> bool:
        return self.upload.status == _S.CHECKED and not self.upload.started_at

    @property
    def can_change(self) -> bool:
        """Whether what is which can still be said otherwise."""
        return is_changeable(self.upload)

    @property
    def can_cancel(self) -> bool:
        return self.is_at_work or self.upload.status == _S.CHECKED

    @property
    def not_taken(self) -> int:
        return self.upload.refused + self.upload.changed


@dataclass(frozen=True, slots=True)
class UploadPage:
    """Newest first; `older` is the id to page on with, None at the end."""

    rows: tuple[UploadView, ...]
    older: int | None


def is_changeable(upload: Upload) -> bool:
    """Whether it can still be said what the columns are. A file that failed keeps its pieces for a day."""
    is_open = upload.stage == Upload.Stage.CHECK and upload.status in (*AT_WORK, _S.CHECKED, _S.FAILED)
    return is_open and bool(upload.understood) and understanding_of(upload).kind.has_columns


def understanding_of(upload: Upload) -> Understanding:
    """Of an upload that has arrived."""
    return Understanding.from_json(upload.understood["found"])


def content_of(upload: Upload) -> Iterator[bytes]:
    """The file, one piece in memory at a time."""
    for position in range(1 << 31):
        chunk = upload.chunks.filter(position=position).values_list("content", flat=True).first()
        if chunk is None:
            return
        yield bytes(chunk)


def open_questions(upload: Upload) -> tuple[FieldProblem, ...]:
    """What a person has to decide before its rows can be read."""
    asked = understanding_of(upload).questions
    if upload.understood["is_id_of_content"]:
        asked = tuple(each for each in asked if each.path != "external_id")
    return asked


def view_of(upload: Upload, *, now: datetime) -> UploadView:
    words, kind = _WORDS.get(_S(upload.status), ("", "is-info"))
    if upload.status == _S.CHECKED and upload.started_at is None:
        words = "Needs an answer"
    if upload.status in AT_WORK:
        is_import = upload.stage == Upload.Stage.IMPORT
        words = "Being imported" if is_import else "Being checked"
        words = words if upload.status == _S.RUNNING or upload.read else "Waits for a worker"
    share = min(upload.read_bytes / upload.size, 1.0) if upload.size else 0.0
    elapsed = ((upload.finished_at or now) - upload.started_at).total_seconds() if upload.started_at else 0.0
    is_known = elapsed > 0 and upload.read > 0
    return UploadView(
        upload=upload,
        words=words,
        kind=kind,
        share=share,
        rows_per_s=upload.read / elapsed if is_known else None,
        left_s=elapsed * (1 / share - 1) if is_known and share else None,
        seen=seen_of(upload),
    )


def seen_of(upload: Upload) -> str:
    """Of what was understood: whoever presses a button says by it what they saw."""
    return hashlib.sha256(json.dumps(upload.understood, sort_keys=True).encode()).hexdigest()[:16]


def upload_page(*, workflow: Workflow, before: int | None, now: datetime, size: int = PAGE) -> UploadPage:
    uploads = Upload.objects.filter(workflow=workflow).select_related("created_by").order_by("-pk")
    if before is not None:
        uploads = uploads.filter(pk__lt=before)
    found = list(uploads.defer("understood")[: size + 1])
    rows = tuple(_row_of(each, now) for each in found[:size])
    return UploadPage(rows, found[size - 1].pk if len(found) > size else None)


def _row_of(upload: Upload, now: datetime) -> UploadView:
    upload.understood = {}  # may be large, and a list does not show it
    return view_of(upload, now=now)


def first_refusals(upload: Upload) -> list[UploadRefusal]:
    return list(upload.refusals.order_by("pk")[:FIRST_REFUSED])


def refusals_csv(upload: Upload) -> Iterator[bytes]:
    """With a byte order mark, so that spreadsheets read it as UTF-8. No cell is run as a formula by them."""
    yield BOM + to_csv_row(("row", "place", "field", "reason", "is_changed"))
    rows = upload.refusals.order_by("pk").values_list("row", "place", "path", "message", "is_changed")
    held: list[bytes] = []
    for cells in rows.iterator(chunk_size=2000):
        held.append(to_csv_row(cells))
        if len(held) == 1000:
            yield b"".join(held)
            held.clear()
    yield b"".join(held)
