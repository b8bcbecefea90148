"""From a record, a JSON object or a row of a table, to an incoming item: which field is what."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any

from apps.core.errors import FieldProblem, InvalidInput
from apps.core.text import repaired
from apps.pipeline.incoming import Incoming, canonical
from apps.sources.tables.columns import Roles
from apps.sources.tables.times import TimeFormat, to_time

_FORMS = {
    TimeFormat.ISO: "must be a time with its zone, such as 2026-11-30T09:00:00Z",
    TimeFormat.DMY: "must be a day, month and year, such as 30.11.2026 09:00",
    TimeFormat.MDY: "must be a month, day and year, such as 11/30/2026 09:00",
    TimeFormat.YMD: "must be a year, month and day, such as 2026/11/30 09:00",
    TimeFormat.UNIX: "must be seconds or milliseconds since 1970, such as 1796029200",
}


def to_incoming(
    record: Mapping[str, Any], roles: Roles, *, to_value: Callable[[str], Any] | None = None, lost: int = 0
) -> Incoming:
    """Raises InvalidInput naming the field that is missing or wrong.

    `to_value` is what a cell of a table means as metadata or as a priority; `lost` is how many characters of the
    record had to be replaced.
    """
    rest = dict(record)
    external_id = _take_id(rest, roles)
    state = _take_state(rest, roles)
    received_at = _take_time(rest, roles)
    priority = _pop(rest, roles.priority)
    if to_value and priority is not None:
        priority = to_value(priority)
    if priority is not None and (isinstance(priority, bool) or not isinstance(priority, int)):
        raise InvalidInput(FieldProblem(_path("priority", roles.priority), "must be a whole number"))
    group = _pop(rest, roles.group)
    metadata = _to_metadata(rest, roles, to_value)
    repairs = (f"{lost:,} characters that cannot be read or stored were replaced",) if lost else ()
    if not roles.external_id:
        external_id = hashlib.sha256(canonical(dict(record)).encode("utf-8", "surrogatepass")).hexdigest()[
            :32
        ]
    return Incoming(
        external_id,
        state,
        metadata,
        received_at,
        priority or 0,
        group="" if group is None else str(group).strip(),
        repairs=repairs,
    )


def _path(role: str, column: str) -> str:
    return role if column == role else f"{role} ({column})"


def _pop(rest: dict[str, Any], role: str) -> Any:
    return rest.pop(role, None) if role else None


def _take_id(rest: dict[str, Any], roles: Roles) -> Any:
    if not roles.external_id:
        return ""
    external_id = rest.pop(roles.external_id, None)
    if external_id is None:
        raise InvalidInput(FieldProblem(_path("external_id", roles.external_id), "is missing"))
    if isinstance(external_id, str):
        return external_id.strip()
    if isinstance(external_id, int) and not isinstance(external_id, bool):
        return str(external_id)
    return external_id


def _take_state(rest: dict[str, Any], roles: Roles) -> Any:
    taken = {name: rest.pop(name) for name in roles.texts if rest.get(name) is not None}
    if not taken:
        raise InvalidInput(FieldProblem("state", f"is missing: the text ({' and '.join(roles.texts)})"))
    return taken[roles.texts[0]] if len(roles.texts) == 1 else taken


def _take_time(rest: dict[str, Any], roles: Roles) -> datetime | None:
    value = _pop(rest, roles.received_at)
    if value is None:
        return None
    form = roles.time_format or TimeFormat.ISO
    try:
        return to_time(value, form, roles.time_zone)
    except (ValueError, OverflowError):
        raise InvalidInput(FieldProblem(_path("received_at", roles.received_at), _FORMS[form])) from None


def _to_metadata(rest: dict[str, Any], roles: Roles, to_value: Callable[[str], Any] | None) -> dict[str, Any]:
    if roles.metadata is not None:
        rest = {name: rest[name] for name in roles.metadata if name in rest}
    elif "images" in rest:
        raise InvalidInput(FieldProblem("images", "are not taken from a file of rows"))
    own = _own_metadata(rest.pop("metadata")) if "metadata" in rest else {}
    for name in own:
        if name in rest:
            raise InvalidInput(FieldProblem(f"metadata.{name}", "stands beside a field of the same name"))
    if to_value:
        rest = {name: to_value(cell) for name, cell in rest.items()}
    return own | rest if own else rest


def _own_metadata(value: Any) -> dict[str, Any]:
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
