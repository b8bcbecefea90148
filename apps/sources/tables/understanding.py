"""What a file is, found out from its first bytes, for a person to look at and to correct before anything is written."""

from __future__ import annotations

import codecs
import io
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from enum import StrEnum
from itertools import islice
from pathlib import PurePath
from typing import Any

from apps.core.errors import FieldProblem, InvalidInput
from apps.core.text import repaired
from apps.pipeline import limits
from apps.sources.tables.columns import Roles, suggest_roles
from apps.sources.tables.csv_rows import DELIMITERS, Table, UnreadableFile, named_delimiter, sniff_delimiter
from apps.sources.tables.encodings import LOST, Encoding, Found, find_encoding, known_encoding, without_mark

SAMPLE_BYTES = 256 * 1024
"""How much of a file's beginning is looked at; more of it is not read."""
SHOWN_ROWS = 10
LOOKED_AT_ROWS = 200
SHOWN_CHARACTERS = 300


class Kind(StrEnum):
    CSV = "csv"
    JSONL = "jsonl"
    MBOX = "mbox"
    EML = "eml"
    IMAGE = "image"
    PDF = "pdf"
    OTHER = "other"

    @property
    def has_columns(self) -> bool:
        return self in (Kind.CSV, Kind.JSONL)


@dataclass(frozen=True, slots=True)
class Overrides:
    """What a person decided; None leaves it to be found out."""

    encoding: str | None = None
    delimiter: str | None = None
    roles: Roles | None = None


@dataclass(frozen=True, slots=True)
class Understanding:
    """`problem` is why the file cannot be taken as a whole, going on after its name ("has no rows"), or "".

    `questions` are what has to be decided before rows can be read. `rows` are the first ones, as text and shortened.
    Encoding, delimiter, columns and roles are of tables and JSONL alone, the delimiter of tables.
    """

    kind: Kind
    encoding: str = ""
    encoding_found: str = ""
    delimiter: str = ""
    columns: tuple[str, ...] = ()
    roles: Roles = field(default_factory=Roles)
    rows: tuple[tuple[str, ...], ...] = ()
    problem: str = ""
    questions: tuple[FieldProblem, ...] = ()

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Understanding:
        """Of what `to_json` gave."""
        return cls(
            **{
                **value,
                "kind": Kind(value["kind"]),
                "columns": tuple(value["columns"]),
                "roles": Roles.from_json(value["roles"]),
                "rows": tuple(tuple(row) for row in value["rows"]),
                "questions": tuple(FieldProblem(**each) for each in value["questions"]),
            }
        )

    @property
    def sentence(self) -> str:
        """What was understood, for a line of text."""
        if not self.kind.has_columns:
            return self.problem or f"is {self.kind.value}"
        roles = self.roles
        delimiter = {"\t": "tab", "": ""}.get(self.delimiter, self.delimiter)
        parts = [
            f"{self.kind.value}, {self.encoding} ({self.encoding_found})",
            f"separated by {delimiter}" if delimiter else "",
            f"id from {roles.external_id or 'content'}",
            f"text from {' and '.join(roles.texts)}",
            f"time from {roles.received_at} ({roles.time_format})" if roles.received_at else "",
            f"group from {roles.group}" if roles.group else "",
            f"priority from {roles.priority}" if roles.priority else "",
        ]
        return ", ".join(part for part in parts if part)

    def with_roles(self, roles: Roles) -> Understanding:
        """The same file with columns given other roles. Raises InvalidInput for columns that it does not have."""
        if self.kind is Kind.CSV:
            _check_columns(roles, self.columns)
        return replace(self, roles=roles, questions=_questions(self.kind, roles))


