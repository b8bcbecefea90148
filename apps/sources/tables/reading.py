"""Rows of a JSONL, CSV or TSV file as incoming items, one after the other: a large file needs no more memory.

What is wrong with the whole file is told before its first row is taken; what is wrong with a row costs that row.
"""

from __future__ import annotations

import io
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

from apps.core.errors import FieldProblem, InvalidInput
from apps.core.text import repaired
from apps.pipeline import limits
from apps.pipeline.incoming import Incoming
from apps.sources.tables.cells import to_value
from apps.sources.tables.chunks import ByteStream
from apps.sources.tables.columns import Roles
from apps.sources.tables.csv_rows import Line, Overlong, Table, UnreadableFile
from apps.sources.tables.encodings import LOST, without_mark
from apps.sources.tables.records import repaired_value, to_incoming
from apps.sources.tables.understanding import SAMPLE_BYTES, Kind, Understanding

_CHUNK = 1 << 20
_MORE_BYTES = 16 * 1024


@dataclass(frozen=True, slots=True)
class Row:
    """`number` as an editor or a spreadsheet counts; `repaired` is how many characters were replaced."""

    number: int
    incoming: Incoming | None
    problems: tuple[FieldProblem, ...] = ()
    repaired: int = 0


def read_rows(stream: ByteStream, understanding: Understanding) -> Iterator[Row]:
    """Raises UnreadableFile at the first row or not at all. `stream` stands at the file's beginning; it stays open."""
    if understanding.problem:
        raise UnreadableFile(understanding.problem)
    roles = understanding.roles
    if not roles.texts:
        raise UnreadableFile("has no column for the text")
    if roles.received_at and roles.time_format is None:
        raise UnreadableFile(f"has dates in {roles.received_at} that can be read in two ways: say which")
    is_table = understanding.kind is Kind.CSV
    text = io.TextIOWrapper(
        io.BufferedReader(_Unclosed(stream), _CHUNK),
        understanding.encoding,
        errors=LOST,
        newline="" if is_table else "\n",
    )
    rows = _read_table(text, understanding) if is_table else _read_json_lines(text, roles)
    first = next(rows, None)
    if first is None:
        raise UnreadableFile("has no rows")
    yield first
    yield from rows


class _Unclosed(io.RawIOBase):
    """Keeps a stream open when what reads it is gone."""

    def __init__(self, stream: ByteStream) -> None:
        self._stream = stream

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        found = self._stream.read(len(buffer)) or b""
        buffer[: len(found)] = found
        return len(found)


def read_sample(path: Path) -> bytes:
    """What `understand` looks at. Raises UnreadableFile for what is no file that may be read."""
    try:
        if not path.is_file():
            raise UnreadableFile("is a folder: name its files" if path.is_dir() else "is no file")
        size = path.stat().st_size
        if size > limits.MAX_IMPORT_FILE_BYTES:
            raise UnreadableFile(f"has {size:,} bytes; the limit is {limits.MAX_IMPORT_FILE_BYTES:,}")
        with path.open("rb") as file:
            return take_sample(file)
    except OSError as error:
        raise UnreadableFile(f"cannot be read: {error.strerror}") from error


def take_sample(stream: ByteStream) -> bytes:
    """What `understand` looks at: a file's beginning, and where that is plain ASCII, lines from later that are not.

    So a file whose first accent stands on its last line is read in its encoding, too. `stream` is a buffered one.
    """
    head = stream.read(SAMPLE_BYTES) or b""
    if len(head) < SAMPLE_BYTES or not head.isascii() or 0 in head:
        return head
    found = b""
    while len(found) < _MORE_BYTES and (chunk := stream.read(_CHUNK)):
        if not chunk.isascii():
            found += b"".join(line for line in chunk.splitlines(keepends=True) if not line.isascii())
    return head[: SAMPLE_BYTES - _MORE_BYTES] + b"\n" + found[:_MORE_BYTES] if found else head


def _lines(file: io.TextIOWrapper) -> Iterator[Line]:
    """Each line with its end; one over the limit is passed over in pieces."""
    limit = limits.MAX_IMPORT_ROW_CHARACTERS
    is_first = True
    while line := file.readline(limit):
        if is_first:
            line, is_first = without_mark(line), False
        if len(line) < limit or line.endswith(("\n", "\r")):
            yield line
            continue
        quotes = 0
        while line:
            quotes += line.count('"')
            line = "" if line.endswith(("\n", "\r")) else file.readline(_CHUNK)
        yield Overlong(quotes)


def _read_json_lines(file: io.TextIOWrapper, roles: Roles) -> Iterator[Row]:
    for number, line in enumerate(_lines(file), start=1):
        if isinstance(line, Overlong):
            limit = limits.MAX_IMPORT_ROW_CHARACTERS
            yield Row(number, None, (FieldProblem("row", f"is longer than {limit:,} characters"),))
        elif line.strip():
            yield _read_json(number, line, roles)


def _read_json(number: int, line: str, roles: Roles) -> Row:
    line, count = repaired(line.strip())
    try:
        record, more = repaired_value(
            json.loads(line, parse_constant=_refuse_constant, object_pairs_hook=_refuse_twins)
        )
    except json.JSONDecodeError as error:
        why = f"is no JSON: {error.msg} at character {error.pos + 1}"
    except ValueError as error:
        why = f"is no JSON that can be taken: {error}"
    except RecursionError:
        why = f"is nested deeper than {limits.MAX_DEPTH} levels"
    else:
        if isinstance(record, dict):
            return _to_row(number, record, roles, count + more)
        why = "must be an object with named fields"
    return Row(number, None, (FieldProblem("row", why),))


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is not a JSON number")


def _refuse_twins(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    record = dict(pairs)
    if len(record) < len(pairs):
        names = sorted(name for name, _ in pairs)
        twin = next(name for name, after in pairwise(names) if name == after)
        raise ValueError(f"the field {twin!r} stands there twice")
    return record


def _read_table(file: io.TextIOWrapper, understanding: Understanding) -> Iterator[Row]:
    table = Table(_lines(file), understanding.delimiter)
    roles, header = understanding.roles, table.header
    width = len(header)
    value_of = partial(to_value, delimiter=table.delimiter)
    for row in table:
        problem, cells = row.problem, row.cells
        if problem is None and len(cells) != width:
            if not any(cell.strip() for cell in cells):
                continue
            if len(cells) < width or any(cell.strip() for cell in cells[width:]):
                problem = FieldProblem("row", f"has {len(cells):,} cells; the header has {width:,}")
        if problem is not None:
            yield Row(row.number, None, (problem,))
            continue
        record = {
            name: cell for name, cell in zip(header, cells, strict=False) if cell and not cell.isspace()
        }
        if record:
            yield _to_row(row.number, record, roles, row.repaired, value_of)


def _to_row(number: int, record: Mapping[str, Any], roles: Roles, lost: int, value_of: Any = None) -> Row:
    try:
        return Row(number, to_incoming(record, roles, to_value=value_of, lost=lost), (), lost)
    except InvalidInput as error:
        return Row(number, None, error.problems, lost)
