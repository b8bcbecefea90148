"""A conversation that came in as one item: a list of messages, whatever a sender calls their parts."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

_TEXTS = ("text", "content", "body", "message")
_AUTHORS = ("author", "from", "sender", "name", "role")
_TIMES = ("at", "time", "timestamp", "created_at", "date")
_OURS = {
    "admin",
    "advisor",
    "agent",
    "assistant",
    "bot",
    "business",
    "company",
    "employee",
    "operator",
    "staff",
} | {
    "support",
    "system",
}
_THEIRS = {"client", "contact", "customer", "guest", "human", "lead", "patient", "user", "visitor"}
_SECONDS = (10**8, 10**11)
"""A number between is seconds since 1970 (1973 to 5138); a thousand times that is milliseconds."""
_YEARS = (2, 9998)
"""Every time between exists in every time zone."""


@dataclass(frozen=True, slots=True)
class Message:
    """`is_ours`: from the side that answers, else from the side that asks. `at` where the time is a time, else
    `when` as the sender wrote it. `more`: everything else the message holds."""

    author: str
    is_ours: bool
    at: datetime | None
    when: str
    text: str
    more: tuple[tuple[str, str], ...]


def chat_of(state: Any) -> list[Message]:
    """The messages of a list in which each is an object with a text and somebody who wrote it; else none."""
    if not isinstance(state, list) or not all(_is_message(each) for each in state):
        return []
    first = _author(state[0]) if state else ""
    return [_to_message(each, first) for each in state]


def _is_message(each: Any) -> bool:
    return isinstance(each, dict) and _first(each, _TEXTS) is not None and _first(each, _AUTHORS) is not None


def _first(each: Mapping[str, Any], names: tuple[str, ...]) -> str | None:
    return next((name for name in names if isinstance(each.get(name), str)), None)


def _author(each: Mapping[str, Any]) -> str:
    """The name, and the role where both are told."""
    named = [each[name] for name in _AUTHORS if isinstance(each.get(name), str)]
    return " · ".join(dict.fromkeys(named))


def _to_message(each: Mapping[str, Any], first: str) -> Message:
    text = _first(each, _TEXTS)
    time = next((name for name in _TIMES if _is_time(each.get(name))), None)
    used = {text, time, *(name for name in _AUTHORS if isinstance(each.get(name), str))}
    author = _author(each)
    at = None if time is None else _to_time(each[time])
    return Message(
        author=author,
        is_ours=_is_ours(each, author != first),
        at=at,
        when="" if time is None or at is not None else str(each[time]),
        text=str(each.get(text or "", "")),
        more=tuple(
            (name, value if isinstance(value, str) else json.dumps(value, ensure_ascii=False))
            for name, value in each.items()
            if name not in used
        ),
    )


def _is_ours(each: Mapping[str, Any], is_another: bool) -> bool:
    """By the role; where nobody's is known, whoever wrote first asks and the others answer."""
    said = {each[name].strip().lower() for name in _AUTHORS if isinstance(each.get(name), str)}
    if said & _THEIRS:
        return False
    return bool(said & _OURS) or is_another


def _is_time(value: Any) -> bool:
    return isinstance(value, str | int | float) and not isinstance(value, bool)


def _to_time(value: str | float) -> datetime | None:
    """None for what is no time, and for one without a zone: it would be shown in the reader's."""
    if isinstance(value, str):
        try:
            at = datetime.fromisoformat(value)
        except ValueError:
            return None
        return at if at.tzinfo is not None and _YEARS[0] <= at.year <= _YEARS[1] else None
    # A sender's number may be larger than any that can be divided.
    if not _SECONDS[0] <= value < _SECONDS[1] * 1000:
        return None
    seconds = value / 1000 if value >= _SECONDS[1] else value
    return datetime.fromtimestamp(seconds, UTC)
