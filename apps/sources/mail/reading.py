"""Mails out of files: one .eml, a folder of them, a Maildir, an mbox; one mail in memory at a time."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO

from apps.pipeline import limits
from apps.sources.tables.csv_rows import UnreadableFile

SUFFIXES = {".eml", ".emlx", ".mbox", ".mbx"}
_LINE = 64 * 1024
# As mail programs write it; a sentence that begins with From has no time of day and year.
_FROM = re.compile(rb"From .{0,300}\d{1,2}:\d\d.{0,60}\d{4}")
_QUOTED_FROM = re.compile(rb">+From ")
_EMLX_LENGTH = re.compile(rb"\s*\d{1,10}\s*\n")


@dataclass(frozen=True, slots=True)
class RawMail:
    """`place` names it in a report; `problem` says why its bytes are not there."""

    number: int
    place: str
    data: bytes = field(repr=False)
    problem: str = ""


def is_mail_path(path: Path) -> bool:
    """By its name or its From_ line; a folder by whether it holds any."""
    if path.suffix.lower() in SUFFIXES:
        return True
    try:
        if path.is_dir():
            return bool(_files_in(path))
        with path.open("rb") as file:
            return is_mbox(file.read(1024))
    except OSError:
        return False


def is_mbox(start: bytes) -> bool:
    return bool(_FROM.match(start.lstrip(b"\r\n")))


def read_mails(path: Path) -> Iterator[RawMail]:
    """In the order of their names. Raises UnreadableFile for a file that cannot be read, but in a folder."""
    if not path.is_dir():
        yield from _read_file(path, path.name, 0)
        return
    number = 0
    for file in _files_in(path):
        place = str(file.relative_to(path))
        try:
            for mail in _read_file(file, place, number):
                number = mail.number
                yield mail
        except UnreadableFile as error:
            number += 1
            yield RawMail(number, place, b"", str(error))


def _files_in(folder: Path) -> list[Path]:
    """Mails of this folder and those within; in a Maildir whatever its cur and new hold, for names say nothing."""
    files = []
    for each in sorted(folder.rglob("*")):
        is_of_maildir = each.parent.name in {"cur", "new"} and (each.parent.parent / "cur").is_dir()
        is_hidden = each.name.startswith(".") or each.parent.name == "tmp"
        if not is_hidden and (is_of_maildir or each.suffix.lower() in SUFFIXES) and each.is_file():
            files.append(each)
    return files


def _read_file(path: Path, place: str, number: int) -> Iterator[RawMail]:
    try:
        with path.open("rb") as stream:
            start = stream.read(1024)
            stream.seek(0)
            if is_mbox(start) and path.suffix.lower() != ".eml":
                for mail in split_mbox(stream):
                    yield RawMail(number + mail.number, f"{place} {mail.place}", mail.data, mail.problem)
                return
            data = stream.read(limits.MAX_MAIL_BYTES + 1)
    except OSError as error:
        raise UnreadableFile(f"cannot be read: {error.strerror}") from error
    if path.suffix.lower() == ".emlx":
        data = _EMLX_LENGTH.sub(b"", data, count=1)
    if len(data) > limits.MAX_MAIL_BYTES:
        yield RawMail(number + 1, place, b"", _too_large())
    else:
        yield RawMail(number + 1, place, data)


def split_mbox(stream: BinaryIO) -> Iterator[RawMail]:
    """Each mail of an mbox, numbered from 1, its From_ line taken off and quoted ones restored.

    A mail begins where a From_ line with a date follows an empty line; one beyond the limit is passed over.
    """
    number, size = 0, 0
    lines: list[bytes] = []
    was_blank, starts_line = True, True
    while line := stream.readline(_LINE):
        if starts_line and was_blank and _FROM.match(line):
            if number:
                yield _mail(number, lines, size)
            number, size, lines = number + 1, 0, []
        elif number:
            size += len(line)
            if size <= limits.MAX_MAIL_BYTES:
                lines.append(line[1:] if starts_line and _QUOTED_FROM.match(line) else line)
            else:
                lines.clear()
        if starts_line:
            was_blank = not line.strip(b"\r\n")
        starts_line = line.endswith(b"\n")
        was_blank = was_blank and starts_line
    if number:
        yield _mail(number, lines, size)


def _mail(number: int, lines: list[bytes], size: int) -> RawMail:
    place = f"message {number:,}"
    if size > limits.MAX_MAIL_BYTES:
        return RawMail(number, place, b"", _too_large())
    if lines and not lines[-1].strip(b"\r\n"):
        lines.pop()
    return RawMail(number, place, b"".join(lines))


def _too_large() -> str:
    return f"has more than {limits.MAX_MAIL_BYTES:,} bytes, the limit of a mail"
