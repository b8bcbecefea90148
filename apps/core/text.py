"""Text from outside: what cannot be stored, and where it is."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")


def unstorable_at(text: str) -> int | None:
    """Position of the first NUL or lone surrogate, which PostgreSQL cannot store; None when the text is fine."""
    found = _UNSTORABLE.search(text)
    return found.start() if found else None


def repaired(text: str) -> tuple[str, int]:
    """`text` with each NUL and lone surrogate as U+FFFD, and how many there were."""
    return _UNSTORABLE.subn("�", text)


MOST_DIGITS = 18
"""More fit no column, and thousands would be refused by `int`."""


def whole_number(text: str | None) -> int | None:
    """What an address or a form gives for an id or a version; None unless it is 1 to `MOST_DIGITS` plain digits."""
    fits = text is not None and text.isascii() and text.isdigit() and len(text) <= MOST_DIGITS
    return int(text) if text is not None and fits else None


LONGEST_STEP = 100
"""Characters of a key in a path: a path is written for every value below, and a key may be as long as a body."""


def step(key: str) -> str:
    """The key as it stands in a path."""
    return key if len(key) <= LONGEST_STEP else f"{key[:LONGEST_STEP]}…"


def unstorable_paths(value: Any, path: str) -> Iterator[tuple[str, str]]:
    """(path, sentence) for every string or key inside a JSON value that cannot be stored."""
    if isinstance(value, str):
        at = unstorable_at(value)
        if at is not None:
            what = "a NUL character" if value[at] == "\x00" else "half of a surrogate pair"
            yield path, f"holds {what} at position {at}, which cannot be stored"
    elif isinstance(value, dict):
        for key, inner in value.items():
            yield from unstorable_paths(key, f"{path} (a key)")
            yield from unstorable_paths(inner, f"{path}.{step(key)}")
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            yield from unstorable_paths(inner, f"{path}[{index}]")
