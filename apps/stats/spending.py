"""How the risk delta is shared over repeated attempts and over labels."""

from __future__ import annotations

import math

from apps.stats.intervals import check_share


def attempt_delta(delta: float, attempt: int) -> float:
    """Risk of the attempt-th try since the last reset, 6 delta / (pi^2 j^2): all tries together spend delta.

    Attempts count from 1, and those that certify nothing count as well.
    """
    check_share("delta", delta)
    if attempt < 1:
        raise ValueError(f"attempts count from 1, got {attempt}")
    return delta * 6 / (math.pi**2 * attempt**2)


def label_delta(delta: float, labels: int) -> float:
    """Risk per label when one promise is to hold for all labels at once."""
    check_share("delta", delta)
    if labels < 1:
        raise ValueError(f"a promise needs at least one label, got {labels}")
    return delta / labels
