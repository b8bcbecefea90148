"""Maps from reported to honest probabilities, for the cost rule and for what people read.

Certified thresholds do not need them. Fit on the older part of a window, keep only what `is_improvement`
shows on the newer part, and do not apply a map outside the confidences it was fitted on.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import scipy
from numpy.typing import ArrayLike
from scipy import special

from apps.stats.intervals import Floats
from apps.stats.probability import item_losses, to_matrix
from apps.stats.sampling import to_weights

CLIP = 1e-12
T_RANGE = (0.05, 20.0)
# Effective labels (for beta and isotonic: of the one label) and wrong answers below which a map does harm.
MIN_TEMPERATURE_LABELS = 200
MIN_BETA_LABELS, MIN_BETA_WRONG = 500, 30
MIN_ISOTONIC_LABELS, MIN_ISOTONIC_WRONG = 3000, 100


def _log(p: ArrayLike) -> Floats:
    return np.asarray(np.log(np.maximum(np.asarray(p, np.float64), CLIP)), np.float64)


@dataclass(frozen=True, slots=True)
class Temperature:
    """softmax(ln p / t) over the whole vector; t above 1 softens an overconfident model."""

    t: float

    def apply(self, p: ArrayLike) -> Floats:
        """Mapped probabilities of rows that each sum to 1."""
        return np.asarray(special.softmax(_log(p) / self.t, axis=-1), np.float64)


def fit_temperature(p: ArrayLike, y: ArrayLike, weights: ArrayLike) -> Temperature:
    """The t of 0.05..20 with the least weighted log loss; ValueError without items."""
    table, truth = to_matrix(p, y)
    if not len(truth):
        raise ValueError("a map needs labelled items")
    logs, w = _log(table), to_weights(weights)
    chosen = logs[np.arange(len(truth)), truth]

    def loss(log_t: float) -> float:
        scaled = logs / math.exp(log_t)
        return float(w @ (special.logsumexp(scaled, axis=1) - chosen / math.exp(log_t)) / w.sum())

    bounds = (math.log(T_RANGE[0]), math.log(T_RANGE[1]))
    found = scipy.optimize.minimize_scalar(loss, bounds=bounds, method="bounded", options={"xatol": 1e-9})
    return Temperature(math.exp(float(found.x)))


@dataclass(frozen=True, slots=True)
class Isotonic:
    """A rising curve through (x, fitted), straight between points and flat outside, from n items."""

    x: Floats
    fitted: Floats
    n: int

    def curve(self, conf: ArrayLike) -> Floats:
        """The fitted share as it is, 0 and 1 included."""
        return np.asarray(np.interp(np.asarray(conf, np.float64), self.x, self.fitted), np.float64)

    def apply(self, conf: ArrayLike) -> Floats:
        """The curve kept off 0 and 1, which n items cannot show: within [1/(n+2), 1 - 1/(n+2)]."""
        edge = 1 / (self.n + 2)
        return np.asarray(np.clip(self.curve(conf), edge, 1 - edge), np.float64)


def fit_isotonic(conf: ArrayLike, correct: ArrayLike, weights: ArrayLike) -> Isotonic:
    """Weighted least squares among rising curves; equal confidences are averaged first."""
    x, y, w = np.asarray(conf, np.float64), np.asarray(correct, np.float64), to_weights(weights)
    if not len(x):
        raise ValueError("a map needs labelled items")
    points, place = np.unique(x, return_inverse=True)
    mass = np.bincount(place, weights=w)
    mean = np.bincount(place, weights=w * y) / mass
    fitted = scipy.optimize.isotonic_regression(mean, weights=mass, increasing=True).x
    return Isotonic(points, np.asarray(fitted, np.float64), len(x))


@dataclass(frozen=True, slots=True)
class Beta:
    """expit(a ln c - b ln(1 - c) + m) with a, b >= 0 (Kull et al. 2017)."""

    a: float
    b: float
    m: float

    def apply(self, conf: ArrayLike) -> Floats:
        """Mapped confidences of one label."""
        c = np.asarray(conf, np.float64)
        return np.asarray(special.expit(self.a * _log(c) - self.b * _log(1 - c) + self.m), np.float64)


def fit_beta(conf: ArrayLike, correct: ArrayLike, weights: ArrayLike) -> Beta:
    """Weighted logistic regression whose slopes may not fall below 0; ValueError unless both right and wrong
    answers are there."""
    c, y, w = np.asarray(conf, np.float64), np.asarray(correct, np.float64), to_weights(weights)
    if not (np.any(y == 1) and np.any(y == 0)):
        raise ValueError("a beta map needs right and wrong answers")
    features = np.column_stack([_log(c), -_log(1 - c), np.ones(len(c))])

    def loss(slopes: Floats) -> tuple[float, Floats]:
        z = features @ slopes
        gradient = features.T @ (w * (special.expit(z) - y)) / w.sum()
        return float(w @ (np.logaddexp(0, z) - y * z) / w.sum()), gradient

    found = scipy.optimize.minimize(
        loss,
        np.array([1.0, 1.0, 0.0]),
        jac=True,
        method="L-BFGS-B",
        bounds=[(0, None), (0, None), (None, None)],
        options={"ftol": 1e-14, "gtol": 1e-9, "maxiter": 1000},
    )
    return Beta(*(float(value) for value in found.x))


def is_improvement(before: ArrayLike, after: ArrayLike, y: ArrayLike, weights: ArrayLike) -> bool:
    """Whether the weighted log loss of probabilities `after` the map is lower by more than one standard
    error of the paired difference; False without items."""
    w = to_weights(weights)
    if not len(w):
        return False
    gain = item_losses(before, y) - item_losses(after, y)
    mean = float(w @ gain / w.sum())
    return mean > math.sqrt(float(np.sum((w * (gain - mean)) ** 2))) / float(w.sum())
