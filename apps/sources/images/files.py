"""Pictures and PDFs as files: each an item of its own, named by its path."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from apps.core.errors import FieldProblem
from apps.core.text import repaired
from apps.pipeline import limits
from apps.pipeline.incoming import Incoming
from apps.sources.images.enclosures import RawFile, to_attachments
from apps.sources.tables.csv_rows import UnreadableFile
from apps.sources.tables.reading import Row

CONTENT_TYPES = {
    ".png": "image/png",
    ".jpg": "image/jpeg",
    ".jpeg": "image/jpeg",
    ".webp": "image/webp",
    ".pdf": "application/pdf",
}


@dataclass(frozen=True, slots=True)
class PictureRow:
    """`place` names the file in a report: its path in the folder that was given."""

    place: str
    row: Row


def is_picture_path(path: Path) -> bool:
    """By its name; a folder by whether it, or one within, holds any."""
    if path.is_dir():
        return next(_files_in(path), None) is not None
    return path.suffix.lower() in CONTENT_TYPES


def read_pictures(path: Path) -> Iterator[PictureRow]:
    """In the order of their names, one in memory at a time; a file that cannot be taken says why.

    Raises UnreadableFile for a single file that cannot be read.
    """
    if not path.is_dir():
        yield PictureRow(path.name, _to_row(1, path, path.name))
        return
    for number, file in enumerate(sorted(_files_in(path)), start=1):
        place = str(file.relative_to(path))
        try:
            yield PictureRow(place, _to_row(number, file, place))
        except UnreadableFile as error:
            yield PictureRow(place, Row(number, None, (FieldProblem("file", str(error)),)))


def _files_in(folder: Path) -> Iterator[Path]:
    return (
        each
        for each in folder.rglob("*")
        if each.suffix.lower() in CONTENT_TYPES and not each.name.startswith(".") and each.is_file()
    )


def _to_row(number: int, path: Path, name: str) -> Row:
    incoming = read_image_file(path, name=name)
    if not any(each.image for each in incoming.attachments):
        return Row(number, None, (FieldProblem("file", incoming.attachments[0].note),))
    return Row(number, incoming, ())


def read_image_file(path: Path, *, name: str = "", received_at: datetime | None = None) -> Incoming:
    """The file as an item of images alone; `name` is its external id, the file's own name when left out.

    Raises UnreadableFile. What is no usable picture has an attachment without one, whose note says why.
    """
    try:
        with path.open("rb") as stream:
            data = stream.read(limits.MAX_MAIL_BYTES + 1)
    except OSError as error:
        raise UnreadableFile(f"cannot be read: {error.strerror}") from error
    if len(data) > limits.MAX_MAIL_BYTES:
        raise UnreadableFile(f"has more than {limits.MAX_MAIL_BYTES:,} bytes, which is the limit")
    raw = RawFile(path.name, CONTENT_TYPES.get(path.suffix.lower(), ""), data)
    external_id = repaired(name or path.name)[0]
    return Incoming(external_id, "", received_at=received_at, attachments=to_attachments([raw]))
