"""Are the probabilities themselves any good? Labelled items only, weighted by 1 / pi."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from apps.stats.intervals import Floats
from apps.stats.rates import Rate
from apps.stats.sampling import to_weights, weighted_rate

LOG_CLIP = 1e-15
# With fewer labels no calibration error is given; a bin with fewer is drawn hollow.
MIN_LABELS = 100
HOLLOW_BELOW = 10


def to_matrix(p: ArrayLike, y: ArrayLike) -> tuple[Floats, NDArray[np.intp]]:
    """Probabilities (items x labels) and the places of the true labels; ValueError if they do not fit."""
    table, truth = np.asarray(p, np.float64), np.asarray(y, np.intp)
    if table.ndim != 2 or len(table) != len(truth):
        raise ValueError("expected one row of probabilities an answer")
    if truth.size and not (truth.min() >= 0 and truth.max() < table.shape[1]):
        raise ValueError("a true label is not a column of the probabilities")
    return table, truth


def brier(p: ArrayLike, y: ArrayLike, weights: ArrayLike | None = None) -> float | None:
    """Multiclass Brier score, summed over labels (0 is perfect, 2 the worst); None without items."""
    if not len(np.asarray(y)):
        return None
    table, truth = to_matrix(p, y)
    hit = np.zeros_like(table)
    hit[np.arange(len(truth)), truth] = 1
    w = np.ones(len(truth)) if weights is None else to_weights(weights)
    return float(w @ np.sum((table - hit) ** 2, axis=1) / np.sum(w))


def item_losses(p: ArrayLike, y: ArrayLike, clip: float = LOG_CLIP) -> Floats:
    """-ln of each item's true-label probability, after clipping at `clip` and renormalising the row."""
    table, truth = to_matrix(p, y)
    kept = np.maximum(table, clip)
    return np.asarray(-np.log(kept[np.arange(len(truth)), truth] / kept.sum(axis=1)), np.float64)


@dataclass(frozen=True, slots=True)
class LogLoss:
    """Mean log loss in nats, and how many true labels had a probability below the clip."""

    value: float | None
    clipped: int


def log_loss(p: ArrayLike, y: ArrayLike, weights: ArrayLike | None = None) -> LogLoss:
    """Weighted log loss; value None without items."""
    if not len(np.asarray(y)):
        return LogLoss(None, 0)
    table, truth = to_matrix(p, y)
    w = np.ones(len(truth)) if weights is None else to_weights(weights)
    clipped = int(np.sum(table[np.arange(len(truth)), truth] < LOG_CLIP))
    return LogLoss(float(w @ item_losses(table, truth) / np.sum(w)), clipped)


@dataclass(frozen=True, slots=True)
class ReliabilityBin:
    """One of the equal-mass bins: mean confidence beside accuracy, whose interval uses the effective size."""

    items: int
    confidence: float
    accuracy: Rate
    share: float

    @property
    def is_hollow(self) -> bool:
        return self.items < HOLLOW_BELOW


@dataclass(frozen=True, slots=True)
class Reliability:
    """Bins from least to most confident. `ece` is biased upward: `reference` is what an exactly calibrated
    model would show with as many labels, so the two belong side by side. None below 100 labels."""

    bins: tuple[ReliabilityBin, ...]
    ece: float | None
    reference: float | None


def bin_count(labels: int) -> int | None:
    """Number of bins that many labels can fill; None below 100 labels."""
    return max(2, min(15, labels // 50)) if labels >= MIN_LABELS else None


def reliability(
    conf: ArrayLike, correct: ArrayLike, weights: ArrayLike | None = None, *, bins: int | None = None
) -> Reliability:
    """Expected calibration error of the top label; `bins` overrides the number the labels call for.

    Sizes differ by at most one, the larger bins first; tied confidences keep the order they came in.
    """
    confidence, hit = np.asarray(conf, np.float64), np.asarray(correct, np.float64)
    w = np.ones(len(confidence)) if weights is None else to_weights(weights)
    count = bin_count(len(confidence)) if bins is None else bins
    if count is None or not len(confidence):
        return Reliability((), None, None)
    total = float(w.sum())
    runs = np.array_split(np.argsort(confidence, kind="stable"), count)
    found = tuple(_bin(confidence[run], hit[run], w[run], total) for run in runs if len(run))
    ece = math.fsum(b.share * abs((b.accuracy.value or 0.0) - b.confidence) for b in found)
    return Reliability(found, ece, math.fsum(b.share * _noise(b.accuracy) for b in found))


def _bin(confidence: Floats, hit: Floats, w: Floats, total: float) -> ReliabilityBin:
    mean = float(w @ confidence / w.sum())
    return ReliabilityBin(len(w), mean, weighted_rate(w, hit), float(w.sum()) / total)


def _noise(accuracy: Rate) -> float:
    """Mean distance of a bin's accuracy from its true value, by chance alone."""
    a = accuracy.value or 0.0
    return math.sqrt(2 * a * (1 - a) / (math.pi * accuracy.denominator))


@dataclass(frozen=True, slots=True)
class RiskCoverage:
    """Error among the most confident share of all items, item by item from the most confident one.

    `aurc` is the mean risk, `excess` how far it is above the best possible ordering of the same answers.
    """

    coverage: Floats
    risk: Floats
    aurc: float | None
    excess: float | None


def risk_coverage(conf: ArrayLike, err: ArrayLike, weights: ArrayLike | None = None) -> RiskCoverage:
    """Tied confidences enter together: each gets the risk at the end of the tie."""
    confidence, wrong = np.asarray(conf, np.float64), np.asarray(err, np.float64)
    w = np.ones(len(confidence)) if weights is None else to_weights(weights)
    if not len(w):
        return RiskCoverage(np.zeros(0), np.zeros(0), None, None)
    order = np.argsort(-confidence, kind="stable")
    falling = -confidence[order]
    end = np.searchsorted(falling, falling, side="right") - 1
    covered = np.cumsum(w[order])[end]
    risk = np.cumsum((w * wrong)[order])[end] / covered
    aurc = float(w[order] @ risk / w.sum())
    return RiskCoverage(covered / w.sum(), risk, aurc, aurc - _best_aurc(wrong, w))


def _best_aurc(wrong: Floats, w: Floats) -> float:
    """Right answers first; among equally wrong ones the lighter first, which is what costs least."""
    order = np.lexsort((w, wrong))
    risk = np.cumsum((w * wrong)[order]) / np.cumsum(w[order])
    return float(w[order] @ risk / w.sum())