_MAGIC = (
    (b"\x89PNG\r\n\x1a\n", Kind.IMAGE),
    (b"\xff\xd8\xff", Kind.IMAGE),
    (b"%PDF-", Kind.PDF),
)
_PICTURES = (".png", ".jpg", ".jpeg", ".webp", ".gif", ".bmp", ".tif", ".tiff", ".heic", ".avif", ".svg")
_KINDS_BY_NAME = dict.fromkeys(_PICTURES, Kind.IMAGE) | {".pdf": Kind.PDF, ".mbox": Kind.MBOX}
"""What a file is meant to be where its beginning does not say: whoever reads it says what it is instead."""
_NO_FILES_OF_ROWS = (
    (b"PK\x03\x04", "is a spreadsheet or an archive: save it as CSV UTF-8 first"),
    (b"\xd0\xcf\x11\xe0", "is an Excel or Word file of the old kind: save it as CSV UTF-8 first"),
    (b"{\\rtf", "is a formatted document: save it as text or CSV first"),
)
_MAIL_HEADER = re.compile(
    rb"^(from|received|return-path|message-id|date|subject|to|mime-version|delivered-to|dkim-signature):",
    re.IGNORECASE | re.MULTILINE,
)
_MBOX = re.compile(rb"From [^\s][^\n]{0,1000}\n[\w-]+:")


def understand(
    sample: bytes, *, name: str, overrides: Overrides | None = None, time_zone: str = "UTC"
) -> Understanding:
    """`sample` is the beginning of a file (SAMPLE_BYTES, or all of a shorter one), `name` what it is called.

    `time_zone` is of times that do not say theirs. Raises InvalidInput for overrides that cannot be meant.
    """
    overrides = overrides or Overrides()
    if not sample:
        return Understanding(Kind.OTHER, problem="is empty")
    suffix = PurePath(name).suffix.lower()
    kind = _kind_by_content(sample, suffix) or _KINDS_BY_NAME.get(suffix)
    if kind is not None:
        return Understanding(kind)
    for magic, why in _NO_FILES_OF_ROWS:
        if sample.startswith(magic):
            return Understanding(Kind.OTHER, problem=why)
    encoding = _encoding(sample, overrides)
    if encoding is None:
        return Understanding(Kind.OTHER, problem="is no text")
    decoded = codecs.getincrementaldecoder(encoding.name)(LOST).decode(sample, len(sample) < SAMPLE_BYTES)
    text = repaired(without_mark(decoded))[0]
    found = _text(text, suffix, len(sample) < SAMPLE_BYTES, overrides, time_zone)
    return replace(found, encoding=encoding.name, encoding_found=encoding.found.value)


def _kind_by_content(sample: bytes, suffix: str) -> Kind | None:
    for magic, kind in _MAGIC:
        if sample.startswith(magic):
            return kind
    if sample[:4] == b"RIFF" and sample[8:12] == b"WEBP":
        return Kind.IMAGE
    if _MBOX.match(sample):
        return Kind.MBOX
    head = re.split(rb"\r?\n\r?\n", sample.lstrip(b"\r\n"), maxsplit=1)[0]
    names = {found[1].lower() for found in _MAIL_HEADER.finditer(head)}
    return Kind.EML if len(names) >= (1 if suffix == ".eml" else 3) else None


def _encoding(sample: bytes, overrides: Overrides) -> Encoding | None:
    if overrides.encoding is None:
        return find_encoding(sample)
    name = known_encoding(overrides.encoding)
    if name is None:
        raise InvalidInput(FieldProblem("encoding", f"{overrides.encoding[:40]!r} is no encoding of text"))
    return Encoding(name, Found.CHOSEN)


def _text(text: str, suffix: str, is_whole: bool, overrides: Overrides, time_zone: str) -> Understanding:
    start = text.lstrip()[:1]
    if start == "[" and suffix in (".json", ".jsonl", ".ndjson", ""):
        return Understanding(Kind.OTHER, problem="is one JSON array: write one object a line (JSONL)")
    lines = io.StringIO(text, newline="").readlines()
    if not is_whole and len(lines) > 1:
        lines.pop()
    if start == "{" or suffix in (".jsonl", ".ndjson"):
        return _json_lines(lines, is_whole, overrides, time_zone)
    return _table(lines, is_whole, overrides, time_zone)


