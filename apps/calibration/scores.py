"""How far off the levels of a score are: one step off counts for less than all of them (recalibration.md 2.3, 2.4).

The loss of an answer is its distance from people's as a share of the longest there is, 1 where people said that no
level fits. Its bound comes from the betting test, which stays valid however often one looks, so nothing is spent by
reading it; it says nothing of any other limit than the one in force.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

import numpy as np
from numpy.typing import NDArray

from apps.calibration.asked_about import Spoken, spoken_of
from apps.calibration.certs import settings_of
from apps.calibration.counting.judged import Judged
from apps.policies.rules import to_rules
from apps.policies.selectors import active_policy
from apps.routing.policy import audit_rate
from apps.routing.types import Autonomy, Rules, ScoreHold
from apps.stats.betting import Bets
from apps.stats.intervals import Floats
from apps.stats.rates import Rate
from apps.stats.sampling import hajek, weighted_rate
from apps.workflows.models import Question, Workflow
from apps.workflows.selectors import current_question_set


@dataclass(frozen=True, slots=True)
class OffBy:
    """`share` of answers that are `steps` levels off; `steps` None: people said that no level fits."""

    steps: int | None
    share: Rate


@dataclass(frozen=True, slots=True)
class ScoreReading:
    """Of the items a score's hold lets pass, which went on by themselves: from blind checks, weighted.

    `loss` is the mean, 0..1; `bound` its upper limit at `confidence`, in which each of the `late` checks that nobody
    answered counts as 1. `bound_levels` is it in levels. Without a check `loss` is None and `bound` 1.
    """

    question: Question
    model: str
    min_share: float
    checks: int
    late: int
    loss: float | None
    bound: float
    confidence: float
    off_by: tuple[OffBy, ...]

    @property
    def levels(self) -> int:
        return len(self.question.option_ids)

    @property
    def loss_levels(self) -> float | None:
        return None if self.loss is None else self.loss * (self.levels - 1)

    @property
    def bound_levels(self) -> float:
        return self.bound * (self.levels - 1)


def read_scores(*, workflow: Workflow, now: datetime) -> list[ScoreReading]:
    """Of every score question that the policy in force has a hold on: others are asked of nobody."""
    policy = active_policy(workflow)
    if policy is None:
        return []
    question_set = current_question_set(workflow)
    questions = {each.key: each for each in question_set.questions.all()}
    rules = to_rules(policy.rules, question_set)
    confidence = settings_of(workflow).confidence
    return [
        read_score(
            questions[hold.question],
            hold,
            spoken_of(workflow=workflow, question=questions[hold.question], now=now),
            rules,
            confidence,
        )
        for hold in rules.holds
        if isinstance(hold, ScoreHold) and hold.question in questions
    ]


def graded_losses(found: Judged, levels: int) -> Floats:
    """|predicted - true| / (levels - 1) of each item; 1 where the truth is no level."""
    distance = np.abs(found.predicted - found.truth) / max(1, levels - 1)
    return np.asarray(np.where(found.truth >= levels, 1.0, distance), np.float64)


def largest_weight(rules: Rules, pi: Sequence[float]) -> float:
    """1 over the smallest chance of a check that is or was in force."""
    steps = (audit_rate(rules, step) for step in Autonomy)
    rates = [each for each in steps if each is not None]
    return 1 / min([*rates, *pi])


def read_score(
    question: Question, hold: ScoreHold, spoken: Spoken, rules: Rules, confidence: float
) -> ScoreReading:
    found, levels = spoken.found, len(question.option_ids)
    passed = found.automatic & (found.confidence >= hold.min_share)
    losses, weights = graded_losses(found, levels)[passed], found.weights[passed]
    w_max = largest_weight(rules, found.pi[passed].tolist())
    late = spoken.late
    bets = Bets(np.append(weights, np.full(late, w_max)), np.append(losses, np.ones(late)), w_max)
    return ScoreReading(
        question=question,
        model=spoken.model,
        min_share=hold.min_share,
        checks=len(losses),
        late=late,
        loss=hajek(weights, losses),
        bound=bets.upper_bound(round(1 - confidence, 12)),
        confidence=confidence,
        off_by=tuple(_off_by(losses, weights, levels, found.truth[passed] >= levels)),
    )


def _off_by(losses: Floats, weights: Floats, levels: int, is_none: NDArray[np.bool_]) -> list[OffBy]:
    if not len(losses):
        return []
    steps = np.rint(losses * (levels - 1)).astype(int)
    found = [OffBy(step, weighted_rate(weights, (steps == step) & ~is_none)) for step in range(levels)]
    return [*found, OffBy(None, weighted_rate(weights, is_none))] if is_none.any() else found
