"""May this label act by itself, and from which threshold? The answer, with all it rests on."""

from __future__ import annotations

import datetime as dt
import math
from dataclasses import dataclass
from typing import Literal

import numpy as np

from apps.stats.intervals import MAX_AUDITS, check_share, upper_bounds
from apps.stats.thresholds import (
    GRID,
    Counts,
    fixed_sequence,
    split_delta,
    start_index,
    start_mass,
    two_stratum_bounds,
)

# Stored with a certificate, so that it can be recomputed by the formula that made it.
FORMULA_VERSION = "two-stratum-exact/1"

# With a larger share of draws unanswered, who answered may depend on the item.
MAX_UNANSWERED_SHARE = 0.05

Refusal = Literal[
    "too_few_draws", "too_many_unanswered", "not_covered", "not_enough_checks", "target_not_supported"
]


@dataclass(frozen=True, slots=True)
class Step:
    """One grid value that was tested: its counts and the upper bound of the error at or above it."""

    threshold: float
    bound: float
    reviewed_items: int
    reviewed_labelled: int
    reviewed_wrong: int
    audited_items: int
    audited_labelled: int
    audited_wrong: int
    uncovered_items: int

    @property
    def items(self) -> int:
        return self.reviewed_items + self.audited_items + self.uncovered_items

    @property
    def labelled(self) -> int:
        return self.reviewed_labelled + self.audited_labelled

    @property
    def wrong(self) -> int:
        return self.reviewed_wrong + self.audited_wrong

    @property
    def error(self) -> float | None:
        """Point estimate, strata weighted by their items, unlabelled strata left out; never decides alone."""
        strata = (
            (self.reviewed_items, self.reviewed_labelled, self.reviewed_wrong),
            (self.audited_items, self.audited_labelled, self.audited_wrong),
        )
        seen = [(items, wrong / labelled) for items, labelled, wrong in strata if labelled]
        total = sum(items for items, _ in seen)
        return sum(items * share for items, share in seen) / total if total else None


@dataclass(frozen=True, slots=True)
class LabelCertificate:
    """Outcome of the walk for one label.

    `walked` runs from `start` down to the first failure, that one included. Every grid value from `start` to
    `last` is certified. When none is, `reason` says why and `labelled`, `wrong`, `needed` and `more` count
    answers at the start (at 0.50 if there is no start). `needed` is the least that could do, without one more
    mistake; None when the answers speak against the target and more of them would hardly help.
    """

    alpha: float
    delta: float
    start: float | None
    last: float | None
    walked: tuple[Step, ...]
    reason: Refusal | None
    labelled: int
    wrong: int
    needed: int | None
    more: int | None
    drawn: int = 0
    unanswered: int = 0
    formula: str = FORMULA_VERSION

    @property
    def certified(self) -> tuple[float, ...]:
        """Every certified threshold, from the strictest down."""
        return tuple(step.threshold for step in self.walked if self.last and step.threshold >= self.last)

    @property
    def last_step(self) -> Step | None:
        return next((step for step in self.walked if step.threshold == self.last), None)

    @property
    def target_at_start(self) -> float | None:
        """The error target at which the start would have passed: what can be offered instead."""
        return self.walked[0].bound if self.walked else None


def certify(
    counts: Counts, *, alpha: float, delta: float, drawn: int = 0, unanswered: int = 0
) -> LabelCertificate:
    """Walk down from the start while the bound stays within alpha.

    `delta` is what this attempt may spend. `drawn` and `unanswered` count audits of the window: above 5%
    unanswered nothing is certified. Unanswered ones must already be in `counts` as wrong.
    """
    check_share("alpha", alpha)
    if not 0 <= unanswered <= drawn:
        raise ValueError(f"{unanswered} of {drawn} draws cannot be unanswered")
    start = start_index(counts.pi_sum, alpha, delta)
    if start is None:
        return _without_start(counts, alpha, delta, drawn, unanswered)
    bounds = two_stratum_bounds(counts, delta)
    downwards = range(start, -1, -1)
    found = fixed_sequence([bool(bounds[index] <= alpha) for index in downwards])
    tested = downwards[: 1 if found is None else found + 2]
    walked = tuple(_step(counts, float(bounds[index]), index) for index in tested)
    reason: Refusal | None = None
    needed: int | None = None
    if drawn and unanswered / drawn > MAX_UNANSWERED_SHARE:
        reason = "too_many_unanswered"
    elif found is None:
        reason, needed = _refusal(walked[0], alpha, delta)
    return LabelCertificate(
        alpha=alpha,
        delta=delta,
        start=walked[0].threshold,
        last=None if reason or found is None else walked[found].threshold,
        walked=walked,
        reason=reason,
        labelled=walked[0].labelled,
        wrong=walked[0].wrong,
        needed=needed,
        more=None if needed is None else needed - walked[0].labelled,
        drawn=drawn,
        unanswered=unanswered,
    )


