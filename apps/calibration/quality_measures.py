"""What answered items say of probabilities: each figure from the columns of `judged`, weighted by 1 / pi."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from apps.calibration.counting.judged import Judged
from apps.routing.cost import cost_of
from apps.routing.types import Rules
from apps.stats.confusion import Confusion, confusion
from apps.stats.intervals import Floats
from apps.stats.probability import (
    MIN_LABELS,
    Reliability,
    brier,
    log_loss,
    reliability,
    risk_coverage,
)
from apps.stats.rates import NO_DATA, Rate, rate
from apps.workflows.models import Question

MOST_POINTS = 120
"""Of a curve: more than a screen can show apart."""
TOO_FEW = f"fewer than {MIN_LABELS} answered items"


@dataclass(frozen=True, slots=True)
class Score:
    """A number that is no share, from `items` answered items; `value` None: `reason` says why."""

    value: float | None
    items: int
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class CurvePoint:
    """What letting every item of `confidence` and more act would mean: the share of all items that is, and the
    error among them. Items of equal confidence are one point."""

    confidence: float
    coverage: float
    risk: Rate


@dataclass(frozen=True, slots=True)
class Probabilities:
    """Section 1.3. `clipped` answers had a probability of under 1e-15. `excess` is how far `aurc` is above the best
    possible ordering of the same answers. `curve` runs from the most confident items to all of them."""

    reliability: Reliability
    ece: Score
    brier: Score
    log_loss: Score
    clipped: int
    curve: tuple[CurvePoint, ...]
    aurc: Score
    excess: Score


@dataclass(frozen=True, slots=True)
class ConfusionCell:
    """`weighted` items stand behind the `raw` answers; `cost` is of one such item, in the policy's unit."""

    predicted: str
    true: str
    weighted: float
    raw: int
    cost: float


@dataclass(frozen=True, slots=True)
class Confused:
    """Who was taken for whom. `names` by label as in the data, "" for "none of these" where no option means that.

    `cost_per_item` is over all items by the cost table given, None without answers.
    """

    table: Confusion
    names: Mapping[str, str]
    costs: Floats
    cost_per_item: float | None

    @property
    def cells(self) -> list[ConfusionCell]:
        """Those with an answer: mistakes first, the dearest on top, then what was right."""
        table = self.table
        found = [
            ConfusionCell(
                predicted=table.labels[row],
                true=table.labels[column],
                weighted=float(table.weighted[row, column]),
                raw=int(table.raw[row, column]),
                cost=float(self.costs[row, column]),
            )
            for row, column in zip(*(places.tolist() for places in np.nonzero(table.raw)), strict=True)
        ]
        return sorted(found, key=lambda c: (c.predicted == c.true, -c.cost * c.weighted, -c.weighted))


def measure_probabilities(found: Judged) -> Probabilities:
    items, weights, right = len(found), found.weights, ~found.wrong
    bins = reliability(found.confidence, right, weights)
    loss = log_loss(found.p, found.truth, weights)
    risk = risk_coverage(found.confidence, found.wrong, weights)
    nothing = None if items else NO_DATA
    return Probabilities(
        reliability=bins,
        ece=Score(bins.ece, items, nothing or (TOO_FEW if bins.ece is None else None)),
        brier=Score(brier(found.p, found.truth, weights), items, nothing),
        log_loss=Score(loss.value, items, nothing),
        clipped=loss.clipped,
        curve=_curve(found),
        aurc=Score(risk.aurc, items, nothing),
        excess=Score(risk.excess, items, nothing),
    )


def _curve(found: Judged) -> tuple[CurvePoint, ...]:
    """Points at the ends of ties only, thinned evenly, the last of which covers everything."""
    if not len(found):
        return ()
    order = np.argsort(-found.confidence, kind="stable")
    confidence, weights = found.confidence[order], found.weights[order]
    total, squared = np.cumsum(weights), np.cumsum(weights**2)
    wrong = np.cumsum(weights * found.wrong[order])
    ends = np.flatnonzero(np.append(confidence[1:] < confidence[:-1], True))
    picked = ends[np.unique(np.linspace(0, len(ends) - 1, min(len(ends), MOST_POINTS)).round().astype(int))]
    return tuple(
        CurvePoint(
            float(confidence[at]),
            float(total[at] / total[-1]),
            _weighted(float(wrong[at]), float(total[at]), float(squared[at])),
        )
        for at in picked.tolist()
    )


def _weighted(wrong: float, total: float, squared: float) -> Rate:
    """`stats.sampling.weighted_rate` from sums."""
    n_eff = total * total / squared
    return rate(min(wrong / total, 1.0) * n_eff, n_eff)


def confused(found: Judged, question: Question, rules: Rules | None) -> Confused:
    """`rules` are None where they say nothing of the question: then a mistake costs 1."""
    options = found.options
    labels = [options[place] for place in found.predicted.tolist()]
    table = confusion(labels, [options[place] for place in found.truth.tolist()], options, found.weights)
    costs = np.asarray([[_cost(rules, row, column) for column in options] for row in options], np.float64)
    names = {**question.option_names, "": "None of these"}
    return Confused(table, {option: names[option] for option in options}, costs, table.mean_cost(costs))


def _cost(rules: Rules | None, predicted: str, true: str) -> float:
    if rules is None:
        return float(predicted != true)
    return cost_of(rules, predicted=predicted, true=true)
