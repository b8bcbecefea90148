"""Bounds by betting: any weights, any loss in 0..1, and valid however often one looks.

Looser than the two-stratum bound, so used for graded losses and for monitoring, not to search thresholds.
Waudby-Smith and Ramdas (2024).
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from apps.stats.intervals import Floats, check_share
from apps.stats.sampling import to_weights

STAKES = np.arange(1, 21) / 20


class Bets:
    """Labelled items collapsed to distinct (relative weight, loss) pairs, with how often each came."""

    def __init__(self, weights: ArrayLike, loss: ArrayLike, w_max: float) -> None:
        """`w_max` is the largest weight that could have occurred, not the largest seen."""
        w, losses = to_weights(weights), np.asarray(loss, np.float64)
        if w.shape != losses.shape:
            raise ValueError("weights and losses differ in number")
        if np.any((losses < 0) | (losses > 1)):
            raise ValueError("losses must lie in 0..1")
        if w.size and w.max() > w_max:
            raise ValueError("a weight is larger than the largest that could occur")
        pairs, counts = np.unique(np.column_stack([w / w_max, losses]), axis=0, return_counts=True)
        self._weight: Floats = pairs[:, 0]
        self._loss: Floats = pairs[:, 1]
        self._count = counts

    def log_wealth(self, alpha: float) -> float:
        """ln of the mean over stakes of what a bet against "mean loss is at least alpha" has won."""
        check_share("alpha", alpha)
        gain = self._weight * (alpha - self._loss) / (1 - alpha)
        # Staking everything on an item of full weight that is wrong leaves exactly nothing: ln 0 is meant.
        with np.errstate(divide="ignore"):
            logs = np.log(np.maximum(0.0, 1 + STAKES[:, None] * gain[None, :]))
        totals = logs @ self._count if logs.size else np.zeros(len(STAKES))
        return float(np.logaddexp.reduce(totals)) - math.log(len(STAKES))

    def p_value(self, alpha: float) -> float:
        """Evidence against "mean loss is at least alpha", at most 1; stays valid when looked at any time."""
        return min(1.0, math.exp(-max(0.0, self.log_wealth(alpha))))

    def upper_bound(self, delta: float) -> float:
        """Smallest alpha the bets rule out at confidence 1 - delta; 1 when none is ruled out."""
        check_share("delta", delta)
        target = math.log(1 / delta)
        low, high = 0.0, 1.0
        for _ in range(60):
            middle = (low + high) / 2
            if not 0 < middle < 1:
                break
            if self.log_wealth(middle) >= target:
                high = middle
            else:
                low = middle
        return high


def lower_bound(weights: ArrayLike, loss: ArrayLike, w_max: float, delta: float) -> float:
    """Mean losses below this are ruled out at confidence 1 - delta; 0 when none is."""
    return 1 - Bets(weights, 1 - np.asarray(loss, np.float64), w_max).upper_bound(delta)
