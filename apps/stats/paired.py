"""Two models on the same examples: only those where one is right and the other wrong tell them apart."""

from __future__ import annotations

import math
from dataclasses import dataclass

import scipy

from apps.stats.intervals import Gap, wilson


@dataclass(frozen=True, slots=True)
class Pairs:
    """How often both were right, only the first, only the second, and neither."""

    both: int
    first_only: int
    second_only: int
    neither: int

    def __post_init__(self) -> None:
        if min(self.both, self.first_only, self.second_only, self.neither) < 0:
            raise ValueError("counts must not be negative")

    @property
    def n(self) -> int:
        return self.both + self.first_only + self.second_only + self.neither


def mcnemar_p(pairs: Pairs) -> float:
    """Two-sided exact p (McNemar 1947, by the binomial distribution); 1 when they never differed."""
    differing = pairs.first_only + pairs.second_only
    smaller = min(pairs.first_only, pairs.second_only)
    return min(1.0, 2 * float(scipy.stats.binom.cdf(smaller, differing, 0.5)))


def paired_gap(pairs: Pairs, conf: float = 0.95) -> Gap:
    """Share right of the first minus that of the second, with the score interval for paired shares
    (Newcombe 1998, Statistics in Medicine 17:2635, method 10); ValueError without examples."""
    n = pairs.n
    if n == 0:
        raise ValueError("a difference needs at least one example")
    right1, right2 = pairs.both + pairs.first_only, pairs.both + pairs.second_only
    p1, p2 = right1 / n, right2 / n
    (low1, high1), (low2, high2) = wilson(right1, n, conf), wilson(right2, n, conf)
    phi, gap = _correlation(pairs), (pairs.first_only - pairs.second_only) / n
    below = _side(p1 - low1, high2 - p2, phi)
    above = _side(high1 - p1, p2 - low2, phi)
    return Gap(gap, max(-1.0, gap - below), min(1.0, gap + above))


def _side(own: float, other: float, phi: float) -> float:
    # Rounding may leave -1e-18 where both are equal and phi is 1.
    return math.sqrt(max(0.0, own * own - 2 * phi * own * other + other * other))


def _correlation(pairs: Pairs) -> float:
    """Phi of the 2x2 table, its numerator corrected for continuity where it is positive; 0 for an empty margin."""
    margins = (
        (pairs.both + pairs.first_only)
        * (pairs.second_only + pairs.neither)
        * (pairs.both + pairs.second_only)
        * (pairs.first_only + pairs.neither)
    )
    if margins == 0:
        return 0.0
    product = float(pairs.both * pairs.neither - pairs.first_only * pairs.second_only)
    if product > 0:
        product = max(product - pairs.n / 2, 0.0)
    return product / math.sqrt(margins)
