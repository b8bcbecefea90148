"""Error among items that had unequal chances of being labelled, and how draws are equalised.

Weights are 1 / pi, the inverse of each item's chance, known before the draw, of getting a usable answer.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray

from apps.stats.intervals import Floats
from apps.stats.rates import Rate, rate, unknown


def to_weights(weights: ArrayLike) -> Floats:
    """Weights as floats; ValueError unless every one is positive and finite."""
    w = np.asarray(weights, np.float64)
    if not np.all(np.isfinite(w) & (w > 0)):
        raise ValueError("weights must be positive and finite")
    return w


def hajek(weights: ArrayLike, err: ArrayLike) -> float | None:
    """Weighted share of wrong answers (Hajek 1971); None without labelled items."""
    w, e = to_weights(weights), np.asarray(err, np.float64)
    return float(np.sum(w * e) / np.sum(w)) if w.size else None


def kish_n_eff(weights: ArrayLike) -> float:
    """Sample size of equal weights that says as much (Kish 1965); 0 without items."""
    w = to_weights(weights)
    return float(np.sum(w) ** 2 / np.sum(w * w)) if w.size else 0.0


def linearised_se(weights: ArrayLike, err: ArrayLike) -> float | None:
    """Standard error of `hajek`, for information: intervals built on it miss too often to be shown."""
    w, e = to_weights(weights), np.asarray(err, np.float64)
    if not w.size:
        return None
    mean = np.sum(w * e) / np.sum(w)
    return float(math.sqrt(np.sum((w * (e - mean)) ** 2)) / np.sum(w))


def weighted_rate(weights: ArrayLike, hit: ArrayLike) -> Rate:
    """`hajek` for display: Wilson 95% on the effective size, which is the denominator given.

    With equal weights that is the plain rate of the plain counts. Never decides a policy.
    """
    share = hajek(weights, hit)
    if share is None:
        return unknown()
    n_eff = kish_n_eff(weights)
    return rate(min(share, 1.0) * n_eff, n_eff)


def keep_chances(pi: ArrayLike) -> Floats:
    """Chance to keep each labelled item so that all end up with the smallest pi: a plain random sample."""
    chances = np.asarray(pi, np.float64)
    if not np.all((chances > 0) & (chances <= 1)):
        raise ValueError("inclusion probabilities must lie above 0 and not above 1")
    return np.asarray(chances.min(initial=1.0) / chances, np.float64)


def too_rare_to_thin(pi: ArrayLike) -> NDArray[np.bool_]:
    """Items whose pi is under a third of the typical one: leave their days out, do not thin all to them."""
    chances = np.asarray(pi, np.float64)
    typical = np.median(chances) if chances.size else 0.0
    return np.asarray(chances < typical / 3, np.bool_)
