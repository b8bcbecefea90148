"""A policy as the `[policy]` of a workflow file, so that what is exported can be pasted into one."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from apps.core.errors import FieldProblem, InvalidInput


def to_toml(rules: Mapping[str, Any]) -> str:
    return "\n".join(["[policy]", *_tables("policy", rules)]) + "\n"


def tables_to_toml(name: str, tables: Sequence[Mapping[str, Any]]) -> str:
    """`[[name]]` for each, in their order."""
    return "\n".join(line for table in tables for line in (f"[[{name}]]", *_tables(name, table), "")) + "\n"


def from_toml(text: str) -> object:
    """What stands under `[policy]`, unchecked; the file may be a whole workflow's. Raises InvalidInput."""
    try:
        data = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise InvalidInput(FieldProblem("file", f"is no TOML: {error}")) from error
    if "policy" not in data:
        raise InvalidInput(FieldProblem("policy", "must be given"))
    return data["policy"]


def _tables(path: str, table: Mapping[str, Any]) -> Iterator[str]:
    """Plain values first, because what follows a table's head belongs to that table."""
    for name, value in table.items():
        if not _is_table(value):
            yield f"{_quoted(name)} = {_literal(value)}"
    for name, value in table.items():
        if not _is_table(value):
            continue
        inner = f"{path}.{_quoted(name)}"
        if isinstance(value, dict):
            # A table of tables only needs no head of its own.
            if not value or not all(map(_is_table, value.values())):
                yield from ("", f"[{inner}]")
            yield from _tables(inner, value)
            continue
        for each in value:
            yield from ("", f"[[{inner}]]")
            yield from _tables(inner, each)


def _is_table(value: Any) -> bool:
    return isinstance(value, dict) or (isinstance(value, list) and bool(value) and isinstance(value[0], dict))


def _literal(value: Any) -> str:
    if isinstance(value, list):
        return f"[{', '.join(map(_literal, value))}]"
    if isinstance(value, str):
        return _quoted_text(value)
    return json.dumps(value)


def _quoted(name: str) -> str:
    plain = name.isascii() and name.replace("-", "").replace("_", "").isalnum()
    return name if plain else _quoted_text(name)


def _quoted_text(text: str) -> str:
    # A JSON string is a TOML one, but for DEL, which only JSON takes as it is.
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")
