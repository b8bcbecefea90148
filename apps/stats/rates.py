"""A share with what it needs to be believed: numerator, denominator, interval, or why there is none."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypedDict

from apps.stats.intervals import check_counts, wilson

NO_DATA = "no data"

# Below this many labelled items a figure is shown greyed, is not ranked and gets no colour.
FEW_LABELS = 30


class _RateKeys(TypedDict):
    value: float | None
    numerator: float
    denominator: float
    low: float | None
    high: float | None


class RateJson(_RateKeys, total=False):
    """The shape of every metric in the API: five keys always, two only when they say something."""

    exact: bool
    reason: str


@dataclass(frozen=True, slots=True)
class Rate:
    """A share of 0..1 with its two-sided 95% interval; `value` None means unknown, and `reason` says why.

    `exact` marks a count of everything, which has no interval. Weighted rates carry weighted counts.
    """

    value: float | None
    numerator: int | float
    denominator: int | float
    low: float | None
    high: float | None
    exact: bool = False
    reason: str | None = None

    @property
    def has_few_labels(self) -> bool:
        return not self.exact and self.denominator < FEW_LABELS

    def to_json(self) -> RateJson:
        """Always value, numerator, denominator, low and high; `exact` and `reason` only when they apply."""
        shape: RateJson = {
            "value": self.value,
            "numerator": self.numerator,
            "denominator": self.denominator,
            "low": self.low,
            "high": self.high,
        }
        if self.exact:
            shape["exact"] = True
        if self.reason is not None:
            shape["reason"] = self.reason
        return shape


def rate(k: int | float, n: int | float) -> Rate:
    """k of n sampled items with the Wilson 95% interval; ValueError unless 0 <= k <= n."""
    check_counts(k, n)
    if n == 0:
        return unknown()
    low, high = wilson(k, n)
    return Rate(k / n, k, n, low, high)


def exact_share(k: int | float, n: int | float) -> Rate:
    """k of n where everything was counted, so there is no interval; ValueError unless 0 <= k <= n."""
    check_counts(k, n)
    if n == 0:
        return Rate(None, 0, 0, None, None, exact=True, reason=NO_DATA)
    return Rate(k / n, k, n, None, None, exact=True)


def unknown(reason: str = NO_DATA) -> Rate:
    """A rate nobody can know yet: never 0, never 1."""
    return Rate(None, 0, 0, None, None, reason=reason)
