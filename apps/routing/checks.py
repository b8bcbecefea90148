"""What policies and answers must be; each refusal is a ValueError that begins with the field's name."""

from __future__ import annotations

import math


def check_number(name: str, value: float, low: float = 0.0, high: float = 1.0) -> None:
    # The negated form refuses NaN as well.
    if isinstance(value, bool) or not low <= value <= high:
        limits = f"at least {low:g}" if high == math.inf else f"between {low:g} and {high:g}"
        raise ValueError(f"{name}: must be {limits}")
    if value == math.inf:
        raise ValueError(f"{name}: must be finite")


def is_number(value: object) -> bool:
    """Whether it can be compared as an amount: `true`, text and infinities cannot."""
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def is_scalar(value: object) -> bool:
    return isinstance(value, bool | str) or is_number(value)


def is_list_of_scalars(value: object) -> bool:
    return isinstance(value, list | tuple) and bool(value) and all(map(is_scalar, value))


def check_distinct(name: str, ids: list[str]) -> None:
    twice = sorted({each for each in ids if ids.count(each) > 1})
    if twice or "" in ids:
        raise ValueError(f"{name}: each needs an id of its own ({', '.join(twice) or 'one is empty'})")
