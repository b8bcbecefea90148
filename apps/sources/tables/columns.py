"""Which column of a table, or field of a JSON object, is what: suggested by its name and by what stands in it."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from apps.sources.tables.cells import to_value
from apps.sources.tables.column_names import GROUPS, IDS, PRIORITIES, SUBJECTS, TEXTS, TIMES, plain
from apps.sources.tables.times import TimeFormat, time_formats

EXACT_TEXTS = ("state", "text")


@dataclass(frozen=True, slots=True)
class Roles:
    """Columns by their role; "" is none.

    Without `external_id` a row's id is made of its content, so that the same row again is the same item. One of
    `texts` is the state as it is, several make an object. `time_format` is "" while it has to be asked.
    Times without a zone are in `time_zone`; refused when that is "". `metadata` None means all other columns.
    """

    external_id: str = ""
    texts: tuple[str, ...] = ()
    received_at: str = ""
    time_format: TimeFormat | None = None
    time_zone: str = ""
    group: str = ""
    priority: str = ""
    metadata: tuple[str, ...] | None = None

    @property
    def named(self) -> tuple[str, ...]:
        """Every column that has a role, metadata aside."""
        single = (self.external_id, self.received_at, self.group, self.priority)
        return tuple(name for name in (*single, *self.texts) if name)

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Roles:
        """Of what `to_json` gave."""
        return cls(
            **{
                **value,
                "texts": tuple(value["texts"]),
                "time_format": TimeFormat(value["time_format"]) if value["time_format"] else None,
                "metadata": None if value["metadata"] is None else tuple(value["metadata"]),
            }
        )


def columns_sha256(columns: Sequence[str]) -> str:
    """What a remembered mapping is found by: the names in their order."""
    return hashlib.sha256(json.dumps(list(columns)).encode()).hexdigest()


def suggest_roles(
    columns: Sequence[str], rows: Sequence[Mapping[str, Any]], *, delimiter: str = "", time_zone: str = ""
) -> Roles:
    """`rows` are the first ones, without their empty cells; `delimiter` is that of a table, whose cells are text."""
    free = list(columns)

    def take(names: Sequence[str]) -> str:
        found = next((column for name in names for column in free if plain(column) == name), "")
        if found:
            free.remove(found)
        return found

    external_id = take(IDS)
    texts = _take_texts(free, take)
    received_at, formats = _find_time(free, rows)
    if received_at:
        free.remove(received_at)
    group = take(GROUPS)
    priority = next((each for each in free if plain(each) in PRIORITIES), "")
    if priority and not all(_is_whole(row[priority], delimiter) for row in rows if priority in row):
        priority = ""  # words such as "high" say something to people and rules, as metadata
    return Roles(
        external_id=external_id,
        texts=texts,
        received_at=received_at,
        time_format=formats[0] if len(formats) == 1 else None,
        time_zone=time_zone,
        group=group,
        priority=priority,
    )


def _take_texts(free: Sequence[str], take: Any) -> tuple[str, ...]:
    exact = next((name for name in EXACT_TEXTS if name in free), "")
    if exact:
        return (take([exact]),)
    subject, text = take(SUBJECTS), take(TEXTS)
    return tuple(each for each in (subject, text) if each)


def _find_time(free: Sequence[str], rows: Sequence[Mapping[str, Any]]) -> tuple[str, tuple[TimeFormat, ...]]:
    """A column that is called so and holds times; several formats when all of them could be meant."""
    for name in TIMES:
        for column in free:
            if plain(column) != name:
                continue
            formats = time_formats([row[column] for row in rows if column in row])
            if formats:
                return column, formats
            if column == "received_at":  # meant so, whatever stands in it: each row says what is wrong
                return column, (TimeFormat.ISO,)
    return "", ()


def _is_whole(value: Any, delimiter: str) -> bool:
    value = to_value(value, delimiter) if isinstance(value, str) and delimiter else value
    return isinstance(value, int) and not isinstance(value, bool)
