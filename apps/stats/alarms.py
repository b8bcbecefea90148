"""Has the stream changed? One alarm that decides, and warnings that never do."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

import numpy as np
import scipy
from numpy.typing import ArrayLike

from apps.stats.intervals import Floats, check_share

# Mean number of audits to a false alarm while the error is at the target.
ALARM_AT = 1000.0
ALTERNATIVES = (1.5, 2.0, 3.0)
OVERRIDE_WARNING_AT = 5.0
MIN_BASELINE_REVIEWS = 200
MIN_DRIFT_ITEMS = 200
DRIFT_P = 0.001
PSI_WARNING, PSI_STRONG = 0.10, 0.25
KS_WARNING = 0.10

Level = Literal["none", "warning", "strong"]


@dataclass(frozen=True, slots=True)
class TargetAlarm:
    """Evidence that a label's error is above its target, one audit after the other in order of answer.

    An e-detector (Shin, Ramdas, Rinaldo 2024): starts when the certificate is issued.
    """

    alpha: float
    wealth: tuple[float, ...] = (1.0,) * len(ALTERNATIVES)

    def __post_init__(self) -> None:
        check_share("alpha", self.alpha)

    @property
    def statistic(self) -> float:
        return math.fsum(self.wealth) / len(self.wealth)

    def after(self, err: float, r: float = 1.0) -> TargetAlarm:
        """The alarm after one more audit; r is its weight over the largest that could occur."""
        if not (0 <= err <= 1 and 0 < r <= 1):
            raise ValueError(f"err must lie in 0..1 and r above 0 and not above 1, got {err} and {r}")
        # An alternative above 1 is no error rate; capped, every factor stays at or above 0.
        rates = (min(times * self.alpha, 1.0) for times in ALTERNATIVES)
        factors = (
            1 + (e - self.alpha) / (1 - self.alpha) * r * (err - self.alpha) / self.alpha for e in rates
        )
        moved = tuple(max(w, 1.0) * factor for w, factor in zip(self.wealth, factors, strict=True))
        return TargetAlarm(self.alpha, moved)


def alarm_path(errors: Iterable[float], alpha: float, r: Iterable[float] | None = None) -> list[float]:
    """The statistic after each audit."""
    path, alarm = [], TargetAlarm(alpha)
    audits = ((err, 1.0) for err in errors) if r is None else zip(errors, r, strict=True)
    for err, weight in audits:
        alarm = alarm.after(err, weight)
        path.append(alarm.statistic)
    return path


def override_cusum(overridden: Iterable[bool | int], q0: float, q1: float) -> list[float]:
    """Bernoulli CUSUM after each review, in nats; a warning from OVERRIDE_WARNING_AT."""
    check_share("q0", q0)
    check_share("q1", q1)
    up, down = math.log(q1 / q0), math.log((1 - q1) / (1 - q0))
    path, level = [], 0.0
    for changed in overridden:
        level = max(0.0, level + (up if changed else down))
        path.append(level)
    return path


def override_rates(overrides: int, reviews: int) -> tuple[float, float] | None:
    """(q0, q1) from the baseline weeks: its rate, at least 0.5%, and the rate to warn of. None below 200."""
    if reviews < MIN_BASELINE_REVIEWS:
        return None
    # q1 has to stay above q0 for the chart to rise, so q0 stops where q1 does.
    q0 = min(max(overrides / reviews, 0.005), 0.90)
    return q0, min(0.95, 1.5 * q0 + 0.02)


@dataclass(frozen=True, slots=True)
class Drift:
    """Distance of two distributions, its p-value, and whether it is enough to say so.

    Both are asked for: with many items a tiny distance is significant, with few a large one is chance.
    """

    distance: float
    p: float
    warning: Level
    chi2: float | None = None


def psi(baseline: ArrayLike, recent: ArrayLike) -> Drift:
    """Population stability index of counts in the same bins or labels.

    Where a bin is empty on one side its logarithm does not exist: then every count gets 0.5 added.
    """
    old, new = np.asarray(baseline, np.float64), np.asarray(recent, np.float64)
    if old.shape != new.shape or len(old) < 2 or not (old.sum() and new.sum()):
        raise ValueError("expected counts of the same two or more bins, with items on both sides")
    extra = 0.5 if min(old.min(), new.min()) == 0 else 0.0
    u, v = (old + extra) / (old + extra).sum(), (new + extra) / (new + extra).sum()
    distance = float(np.sum((v - u) * np.log(v / u)))
    chi2 = distance / (1 / float(old.sum()) + 1 / float(new.sum()))
    p = float(scipy.stats.chi2.sf(chi2, len(old) - 1))
    enough = min(float(old.sum()), float(new.sum())) >= MIN_DRIFT_ITEMS
    found = enough and p < DRIFT_P and distance >= PSI_WARNING
    level: Level = "none" if not found else "strong" if distance >= PSI_STRONG else "warning"
    return Drift(distance, p, level, chi2)


def equal_mass_edges(baseline: ArrayLike, bins: int = 10) -> Floats:
    """Inner edges that cut the baseline's confidences into bins of equal mass, for `psi`."""
    return np.asarray(np.quantile(np.asarray(baseline, np.float64), np.arange(1, bins) / bins), np.float64)


def bin_counts(conf: ArrayLike, edges: ArrayLike) -> Floats:
    """How many confidences fall between the edges; one on an edge belongs above it."""
    inner = np.asarray(edges, np.float64)
    places = np.searchsorted(inner, np.asarray(conf, np.float64), side="right")
    return np.bincount(places, minlength=len(inner) + 1).astype(np.float64)


def ks(baseline: ArrayLike, recent: ArrayLike) -> Drift:
    """Two-sample Kolmogorov-Smirnov, exact p up to 10,000 items a side."""
    a, b = np.asarray(baseline, np.float64), np.asarray(recent, np.float64)
    if not (a.size and b.size):
        raise ValueError("expected items on both sides")
    found = scipy.stats.ks_2samp(a, b, method="exact" if max(a.size, b.size) <= 10_000 else "asymp")
    distance, p = float(found.statistic), float(found.pvalue)
    return Drift(distance, p, "warning" if distance >= KS_WARNING and p < DRIFT_P else "none")
