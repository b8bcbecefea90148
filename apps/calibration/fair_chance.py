"""When a label is worth its first attempt, which spends most of what all may: spent on too few answers, it is missing.

It is when its answers would certify it with a chance of `POWER` if its error were `ASSUMED` of the target, as the
planner assumes of a label nobody knows (recalibration.md section 5.2), or when waiting adds hardly any answers. Only
counts of answers enter, never what they said, so the promise holds whatever comes of it.
"""

from __future__ import annotations

import numpy as np
import scipy

from apps.stats.intervals import upper_bounds
from apps.stats.thresholds import Counts, Stratum, split_delta

POWER = 0.80
ASSUMED = 0.5
FULL_WEEKS = 7
"""Of the 8 of a window: answers from so long ago on are about as many as a window will ever hold."""

_BEYOND = 1e-9


def certifying_chance(counts: Counts, *, alpha: float, delta: float, error: float) -> float:
    """That the two-stratum bound (section 2.2) over all items from the lowest grid value on is at most `alpha`, if
    each answer is wrong with chance `error`: P(N_R U(K_R) + N_A U(K_A) + uncovered <= alpha N), K binomial."""
    strata = (counts.reviewed, counts.audited)
    items = [float(each.items[0]) for each in strata]
    risk = split_delta(items[0], items[1], delta)
    (p_reviewed, of_reviewed), (p_audited, of_audited) = (
        _outcomes(each, float(part), error) for each, part in zip(strata, risk, strict=True)
    )
    left = alpha * float(counts.items[0]) - float(counts.uncovered[0]) - of_reviewed
    # Bounds grow with the mistakes: how many of the checks may be wrong beside each number of wrong reviews.
    passing = np.searchsorted(of_audited, left, side="right")
    return float(p_reviewed @ np.concatenate([[0.0], np.cumsum(p_audited)])[passing])


def _outcomes(stratum: Stratum, delta: float, error: float) -> tuple[np.ndarray, np.ndarray]:
    """For 0, 1, 2 … wrong answers: their chance, and the bound times the stratum's items."""
    items, labelled = float(stratum.items[0]), float(stratum.labelled[0])
    wrong = np.arange(scipy.stats.binom.ppf(1 - _BEYOND, labelled, error) + 1 if labelled else 1)
    chances = np.asarray(scipy.stats.binom.pmf(wrong, labelled, error), np.float64)
    return chances, items * upper_bounds(wrong, np.full(len(wrong), labelled), delta)
