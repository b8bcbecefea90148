"""What is said of one policy, and of two, over the items that were replayed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from apps.calibration.replay.routes import Routed, prices
from apps.routing.bulk import Bools, Floats
from apps.routing.types import Rules
from apps.stats.intervals import clopper_pearson, upper_bound
from apps.stats.rates import Rate, exact_share, unknown
from apps.stats.replay import ReplayCost, ReplayLoad, replay_cost
from apps.stats.sampling import weighted_rate

FEWEST_DAYS = 5
DELTA = 0.05
"""Of the bound on what would newly go on by itself: shown at 95 % confidence."""


@dataclass(frozen=True, slots=True)
class Span:
    """What counts a day are made of. `days` is the time replayed; `held_anyway` are items, by their day, that the
    model could not answer: people see them under any rules. `seconds` a review takes, None while nobody's time is
    known."""

    days: float
    held_anyway: Mapping[int, int]
    seconds: float | None


@dataclass(frozen=True, slots=True)
class Daily:
    """A count a day: its mean over the time replayed, and the 5th to 95th percentile of whole days; None where
    there are fewer than FEWEST_DAYS of them."""

    mean: float
    low: float | None
    high: float | None


@dataclass(frozen=True, slots=True)
class Side:
    """One policy over the items replayed. `hours` are of people a day, None while nobody's time is known.

    `error` is among the items it lets through, weighted by how they could have been seen; it says nothing of the
    share `not_covered` of them, which nobody could have been asked about. `predicted_cost` is what the model's
    probabilities make of the error cost a day.
    """

    automation: Rate
    reviews: Daily
    audits: Daily
    hours: float | None
    error: Rate
    not_covered: Rate
    cost: ReplayCost
    predicted_cost: float


@dataclass(frozen=True, slots=True)
class NewlyAutomatic:
    """Items people see under the policy in force and not under the candidate. `error` is of those that people did
    see, every one, with the exact interval; `bound` its one-sided limit at 95 %."""

    items: int
    per_week: float
    error: Rate
    bound: float


@dataclass(frozen=True, slots=True)
class NewlyReviewed:
    """The other way round. `caught`: of the checks of such items, those that found a mistake."""

    items: int
    per_week: float
    caught: Rate


def side_of(
    routed: Routed, options: Sequence[str], rules: Rules, automatic: Bools, rate: Floats, span: Span
) -> Side:
    """Of the policy that lets `automatic` through and has a check at `rate`. Prices are those of `rules`: two
    policies are compared at the same ones."""
    reviews = _daily(routed, (~automatic).astype(np.float64), span.days, span.held_anyway)
    audits = _daily(routed, rate, span.days, {})
    count = int(automatic.sum())
    load = ReplayLoad(
        days=span.days,
        automatic=count,
        reviews=len(routed) - count + sum(span.held_anyway.values()),
        audits=round(float(rate.sum())),
        review_cost=rules.review_cost,
    )
    seen = automatic & routed.answered
    covered = automatic & (routed.pi > 0)
    table, weights = prices(rules, options), 1 / routed.pi[seen]
    return Side(
        automation=load.automation,
        reviews=reviews,
        audits=audits,
        hours=None if span.seconds is None else (reviews.mean + audits.mean) * span.seconds / 3600,
        error=weighted_rate(weights, routed.wrong[seen]),
        not_covered=exact_share(count - int(covered.sum()), count),
        cost=replay_cost(
            load,
            table[routed.label[seen], routed.answer[seen]],
            weights,
            c_max=float(table.max()),
            w_max=float((1 / routed.pi[covered]).max(initial=1.0)),
        ),
        predicted_cost=float(routed.expected[automatic].sum()) / span.days,
    )


def _daily(routed: Routed, each: Floats, days: float, more: Mapping[int, int]) -> Daily:
    first, last = int(routed.day.min()), int(routed.day.max())
    by_day = np.bincount(routed.day - first, weights=each, minlength=last - first + 1)
    for day, items in more.items():
        if day <= last:
            by_day[day - first] += items
    mean = float(by_day.sum()) / days
    # The first day began before what is replayed, and the last may not be over.
    whole = by_day[1:-1]
    if len(whole) < FEWEST_DAYS:
        return Daily(mean, None, None)
    low, high = np.percentile(whole, (5, 95))
    return Daily(mean, float(low), float(high))


def newly_automatic(routed: Routed, days: float) -> NewlyAutomatic:
    new = routed.candidate & ~routed.current
    items = int(new.sum())
    seen = new & ~routed.was_automatic & routed.answered
    wrong, labelled = int((seen & routed.wrong).sum()), int(seen.sum())
    return NewlyAutomatic(
        items=items,
        per_week=7 * items / days,
        error=_exact_rate(wrong, labelled),
        bound=upper_bound(wrong, labelled, DELTA),
    )


def newly_reviewed(routed: Routed, days: float) -> NewlyReviewed:
    new = routed.current & ~routed.candidate
    items = int(new.sum())
    checked = new & routed.was_automatic & routed.answered
    return NewlyReviewed(
        items=items,
        per_week=7 * items / days,
        caught=_exact_rate(int((checked & routed.wrong).sum()), int(checked.sum())),
    )


def _exact_rate(k: int, n: int) -> Rate:
    """k of n with the Clopper-Pearson 95 % interval."""
    if n == 0:
        return unknown("nobody has answered any of them")
    low, high = clopper_pearson(k, n)
    return Rate(k / n, k, n, low, high)


def cells_of(routed: Routed) -> dict[tuple[bool, bool], int]:
    return {
        (before, after): int(((routed.current == before) & (routed.candidate == after)).sum())
        for before in (True, False)
        for after in (True, False)
    }
