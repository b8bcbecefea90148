"""Rows of a JSONL, CSV or TSV file as incoming items, one after the other: a large file needs no more memory.

What is wrong with the whole file is told before its first row is taken; what is wrong with a row costs that row.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import IO, Any

from apps.core.errors import FieldProblem, InvalidInput
from apps.core.text import repaired
from apps.pipeline import limits
from apps.pipeline.incoming import Incoming
from apps.sources.cells import to_value
from apps.sources.records import NAMED, Fields, repaired_value, to_incoming
from apps.sources.tables import Line, Overlong, Table, UnreadableFile

SUFFIXES = {".jsonl": "jsonl", ".ndjson": "jsonl", ".csv": "csv", ".tsv": "csv"}
_CHUNK = 1 << 20


@dataclass(frozen=True, slots=True)
class Row:
    """`number` as an editor or a spreadsheet counts; `repaired` is how many characters were replaced."""

    number: int
    incoming: Incoming | None
    problems: tuple[FieldProblem, ...] = ()
    repaired: int = 0


def read_rows(path: Path, fields: Fields) -> Iterator[Row]:
    """Raises UnreadableFile at the first row or not at all."""
    encoding = _check_file(path)
    kind = SUFFIXES.get(path.suffix.lower()) or _guess_kind(path, encoding)
    with _open(path, encoding, newline="\n" if kind == "jsonl" else "") as file:
        has_rows = False
        for row in _read_json_lines(file, fields) if kind == "jsonl" else _read_table(file, fields):
            has_rows = True
            yield row
    if not has_rows:
        raise UnreadableFile("has no rows")


def _open(path: Path, encoding: str, newline: str) -> IO[str]:
    # Halves of surrogate pairs are let in, to be replaced and counted like NUL; nothing else that is wrong is.
    return path.open(encoding=encoding, errors="surrogatepass", newline=newline)


def _check_file(path: Path) -> str:
    """Its encoding."""
    try:
        if not path.is_file():
            raise UnreadableFile("is a folder: name its files" if path.is_dir() else "is no file")
        size = path.stat().st_size
        with path.open("rb") as file:
            start = file.read(4096)
    except OSError as error:
        raise UnreadableFile(f"cannot be read: {error.strerror}") from error
    if size > limits.MAX_IMPORT_FILE_BYTES:
        raise UnreadableFile(f"has {size:,} bytes; the limit is {limits.MAX_IMPORT_FILE_BYTES:,}")
    if start.startswith(b"PK\x03\x04"):
        raise UnreadableFile("is a spreadsheet or an archive: save it as CSV UTF-8 first")
    if start.startswith((b"\xff\xfe", b"\xfe\xff")):
        return _check_encoding(path, "utf-16")
    if start.count(0) > len(start) // 10:
        raise UnreadableFile("is no text, or UTF-16 without its byte order mark: save it as UTF-8")
    return _check_encoding(path, "utf-8-sig")


def _check_encoding(path: Path, encoding: str) -> str:
    # A pass of its own, so that a file in another encoding is not taken by half.
    line = 1
    with _open(path, encoding, newline="") as file:
        try:
            while text := file.read(_CHUNK):
                line += text.count("\n")
        except UnicodeDecodeError as error:
            line += error.object[: error.start].count(b"\n")
            raise UnreadableFile(
                f"is neither UTF-8 nor UTF-16 (byte 0x{error.object[error.start]:02X} in line {line:,}): save it "
                "as UTF-8, in a spreadsheet program as “CSV UTF-8”"
            ) from error
        except UnicodeError as error:  # UTF-16 that ends in the middle of a character
            raise UnreadableFile(f"is no whole {encoding.upper()} text: {error}") from error
    return encoding


def _guess_kind(path: Path, encoding: str) -> str:
    with _open(path, encoding, newline="") as file:
        start = file.read(4096).lstrip()
    if start.startswith("["):
        raise UnreadableFile("is one JSON array: write one object a line (JSONL)")
    return "jsonl" if start.startswith("{") else "csv"


def _lines(file: IO[str]) -> Iterator[Line]:
    """Each line with its end; one over the limit is passed over in pieces."""
    limit = limits.MAX_IMPORT_ROW_CHARACTERS
    while line := file.readline(limit):
        if len(line) < limit or line.endswith(("\n", "\r")):
            yield line
            continue
        quotes = 0
        while line:
            quotes += line.count('"')
            line = "" if line.endswith(("\n", "\r")) else file.readline(_CHUNK)
        yield Overlong(quotes)


def _read_json_lines(file: IO[str], fields: Fields) -> Iterator[Row]:
    for number, line in enumerate(_lines(file), start=1):
        if isinstance(line, Overlong):
            limit = limits.MAX_IMPORT_ROW_CHARACTERS
            yield Row(number, None, (FieldProblem("row", f"is longer than {limit:,} characters"),))
        elif line.strip():
            yield _read_json(number, line, fields)


def _read_json(number: int, line: str, fields: Fields) -> Row:
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
            return _to_row(number, record, fields, count + more)
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


def _read_table(file: IO[str], fields: Fields) -> Iterator[Row]:
    table = Table(_lines(file))
    for wanted, option in ((fields.ids, "--id-field"), (fields.texts, "--text-field")):
        if not set(wanted) & set(table.header):
            raise UnreadableFile(
                f"has no column {' or '.join(wanted)} (its columns: {', '.join(table.header)[:300]}): "
                f"name it by {option}"
            )
    as_text = {*fields.ids, *fields.texts, *NAMED} - {"priority"}
    for row in table:
        problem = row.problem
        if problem is None and not any(cell.strip() for cell in row.cells):
            continue
        if problem is None and len(row.cells) != len(table.header):
            problem = FieldProblem(
                "row", f"has {len(row.cells):,} cells; the header has {len(table.header):,}"
            )
        if problem is not None:
            yield Row(row.number, None, (problem,))
            continue
        record = {
            name: (cell.strip() if name in fields.ids else cell)
            if name in as_text
            else to_value(cell, table.delimiter)
            for name, cell in zip(table.header, row.cells, strict=True)
            if cell.strip()
        }
        yield _to_row(row.number, record, fields, row.repaired)


def _to_row(number: int, record: Mapping[str, Any], fields: Fields, count: int) -> Row:
    try:
        return Row(number, to_incoming(record, fields), (), count)
    except InvalidInput as error:
        return Row(number, None, error.problems, count)
