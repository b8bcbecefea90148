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
            yield from unstorable_paths(inner, f"{path}.{key}")
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            yield from unstorable_paths(inner, f"{path}[{index}]")
