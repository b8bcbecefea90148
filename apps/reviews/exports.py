"""The one writer of labels: the page, the API and the shell give the same bytes for the same query string."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final

from django.db.models import QuerySet

from apps.core.errors import FieldProblem, InvalidInput
from apps.reviews.exports_formats import BOM, csv_header, to_csv, to_jsonl, to_records
from apps.reviews.exports_query import (
    LabelQuery,
    labels_for,
    lasting,
    parse_label_query,
    removed_by_filters,
    why_empty,
)
from apps.reviews.models import Label
from apps.workflows.models import Workflow

__all__ = [
    "FORMATS",
    "LabelExport",
    "LabelQuery",
    "check_format",
    "export_labels",
    "labels_for",
    "parse_label_query",
    "removed_by_filters",
    "why_empty",
]

CHUNK = 100
"""Labels read and written at once. A text may have a megabyte, so this also bounds the memory."""


@dataclass(frozen=True, slots=True)
class Format:
    """`ending` names files; `write` turns one chunk of labels into its records."""

    content_type: str
    ending: str
    write: Callable[[QuerySet[Label]], list[bytes]]


FORMATS: Final = {
    "jsonl": Format("application/x-ndjson; charset=utf-8", "jsonl", to_jsonl),
    "csv": Format("text/csv; charset=utf-8; header=present", "csv", to_csv),
    "systemone": Format("application/x-ndjson; charset=utf-8", "systemone.jsonl", to_records),
}


class LabelExport(Iterator[bytes]):
    """The bytes of an export, a chunk at a time; `rows` counts the records given so far, headers not among them."""

    def __init__(self, chunks: Iterator[tuple[int, bytes]]) -> None:
        self.rows = 0
        self._chunks = chunks

    def __next__(self) -> bytes:
        rows, content = next(self._chunks)
        self.rows += rows
        return content


def check_format(name: str) -> Format:
    """Raises InvalidInput for a format that is not written."""
    if name == "parquet":
        raise InvalidInput(FieldProblem("format", "parquet is not built yet; jsonl holds the same columns"))
    if name not in FORMATS:
        raise InvalidInput(FieldProblem("format", f"must be one of {', '.join(FORMATS)}"))
    return FORMATS[name]


def export_labels(*, workflow: Workflow, query: LabelQuery, format: str, chunk: int = CHUNK) -> LabelExport:
    """Settled labels in force, as bytes; `format` is a key of `FORMATS`. Raises InvalidInput at once.

    - `jsonl`: raw UTF-8, one object a line and only "\\n" between them: texts may hold U+2028, so split on
      nothing else. Ordered by label id. The exact form: nothing in it is altered.
    - `csv`: RFC 4180 with a header, `text` in place of `state`. A cell of text that begins with = + - @, tab, CR, LF
      or a full-width twin gets a leading apostrophe, or a spreadsheet would run it. Null is an empty cell.
    - `systemone`: one record an item for training, ordered by item id; see `exports_formats.to_records`.

    Reads by key in chunks of `chunk`, so memory stays constant. Labels made after the start are not in it, nor those
    answered blind that can still be taken back.
    A null `value` says "none of these" where no option means that.
    """
    chosen = check_format(format)
    if query.bom and format != "csv":
        raise InvalidInput(FieldProblem("bom", "is for csv only"))
    labels = lasting(labels_for(workflow=workflow, query=query), workflow)
    return LabelExport(_chunks(labels, query, chosen, chunk))


def _chunks(
    labels: QuerySet[Label], query: LabelQuery, chosen: Format, size: int
) -> Iterator[tuple[int, bytes]]:
    if chosen is FORMATS["csv"]:
        yield 0, (BOM if query.bom else b"") + csv_header()
    newest = labels.order_by("-id").values_list("id", flat=True).first()
    if newest is None:
        return
    key = "item_id" if chosen is FORMATS["systemone"] else "id"
    labels, last = labels.filter(id__lte=newest), 0
    while True:
        # With systemone a chunk is of whole items: their labels may lie far apart.
        keys = labels.filter(**{f"{key}__gt": last}).order_by(key).values_list(key, flat=True).distinct()
        chunk = list(keys[:size])
        if not chunk:
            return
        records = chosen.write(labels.filter(**{f"{key}__in": chunk}).order_by(key))
        if records:
            yield len(records), b"".join(records)
        last = chunk[-1]
