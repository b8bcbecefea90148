"""Do people, or people and the model, say the same, and is it more than chance would give?"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from apps.stats.intervals import Floats
from apps.stats.rates import NO_DATA, Rate, rate, unknown

# The large-sample normal quantile of a two-sided 95% interval.
Z95 = 1.959963984540054

ONE_LABEL = "only one answer was ever used"


@dataclass(frozen=True, slots=True)
class Kappa:
    """Cohen's kappa beside the raw agreement, which must be shown with it. `value` None: `reason` says why.

    Low and high are the large-sample 95% interval and may leave -1..1 when answers are few.
    """

    agreement: Rate
    value: float | None
    low: float | None = None
    high: float | None = None
    reason: str | None = None


def answer_table(a: Sequence[Hashable], b: Sequence[Hashable], labels: Sequence[Hashable]) -> Floats:
    """Counts of (rows: a, columns: b) answers in the order of `labels`; ValueError for another label."""
    places = {label: place for place, label in enumerate(labels)}
    table = np.zeros((len(places), len(places)))
    for first, second in zip(a, b, strict=True):
        if first not in places or second not in places:
            raise ValueError(f"the answers {first!r} and {second!r} are not both among the labels")
        table[places[first], places[second]] += 1
    return table


def kappa(table: ArrayLike, *, quadratic: bool = False) -> Kappa:
    """Kappa of a square table of counts; `quadratic` weighs by squared distance, for ordered scores.

    Standard error of Fleiss, Cohen and Everitt (1969), weighted and plain alike.
    """
    counts = np.asarray(table, np.float64)
    n = float(counts.sum())
    if n == 0:
        return Kappa(unknown(), None, reason=NO_DATA)
    raw = rate(float(np.trace(counts)), n)
    p = counts / n
    rows, columns = p.sum(axis=1), p.sum(axis=0)
    credit = _credit(len(p), quadratic=quadratic)
    observed, expected = float(np.sum(p * credit)), float(rows @ credit @ columns)
    if math.isclose(expected, 1.0, abs_tol=1e-12):
        return Kappa(raw, None, reason=ONE_LABEL)
    value = (observed - expected) / (1 - expected)
    mean_credit = (credit @ columns)[:, None] + (rows @ credit)[None, :]
    spread = np.sum(p * (credit - mean_credit * (1 - value)) ** 2) - (value - expected * (1 - value)) ** 2
    se = math.sqrt(max(0.0, float(spread)) / n) / (1 - expected)
    return Kappa(raw, value, value - Z95 * se, value + Z95 * se)


def _credit(size: int, *, quadratic: bool) -> Floats:
    """How far two answers count as agreeing: 1 on the diagonal."""
    if not quadratic or size == 1:
        return np.eye(size)
    steps = np.arange(size)
    return np.asarray(1 - ((steps[:, None] - steps[None, :]) / (size - 1)) ** 2, np.float64)


def equal_pair_share(answers: Sequence[Hashable]) -> float | None:
    """Of the pairs among one item's independent answers, the share that is equal; None below two answers."""
    pairs = math.comb(len(answers), 2)
    return sum(math.comb(count, 2) for count in Counter(answers).values()) / pairs if pairs else None


def human_agreement(items: Sequence[Sequence[Hashable]]) -> Rate:
    """Mean over items of `equal_pair_share`; items with one answer are left out of the denominator."""
    shares = [share for answers in items if (share := equal_pair_share(answers)) is not None]
    return rate(math.fsum(shares), len(shares))


Level = Literal["nominal", "ordinal", "interval"]
Ratings = Sequence[Sequence[float | str | None]]


@dataclass(frozen=True, slots=True)
class Alpha:
    """Krippendorff's alpha with its 95% bootstrap interval over items; `value` None: `reason` says why."""

    value: float | None
    items: int
    low: float | None = None
    high: float | None = None
    reason: str | None = None


def krippendorff_alpha(ratings: Ratings, level: Level, *, draws: int = 1000, seed: int = 20_240_101) -> Alpha:
    """Alpha of ratings[rater][item], None for no answer; items with fewer than two answers are dropped.

    `nominal` for labels, `ordinal` for scores, `interval` only where steps are equal by design; the latter
    two want numbers. `draws=0` leaves the interval out.
    """
    values, counts = _value_counts(ratings, level)
    if not len(counts):
        return Alpha(None, 0, reason=NO_DATA)
    value = _alpha(counts, np.ones(len(counts)), values, level)
    if value is None:
        return Alpha(None, len(counts), reason=ONE_LABEL)
    if draws == 0:
        return Alpha(value, len(counts))
    # Items alike are drawn together, which is the same chance: there are few kinds, however many items.
    kinds, items = np.unique(counts, axis=0, return_counts=True)
    times = np.random.default_rng(seed).multinomial(len(counts), items / len(counts), size=draws)
    found = [a for row in times if (a := _alpha(kinds, row, values, level)) is not None]
    low, high = np.quantile(found, [0.025, 0.975]) if found else (None, None)
    return Alpha(
        value, len(counts), None if low is None else float(low), None if high is None else float(high)
    )


def _value_counts(ratings: Ratings, level: Level) -> tuple[Floats, Floats]:
    """The scale, and how often each of its values was given to each item that has two answers or more."""
    given = [[answer for answer in column if answer is not None] for column in zip(*ratings, strict=True)]
    given = [answers for answers in given if len(answers) >= 2]
    used = {answer for answers in given for answer in answers}
    scale = sorted(used, key=str) if level == "nominal" else sorted(used, key=float)
    places = {answer: place for place, answer in enumerate(scale)}
    counts = np.zeros((len(given), len(scale)))
    for row, answers in zip(counts, given, strict=True):
        for answer in answers:
            row[places[answer]] += 1
    values = np.arange(len(scale)) if level == "nominal" else np.asarray([float(v) for v in scale])
    return values.astype(np.float64), counts


def _alpha(counts: Floats, times: ArrayLike, values: Floats, level: Level) -> float | None:
    """Alpha when item i is seen times[i] times, from the coincidences of values within items."""
    share = np.asarray(times, np.float64) / (counts.sum(axis=1) - 1)
    coincidences = counts.T @ (counts * share[:, None]) - np.diag(share @ counts)
    margins = coincidences.sum(axis=1)
    distance = _distance(margins, values, level)
    expected = float(margins @ distance @ margins)
    if expected == 0:
        return None
    return 1 - float(np.sum(coincidences * distance)) * (float(margins.sum()) - 1) / expected


def _distance(margins: Floats, values: Floats, level: Level) -> Floats:
    """Squared distance of two values; ordinal counts the answers that lie between them."""
    if level == "nominal":
        return 1 - np.eye(len(values))
    line = values if level == "interval" else np.cumsum(margins) - margins / 2
    return np.asarray((line[:, None] - line[None, :]) ** 2, np.float64)
