"""Times as tables write them: which format a column is in, and what a cell then means."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any
from zoneinfo import ZoneInfo


class TimeFormat(StrEnum):
    """How a column writes its times; a date alone is its first minute."""

    ISO = "iso"
    DMY = "dmy"
    MDY = "mdy"
    YMD = "ymd"
    UNIX = "unix"


_ORDER = {TimeFormat.DMY: (2, 1, 0), TimeFormat.MDY: (2, 0, 1), TimeFormat.YMD: (0, 1, 2)}
_NUMBERS = re.compile(
    r"(\d{1,4})\s?[./\-年]\s?(\d{1,2})\s?[./\-月]\s?(\d{1,4})日?,?"
    r"(?:[T ]\s*(\d{1,2})[:.](\d{2})(?:[:.](\d{2})(?:[.,]\d+)?)?\s?(am|pm|AM|PM|a\.m\.|p\.m\.)?)?"
)
_UNIX = re.compile(r"\d{9,10}(\.\d+)?|\d{12,13}")


def to_time(value: Any, form: TimeFormat, zone: str) -> datetime:
    """Raises ValueError for what is no time in this format. Without a zone of its own it is in `zone`, or naive."""
    if form is TimeFormat.UNIX:
        return _from_unix(value)
    if not isinstance(value, str):
        raise ValueError("is no text")
    time = datetime.fromisoformat(value.strip()) if form is TimeFormat.ISO else _from_numbers(value, form)
    return time.replace(tzinfo=ZoneInfo(zone)) if zone and time.tzinfo is None else time


def time_formats(values: Sequence[Any]) -> tuple[TimeFormat, ...]:
    """Those in which every value is a time; more than one when it cannot be told (03/04/2026), none without values."""
    if not values:
        return ()
    found = tuple(form for form in TimeFormat if all(_fits(value, form) for value in values))
    return (TimeFormat.ISO,) if TimeFormat.ISO in found else found


def _fits(value: Any, form: TimeFormat) -> bool:
    try:
        to_time(value, form, "")
    except ValueError:
        return False
    return True


def _from_unix(value: Any) -> datetime:
    text = str(value).strip()
    if isinstance(value, bool) or not _UNIX.fullmatch(text):
        raise ValueError("is no number of seconds or milliseconds since 1970")
    seconds = float(text)
    return datetime.fromtimestamp(seconds / 1000 if seconds > 1e11 else seconds, UTC)


def _from_numbers(value: str, form: TimeFormat) -> datetime:
    found = _NUMBERS.fullmatch(value.strip())
    if not found:
        raise ValueError("is no date")
    year, month, day = (found[position + 1] for position in _ORDER[form])
    if len(year) not in (2, 4) or len(month) > 2 or len(day) > 2:
        raise ValueError("is no date in this order")
    hour = int(found[4] or 0)
    if found[7]:
        if not 1 <= hour <= 12:
            raise ValueError("is no hour of a half day")
        hour = hour % 12 + (12 if found[7][0] in "pP" else 0)
    years = int(year) + (2000 if len(year) == 2 else 0)
    return datetime(years, int(month), int(day), hour, int(found[5] or 0), int(found[6] or 0))  # noqa: DTZ001 - the caller knows the zone
