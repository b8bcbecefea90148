"""A JSON value as the flat rows that a page shows, without recursion: what a sender nests cannot exhaust the stack."""

from __future__ import annotations

import json
from dataclasses import dataclass

MAX_DEPTH = 4
MAX_ROWS = 1_000
_MAIL = ("from", "to", "cc", "subject", "date", "body")


@dataclass(frozen=True, slots=True)
class Row:
    """`value` is None for a branch, whose own rows follow one step deeper."""

    name: str
    value: str | None
    depth: int

    @property
    def look(self) -> str:
        """Classes of its name."""
        return f"depth-{self.depth}{' is-branch' if self.value is None else ''}"


def rows_of(state: object, *, most: int = MAX_ROWS) -> list[Row]:
    """Names and values; the database keeps no order, so those of a mail come first, in the order of a mail, then
    the short ones of an object. Nothing is left out: what lies deeper than `MAX_DEPTH`, and what comes after
    `most` rows, is one value in JSON."""
    rows: list[Row] = []
    waiting = list(reversed(_children(state, 0)))
    while waiting:
        name, value, depth = waiting.pop()
        if len(rows) == most - 1 and waiting:
            rest = [{name: value}, *({each[0]: each[1]} for each in reversed(waiting))]
            rows.append(Row(f"{len(rest)} more", _as_json(rest), 0))
            break
        inner = _children(value, depth + 1) if depth < MAX_DEPTH else []
        rows.append(Row(name, None if inner else _as_text(value), depth))
        waiting.extend(reversed(inner))
    return rows


def _children(value: object, depth: int) -> list[tuple[str, object, int]]:
    if isinstance(value, dict):
        ordered = sorted(value.items(), key=_place)
        return [(name, inner, depth) for name, inner in ordered]
    if isinstance(value, list):
        return [(str(index), inner, depth) for index, inner in enumerate(value, start=1)]
    return []


def _place(pair: tuple[str, object]) -> tuple[int, bool]:
    name, value = pair
    return (_MAIL.index(name) if name in _MAIL else len(_MAIL), _is_long(value))


def _is_long(value: object) -> bool:
    return isinstance(value, dict | list) or (isinstance(value, str) and (len(value) > 100 or "\n" in value))


def _as_text(value: object) -> str:
    return value if isinstance(value, str) else _as_json(value)


def _as_json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)
