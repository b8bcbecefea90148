"""A calendar part as lines that people and models read: what, when, where, who asks."""

from __future__ import annotations

import re
from datetime import datetime

_MAX_CHARACTERS = 64 * 1024
_MAX_EVENTS = 5
_MAX_VALUE = 2_000
_METHODS = {
    "REQUEST": "Invitation",
    "CANCEL": "Cancelled",
    "REPLY": "Answer to an invitation",
    "COUNTER": "Another time is proposed",
}
_SHOWN = {
    "SUMMARY": "What",
    "DTSTART": "Starts",
    "DTEND": "Ends",
    "RRULE": "Repeats",
    "LOCATION": "Where",
    "ORGANIZER": "Organiser",
    "DESCRIPTION": "Description",
}
# Possessive: a line of semicolons could be cut into parameters in more ways than there is time for.
_LINE = re.compile(r"([A-Za-z-]{1,40})((?:;(?:[^:\"]++|\"[^\"]*+\"|\")*+)?+):(.*)", re.DOTALL)
_ESCAPED = re.compile(r"\\([\\;,nN])")


def to_lines(source: str) -> list[str]:
    """Empty for what holds no event."""
    text = re.sub(r"\r?\n[ \t]", "", source[:_MAX_CHARACTERS].replace("\r\n", "\n"))
    lines: list[str] = []
    method, events, inside = "", 0, []
    for line in text.split("\n"):
        found = _LINE.match(line)
        if found is None:
            continue
        name, parameters, value = found[1].upper(), found[2], found[3].strip()
        if name == "METHOD":
            method = _METHODS.get(value.upper(), "")
        elif name == "BEGIN":
            inside.append(value.upper())
            if value.upper() == "VEVENT":
                events += 1
                lines.append(method or "Event")
        elif name == "END" and inside:
            inside.pop()
        elif inside[-1:] == ["VEVENT"] and events <= _MAX_EVENTS and name in _SHOWN:
            lines.append(f"{_SHOWN[name]}: {_shown(name, parameters, value)[:_MAX_VALUE]}")
    return [line for line in lines if not line.endswith(": ")][: _MAX_EVENTS * 10]


def _shown(name: str, parameters: str, value: str) -> str:
    if name in {"DTSTART", "DTEND"}:
        return _time(value, parameters)
    if name == "ORGANIZER":
        called = re.search(r"CN=\"?([^\";:]+)", parameters, re.IGNORECASE)
        address = re.sub(r"(?i)^mailto:", "", value)
        return f"{called[1]} <{address}>" if called else address
    return _ESCAPED.sub(lambda found: "\n" if found[1] in "nN" else found[1], value)


def _time(value: str, parameters: str) -> str:
    zone = re.search(r"TZID=\"?([^\";:]+)", parameters, re.IGNORECASE)
    for pattern, shape in (
        ("%Y%m%dT%H%M%SZ", "%Y-%m-%d %H:%M UTC"),
        ("%Y%m%dT%H%M%S", "%Y-%m-%d %H:%M"),
        ("%Y%m%d", "%Y-%m-%d"),
    ):
        try:
            when = datetime.strptime(value, pattern).strftime(shape)  # noqa: DTZ007  shown as it stands, with its zone's name
        except ValueError:
            continue
        return f"{when} ({zone[1]})" if zone else when
    return value
