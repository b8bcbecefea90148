"""What acting costs against what asking a person costs. Wants honest probabilities; costs in one unit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike


@dataclass(frozen=True, slots=True)
class CostDecision:
    """Expected cost of each action, the cheapest, and whether it beats a review; `saving` may be negative."""

    expected: tuple[float, ...]
    best: int
    automatic: bool
    saving: float


def cost_decision(
    cost: ArrayLike, p: ArrayLike, review_cost: float, reviewer_error_cost: float = 0.0
) -> CostDecision:
    """Chow's rule with cost[action][true]; ties go to the more probable label. For comparison only:
    the product acts on the most probable label and lets cost hold it back."""
    chances = np.asarray(p, np.float64)
    expected = np.asarray(cost, np.float64) @ chances
    best = int(np.lexsort((-chances, expected))[0])
    least, limit = float(expected[best]), review_cost + reviewer_error_cost
    return CostDecision(tuple(float(value) for value in expected), best, least < limit, limit - least)


def chow_threshold(error_cost: float, review_cost: float, labels: int | None = None) -> float:
    """1 - r/c, clamped to 1/labels..1 (to 0..1 when the number of labels is not given)."""
    if error_cost <= 0 or review_cost < 0:
        raise ValueError("a mistake must cost more than nothing, and a review not less than nothing")
    return min(1.0, max(1 / labels if labels else 0.0, 1 - review_cost / error_cost))


def cheapest_certified(certified: Sequence[float], cost_threshold: float) -> float | None:
    """Lowest certified value at or above the cost threshold. None: only stricter, uncertified values are
    left, and rounding the cost threshold up on the grid is an attempt of its own."""
    return min((value for value in certified if value >= cost_threshold), default=None)