def _without_start(
    counts: Counts, alpha: float, delta: float, drawn: int, unanswered: int
) -> LabelCertificate:
    labelled, wrong = int(counts.labelled[0]), int(counts.wrong[0])
    more = math.ceil(start_mass(alpha, delta) - float(counts.pi_sum[0]))
    return LabelCertificate(
        alpha=alpha,
        delta=delta,
        start=None,
        last=None,
        walked=(),
        reason="too_few_draws",
        labelled=labelled,
        wrong=wrong,
        needed=labelled + more,
        more=more,
        drawn=drawn,
        unanswered=unanswered,
    )


def _step(counts: Counts, bound: float, index: int) -> Step:
    reviewed, audited = counts.reviewed, counts.audited
    return Step(
        threshold=GRID[index],
        bound=bound,
        reviewed_items=int(reviewed.items[index]),
        reviewed_labelled=int(reviewed.labelled[index]),
        reviewed_wrong=int(reviewed.wrong[index]),
        audited_items=int(audited.items[index]),
        audited_labelled=int(audited.labelled[index]),
        audited_wrong=int(audited.wrong[index]),
        uncovered_items=int(counts.uncovered[index]),
    )


def _refusal(first: Step, alpha: float, delta: float) -> tuple[Refusal, int | None]:
    """Why the start failed, and how many answers could mend it."""
    if first.uncovered_items > alpha * first.items:
        return "not_covered", None
    if first.error is not None and first.error >= alpha:
        return "target_not_supported", None
    needed = _needed(first, alpha, delta)
    return ("target_not_supported", None) if needed is None else ("not_enough_checks", needed)


def _needed(step: Step, alpha: float, delta: float) -> int | None:
    """Fewest answers in all that pass if no further one is wrong, shared over the strata as they are now.

    With one stratum this is the audit planner's number. None when even MAX_AUDITS would not do.
    """
    items = np.array([step.reviewed_items, step.audited_items])
    labelled = np.array([step.reviewed_labelled, step.audited_labelled])
    wrong = np.array([step.reviewed_wrong, step.audited_wrong])
    # A stratum without a single answer keeps a bound of 1, so the plan gives it a part as well.
    parts = np.where(items > 0, np.maximum(labelled, 1), 0)
    risk = np.array(split_delta(items[0], items[1], delta))

    def passes(total: int) -> bool:
        bounds = upper_bounds(wrong, np.maximum(parts / parts.sum() * total, wrong), risk)
        return bool(items @ bounds + step.uncovered_items <= alpha * step.items)

    fails, enough = step.labelled, MAX_AUDITS
    if not passes(enough):
        return None
    while enough - fails > 1:
        middle = (fails + enough) // 2
        fails, enough = (fails, middle) if passes(middle) else (middle, enough)
    return enough


def certificate_sentence(
    certificate: LabelCertificate, *, start_on: dt.date, end_on: dt.date, checks_per_week: float | None = None
) -> str:
    """What the certificate says, in words for the screen; `checks_per_week` adds how long it may take."""
    step = certificate.last_step
    if step is not None:
        return (
            f"With {_percent(1 - certificate.delta)} confidence at most {_percent(certificate.alpha)} of the "
            "items accepted by itself under this rule are ones your reviewers would have decided otherwise. "
            f"Based on {step.audited_labelled:,} blind checks and {step.reviewed_labelled:,} reviews "
            f"from {start_on.isoformat()} to {end_on.isoformat()}."
        )
    if certificate.reason == "too_many_unanswered":
        return (
            f"Too many checks were left unanswered: {certificate.unanswered:,} of {certificate.drawn:,}. "
            f"At most {_percent(MAX_UNANSWERED_SHARE)} may be."
        )
    if certificate.reason == "not_covered":
        first = certificate.walked[0]
        return (
            f"{first.uncovered_items:,} of {first.items:,} items could never have been checked, "
            "which is more than the target allows."
        )
    if certificate.needed is None or certificate.more is None:
        return (
            f"The checks do not support this target: {certificate.wrong:,} wrong of {certificate.labelled:,}."
        )
    sentence = f"Not enough checks yet: {certificate.labelled:,} of about {certificate.needed:,}."
    if not checks_per_week:
        return sentence
    weeks = math.ceil(certificate.more / checks_per_week)
    return f"{sentence} At the present rate: {weeks:,} {'week' if weeks == 1 else 'weeks'}."


def _percent(share: float) -> str:
    return f"{round(100 * share, 4):g}%"