def _json_lines(lines: Sequence[str], is_whole: bool, overrides: Overrides, time_zone: str) -> Understanding:
    records = [record for line in lines[:LOOKED_AT_ROWS] if isinstance(record := _try_json(line), dict)]
    if is_whole and not any(line.strip() for line in lines):
        return Understanding(Kind.JSONL, problem="has no rows")
    names = dict.fromkeys(name for record in records for name in record)
    columns = tuple(name for name in names if len(name) <= limits.MAX_COLUMN_NAME_CHARACTERS)
    columns = columns[: limits.MAX_IMPORT_COLUMNS]
    roles = overrides.roles or suggest_roles(columns, records, time_zone=time_zone)
    shown = tuple(tuple(_shown(record.get(name)) for name in columns) for record in records[:SHOWN_ROWS])
    return Understanding(
        Kind.JSONL, columns=columns, roles=roles, rows=shown, questions=_questions(Kind.JSONL, roles)
    )


def _try_json(line: str) -> Any:
    try:
        return json.loads(line)
    except (ValueError, RecursionError):
        return None


def _shown(value: Any) -> str:
    text = value if isinstance(value, str) else "" if value is None else json.dumps(value, ensure_ascii=False)
    return text[:SHOWN_CHARACTERS]


def _table(lines: Sequence[str], is_whole: bool, overrides: Overrides, time_zone: str) -> Understanding:
    text = "".join(lines[:LOOKED_AT_ROWS])
    delimiter = overrides.delimiter or named_delimiter(text) or sniff_delimiter(text)
    if len(delimiter) != 1 or delimiter in '"\r\n':
        raise InvalidInput(FieldProblem("delimiter", f"must be one of {DELIMITERS!r}"))
    found = Understanding(Kind.CSV, delimiter=delimiter)
    try:
        table = Table(iter(lines), delimiter)
    except UnreadableFile as error:
        return replace(found, problem=str(error))
    columns = tuple(table.header)
    rows = [row.cells for row in islice(table, LOOKED_AT_ROWS) if row.problem is None and any(row.cells)]
    if is_whole and not columns:
        return replace(found, problem="has no rows")
    if is_whole and not rows and not next(table.__iter__(), None):
        return replace(found, columns=columns, problem="has no rows but its header")
    records = [
        {name: cell for name, cell in zip(columns, cells, strict=False) if cell.strip()} for cells in rows
    ]
    roles = overrides.roles or suggest_roles(columns, records, delimiter=delimiter, time_zone=time_zone)
    _check_columns(roles, columns)
    shown = tuple(tuple(_shown(cell) for cell in cells[: len(columns)]) for cells in rows[:SHOWN_ROWS])
    return replace(found, columns=columns, roles=roles, rows=shown, questions=_questions(Kind.CSV, roles))


def _check_columns(roles: Roles, columns: Sequence[str]) -> None:
    missing = [name for name in (*roles.named, *(roles.metadata or ())) if name not in columns]
    if missing:
        raise InvalidInput(
            FieldProblem(
                "roles", f"has no column {missing[0][:100]} (its columns: {', '.join(columns)[:300]})"
            )
        )


def _questions(kind: Kind, roles: Roles) -> tuple[FieldProblem, ...]:
    asked = []
    if not roles.external_id:
        why = "no column is known to be the id: name it, or let each row's content be its id"
        asked.append(FieldProblem("external_id", why))
    if not roles.texts:
        asked.append(FieldProblem("texts", "no column is known to be the text: name it"))
    if roles.received_at and roles.time_format is None:
        why = f"the dates in {roles.received_at[:100]} can be read day first and month first: say which"
        asked.append(FieldProblem("received_at", why))
    return tuple(asked)
