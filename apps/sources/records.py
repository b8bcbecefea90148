"""From a record, a JSON object or a row of a table, to an incoming item: which field is what."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from apps.core.errors import FieldProblem, InvalidInput
from apps.core.text import repaired
from apps.pipeline.incoming import Incoming

IDS = ("external_id", "id")
TEXTS = ("state", "text", "body")
NAMED = ("received_at", "priority", "metadata")


@dataclass(frozen=True, slots=True)
class Fields:
    """Which field is the external id and which the text; None looks for the usual names, in this order."""

    id: str | None = None
    text: str | None = None

    @property
    def ids(self) -> tuple[str, ...]:
        return IDS if self.id is None else (self.id,)

    @property
    def texts(self) -> tuple[str, ...]:
        return TEXTS if self.text is None else (self.text,)


def to_incoming(record: Mapping[str, Any], fields: Fields) -> Incoming:
    """Fields that mean nothing here become metadata. Raises InvalidInput naming the field that is missing or wrong."""
    rest = dict(record)
    external_id = _take(rest, fields.ids, "the external id")
    if isinstance(external_id, int) and not isinstance(external_id, bool):
        external_id = str(external_id)
    state = _take(rest, fields.texts, "the text")
    if "images" in rest:
        raise InvalidInput(FieldProblem("images", "are not taken yet"))
    received_at = _to_time(rest.pop("received_at", None))
    priority = rest.pop("priority", None)
    if priority is not None and (isinstance(priority, bool) or not isinstance(priority, int)):
        raise InvalidInput(FieldProblem("priority", "must be a whole number"))
    metadata = _to_metadata(rest.pop("metadata", None))
    twins = sorted(set(metadata) & set(rest))
    if twins:
        raise InvalidInput(FieldProblem(f"metadata.{twins[0]}", "stands beside a field of the same name"))
    return Incoming(external_id, state, metadata | rest, received_at, priority or 0)


def _take(record: dict[str, Any], names: tuple[str, ...], what: str) -> Any:
    name = next((name for name in names if record.get(name) is not None), None)
    if name is None:
        raise InvalidInput(FieldProblem(names[0], f"is missing: {what} ({' or '.join(names)})"))
    return record.pop(name)


def _to_time(value: Any) -> datetime | None:
    if value is None:
        return None
    try:
        return datetime.fromisoformat(value)
    except (TypeError, ValueError):
        raise InvalidInput(
            FieldProblem("received_at", "must be a time with its zone, such as 2026-11-30T09:00:00Z")
        ) from None


def _to_metadata(value: Any) -> dict[str, Any]:
    if isinstance(value, str):  # a cell of a table
        try:
            value = json.loads(value)
        except (ValueError, RecursionError):
            value = None
        if value is None:
            raise InvalidInput(FieldProblem("metadata", "must be a JSON object"))
    if value is not None and not isinstance(value, dict):
        raise InvalidInput(FieldProblem("metadata", "must be an object"))
    return value or {}


def repaired_value(value: Any) -> tuple[Any, int]:
    """A JSON value with everything replaced in it that cannot be stored, and how many characters that were.

    Raises RecursionError for one nested deeper than Python likes.
    """
    if isinstance(value, str):
        return repaired(value)
    if isinstance(value, list):
        inner = [repaired_value(each) for each in value]
        return [each for each, _ in inner], sum(count for _, count in inner)
    if isinstance(value, dict):
        pairs = [(repaired(name), repaired_value(each)) for name, each in value.items()]
        return {name: each for (name, _), (each, _) in pairs}, sum(a + b for (_, a), (_, b) in pairs)
    return value, 0
