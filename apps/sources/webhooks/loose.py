"""Reading JSON of others: what is not of the type it should be reads as nothing."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

Object = Mapping[str, Any]


def text_of(value: Any) -> str:
    """A text, or a whole number in digits; numbers come as either."""
    if isinstance(value, bool) or not isinstance(value, str | int):
        return ""
    return str(value)


def number_of(value: Any) -> str:
    return str(value) if isinstance(value, float) else text_of(value)


def object_of(value: Any) -> Object:
    return value if isinstance(value, dict) else {}


def list_of(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []
