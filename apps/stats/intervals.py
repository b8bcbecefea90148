"""Intervals and bounds for k of n, and how many answers a bound needs.

Wilson is for display, Clopper-Pearson is where a promise is made. Counts may be fractions (an effective
sample size is one). Nothing known (n = 0) is the interval from 0 to 1, never a point.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import scipy
from numpy.typing import ArrayLike, NDArray
from scipy import special

Floats = NDArray[np.float64]

# A plan beyond this many answers is no plan; the search stops there.
MAX_AUDITS = 100_000


def check_counts(k: float, n: float) -> None:
    """Raise ValueError unless 0 <= k <= n and both are finite."""
    if not (math.isfinite(n) and 0 <= k <= n):
        raise ValueError(f"counts must satisfy 0 <= k <= n, got k={k}, n={n}")


def check_share(name: str, value: float) -> None:
    """Raise ValueError unless 0 < value < 1."""
    if not 0 < value < 1:
        raise ValueError(f"{name} must lie strictly between 0 and 1, got {value}")


def wilson(k: float, n: float, conf: float = 0.95) -> tuple[float, float]:
    """Two-sided score interval (Wilson 1927), clamped to 0..1."""
    check_counts(k, n)
    check_share("conf", conf)
    if n == 0:
        return 0.0, 1.0
    z = float(special.ndtri(0.5 + conf / 2))
    centre = (k + z * z / 2) / (n + z * z)
    half = z / (n + z * z) * math.sqrt(k * (n - k) / n + z * z / 4)
    # At k = 0 and k = n the ends are exactly 0 and 1; rounding would leave 1e-17 beside them.
    low = 0.0 if k == 0 else max(0.0, centre - half)
    high = 1.0 if k == n else min(1.0, centre + half)
    return low, high


def clopper_pearson(k: float, n: float, conf: float = 0.95) -> tuple[float, float]:
    """Two-sided exact interval: it covers at least `conf`, whatever the true rate."""
    check_counts(k, n)
    check_share("conf", conf)
    half = (1 - conf) / 2
    low = 0.0 if k == 0 else float(special.betaincinv(k, n - k + 1, half))
    return low, upper_bound(k, n, half)


def upper_bound(k: float, n: float, delta: float) -> float:
    """One-sided exact upper bound at confidence 1 - delta; 1 when n = 0 or k = n."""
    check_counts(k, n)
    check_share("delta", delta)
    return float(upper_bounds(k, n, delta))


def upper_bounds(k: ArrayLike, n: ArrayLike, delta: ArrayLike) -> Floats:
    """`upper_bound` over arrays that broadcast together; the caller vouches for 0 <= k <= n."""
    wrong, total, risk = np.broadcast_arrays(
        np.asarray(k, np.float64), np.asarray(n, np.float64), np.asarray(delta, np.float64)
    )
    open_ended = wrong >= total
    # Where the bound is 1 the beta quantile does not exist: any valid argument keeps the call quiet.
    right = np.where(open_ended, 1.0, total - wrong)
    bound = special.betainccinv(wrong + 1, right, risk)
    return np.asarray(np.where(open_ended, 1.0, bound), np.float64)


def exact_p(k: int, n: int, alpha: float) -> float:
    """P(at most k wrong of n) if the error were alpha: small speaks against "error >= alpha"."""
    check_counts(k, n)
    check_share("alpha", alpha)
    return float(special.bdtr(k, n, alpha))


@dataclass(frozen=True, slots=True)
class Gap:
    """A difference of two shares with its Newcombe interval, all between -1 and 1."""

    value: float
    low: float
    high: float


def newcombe(x1: int, n1: int, x2: int, n2: int, conf: float = 0.95) -> Gap:
    """x1/n1 - x2/n2 with the score interval (Newcombe 1998, method 10); ValueError if n1 or n2 is 0."""
    if n1 == 0 or n2 == 0:
        raise ValueError("a difference needs at least one answer on each side")
    (low1, high1), (low2, high2) = wilson(x1, n1, conf), wilson(x2, n2, conf)
    p1, p2 = x1 / n1, x2 / n2
    gap = p1 - p2
    return Gap(gap, gap - math.hypot(p1 - low1, high2 - p2), gap + math.hypot(high1 - p1, p2 - low2))


def audits_needed(x: float, delta: float, k: int = 0) -> int:
    """Fewest answers that certify error <= x at confidence 1 - delta when k of them are wrong."""
    check_share("x", x)
    check_share("delta", delta)
    if k < 0:
        raise ValueError(f"k must not be negative, got {k}")
    return int(_audits_needed(x, delta, np.asarray([k]))[0])


def _audits_needed(x: float, delta: float, k: NDArray[np.int64]) -> NDArray[np.int64]:
    """Bisection for every k at once: P(at most k of n) falls as n grows."""
    fails: NDArray[np.int64] = k.astype(np.int64)
    passes: NDArray[np.int64] = np.maximum(1, np.ceil((k + 10 + 20 * math.log(1 / delta)) / x)).astype(
        np.int64
    )
    while np.any(special.bdtr(k, passes, x) > delta):
        passes *= 2
    while np.any(passes - fails > 1):
        middle = (fails + passes) // 2
        enough = special.bdtr(k, middle, x) <= delta
        passes, fails = np.where(enough, middle, passes), np.where(enough, fails, middle)
    return passes


@dataclass(frozen=True, slots=True)
class AuditPlan:
    """`n` answers certify with chance `power` if the true error is as planned; `max_errors` may be wrong."""

    n: int
    max_errors: int
    power: float


def plan_audits(
    x: float, e: float, delta: float, power: float = 0.80, *, sustained: bool = False
) -> AuditPlan | None:
    """Fewest answers that certify error <= x with chance >= power when the true error is e.

    The chance is saw-toothed in n. The first n that reaches it is given, or with `sustained` the first from
    which every larger n reaches it too. None when e >= x or the plan would pass MAX_AUDITS answers.
    """
    for name, value in (("x", x), ("delta", delta), ("power", power)):
        check_share(name, value)
    if e >= x:
        return None
    size = 64
    while True:
        first = _audits_needed(x, delta, np.arange(size + 1))
        k = np.arange(size)
        # Between first[k] and first[k + 1] - 1 answers k may be wrong, and the chance falls along the way.
        best = scipy.stats.binom.cdf(k, first[:-1], e)
        worst = scipy.stats.binom.cdf(k, first[1:] - 1, e)
        if sustained and worst[-1] >= (1 + power) / 2:
            failing = np.flatnonzero(worst < power)
            found = int(failing[-1]) + 1 if failing.size else 0
            return AuditPlan(int(first[found]), found, float(best[found]))
        if not sustained and np.any(best >= power):
            found = int(np.argmax(best >= power))
            return AuditPlan(int(first[found]), found, float(best[found]))
        if first[-1] > MAX_AUDITS:
            return None
        size *= 2
