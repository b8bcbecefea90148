"""What policies and answers must be; each refusal is a ValueError that begins with the field's name."""

from __future__ import annotations

import math


def check_number(name: str, value: float, low: float = 0.0, high: float = 1.0) -> None:
    if not is_number(value) or not low <= value <= high:
        limits = f"finite and at least {low:g}" if high == math.inf else f"between {low:g} and {high:g}"
        raise ValueError(f"{name}: must be {limits}")


def is_number(value: object) -> bool:
    """Whether it can be compared as an amount: `true`, text, NaN and infinities cannot."""
    if isinstance(value, float):
        return math.isfinite(value)
    return isinstance(value, int) and not isinstance(value, bool)


def is_scalar(value: object) -> bool:
    return isinstance(value, bool | str) or is_number(value)


def is_list_of_scalars(value: object) -> bool:
    return isinstance(value, list | tuple) and bool(value) and all(map(is_scalar, value))


def check_distinct(name: str, ids: list[str]) -> None:
    if "" in ids:
        raise ValueError(f"{name}: an id is empty")
    if len(set(ids)) < len(ids):
        twice = next(each for each in ids if ids.count(each) > 1)
        raise ValueError(f"{name}: {twice!r} is there twice")
