"""What a candidate policy would cost a day, from a window of stored decisions and people's answers."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from apps.stats.agreement import Z95
from apps.stats.betting import Bets, lower_bound
from apps.stats.rates import Rate, exact_share
from apps.stats.sampling import to_weights

# With fewer costly answers the normal interval of a mean cost is not to be trusted.
MIN_ERRORS = 20


@dataclass(frozen=True, slots=True)
class ReplayLoad:
    """Counts of the window under the candidate; `automatic` items and `reviews` are all of its items."""

    days: float
    automatic: int
    reviews: int
    audits: int
    review_cost: float

    @property
    def automation(self) -> Rate:
        return exact_share(self.automatic, self.automatic + self.reviews)

    @property
    def people_cost_per_day(self) -> float:
        return self.review_cost * (self.reviews + self.audits) / self.days


@dataclass(frozen=True, slots=True)
class ReplayCost:
    """Cost per day in the manager's unit; the error part with a 95% interval; None: nothing was labelled."""

    error_cost_per_day: float | None
    low: float | None
    high: float | None
    cost_per_day: float | None


def replay_cost(
    load: ReplayLoad, costs: ArrayLike, weights: ArrayLike, *, c_max: float, w_max: float
) -> ReplayCost:
    """`costs` of the labelled candidate-automatic items (0 for a right one) with their weights 1 / pi.

    `c_max` is the largest cost there is in the table, `w_max` the largest weight that could occur.
    """
    if load.days <= 0:
        raise ValueError("a replay needs a window of more than no time")
    c, w = np.asarray(costs, np.float64), to_weights(weights)
    if load.automatic == 0:
        return ReplayCost(0.0, 0.0, 0.0, load.people_cost_per_day)
    if not len(c):
        return ReplayCost(None, None, None, None)
    mean = float(w @ c / w.sum())
    per_day = load.automatic / load.days
    if np.count_nonzero(c) >= MIN_ERRORS:
        half = Z95 * math.sqrt(float(np.sum((w * (c - mean)) ** 2))) / float(w.sum())
        low, high = max(0.0, mean - half), mean + half
    elif c_max > 0:
        low = c_max * lower_bound(w, c / c_max, w_max, 0.025)
        high = c_max * Bets(w, c / c_max, w_max).upper_bound(0.025)
    else:
        low = high = 0.0
    error = per_day * mean
    return ReplayCost(error, per_day * low, per_day * high, error + load.people_cost_per_day)
