"""`policy.route` over columns of many decisions at once: the same rules, the same answer for every item.

What the two compute differently is only how fast. Sums and differences of floats are added up by numpy first; where
one comes so near its limit that the order of adding could decide, it is computed again as `route` does it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from apps.routing.cost import DECIMALS, cost_of, expected_cost
from apps.routing.maps import CLIP, map_answer
from apps.routing.overrides import override_gates
from apps.routing.policy import audit_rate
from apps.routing.types import (
    UNKNOWN_LABEL,
    AnswerKind,
    AnswerOverride,
    ChoiceHold,
    DecisionView,
    Hold,
    ItemFacts,
    NoulHold,
    Override,
    QuestionAnswer,
    Rules,
    TemperatureMap,
)

Floats: TypeAlias = NDArray[np.float64]
Bools: TypeAlias = NDArray[np.bool_]
Indexes: TypeAlias = NDArray[np.intp]

# Far above the noise of adding 255 floats, relative to what is added; far below what anybody can mean.
_NEAR = 1e-9


@dataclass(frozen=True)
class Answers:
    """One question's answers to many items; `p` has a row an item and a column an option, in declared order."""

    kind: AnswerKind
    options: tuple[str, ...]
    p: Floats

    def __post_init__(self) -> None:
        if self.p.ndim != 2 or self.p.shape[1] != len(self.options) or not self.options:
            raise ValueError("p: must have a column for each option")

    @cached_property
    def top(self) -> Indexes:
        """The most probable option of each item; of equals the one declared first."""
        return np.asarray(self.p.argmax(axis=1), np.intp)

    @cached_property
    def p_top(self) -> Floats:
        return np.asarray(self.p.max(axis=1), np.float64)

    @cached_property
    def p_runner_up(self) -> Floats:
        """0 where there is but one option."""
        if len(self.options) == 1:
            return np.zeros(len(self.p))
        return np.asarray(np.partition(self.p, -2, axis=1)[:, -2], np.float64)

    def column(self, option: str | None) -> Floats | None:
        return self.p[:, self.options.index(option)] if option in self.options else None

    def one(self, row: int) -> QuestionAnswer:
        return QuestionAnswer(self.kind, tuple(zip(self.options, self.p[row].tolist(), strict=True)))


@dataclass(frozen=True, slots=True)
class BulkRoutes:
    """What `Route` says of each item, without the draws: `label` is the place among the routing question's options,
    `rate` the chance of an audit, 0 where nothing is automatic."""

    label: Indexes
    p: Floats
    automatic: Bools
    rate: Floats
    open_but_threshold: Bools


def route_all(
    routing_question: str, answers: Mapping[str, Answers], held: Mapping[str, Bools], rules: Rules
) -> BulkRoutes:
    """Where each item goes. `answers` by question; `held` says for every override on text or metadata, by its id,
    which items it holds (`held_by` finds out)."""
    own = answers[routing_question]
    is_open = np.ones(len(own.p), np.bool_)
    for override in rules.overrides:
        if isinstance(override, AnswerOverride):
            is_open &= ~_answer_holds(override, answers.get(override.question), routing_question, len(own.p))
        else:
            is_open &= ~held[override.id]
    by = rules.maps.get(routing_question)
    is_open &= _margin_open(rules, own) & _cost_open(rules, own, by) & ~_critical(rules, own)
    if rules.none_of_these in own.options:
        is_open &= own.top != own.options.index(rules.none_of_these)
    for hold in rules.holds:
        is_open &= _hold_open(hold, answers.get(hold.question), len(own.p))
    each = [rules.labels.get(label, UNKNOWN_LABEL) for label in own.options]
    thresholds = np.array([rule.threshold for rule in each])
    rates = np.array([audit_rate(rules, rule.autonomy) or 0.0 for rule in each])
    acts = np.array([rule.autonomy.may_act for rule in each], np.bool_)
    is_named = np.array([label in rules.labels for label in own.options], np.bool_)
    automatic = is_open & acts[own.top] & (own.p_top >= thresholds[own.top])
    return BulkRoutes(
        label=own.top,
        p=own.p_top,
        automatic=automatic,
        rate=np.where(automatic, rates[own.top], 0.0),
        open_but_threshold=is_open & is_named[own.top],
    )


_ANY_ANSWER = DecisionView("any", {"any": QuestionAnswer("choice", (("any", 1.0),))})


def held_by(overrides: Sequence[Override], facts: ItemFacts) -> list[bool]:
    """Which of these rules on text and metadata hold the item; what the model answered does not enter."""
    if any(isinstance(override, AnswerOverride) for override in overrides):
        raise ValueError("overrides: must be on text or metadata")
    return [not gate.is_open for gate in override_gates(overrides, _ANY_ANSWER, facts)]


def expected_costs(rules: Rules, own: Answers, by: TemperatureMap | None) -> Floats:
    """What acting on each item's most probable label is expected to cost, but for the noise of adding; `by` is the
    routing question's map."""
    costs = np.array([[cost_of(rules, predicted=a, true=b) for b in own.options] for a in own.options])
    p = own.p if by is None else _mapped(own.p, by.t)
    return np.asarray(np.einsum("ij,ij->i", p, costs[own.top]), np.float64)


def _mapped(p: Floats, t: float) -> Floats:
    logs = np.log(np.maximum(p, CLIP)) / t
    parts = np.exp(logs - logs.max(axis=1, keepdims=True))
    return np.asarray(parts / parts.sum(axis=1, keepdims=True), np.float64)


def _cost_open(rules: Rules, own: Answers, by: TemperatureMap | None) -> Bools:
    def exact(row: int) -> bool:
        answer = map_answer(own.one(row), by)
        return expected_cost(rules, own.options[own.top[row]], answer) <= rules.review_cost

    expected = expected_costs(rules, own, by)
    dearest = max((cost for row in rules.costs.values() for cost in row.values()), default=1.0)
    near = _NEAR * max(1.0, dearest, rules.review_cost)
    is_near = np.abs(expected - rules.review_cost) <= near
    return _settled(expected < rules.review_cost, is_near, own.p, exact)


def _margin_open(rules: Rules, own: Answers) -> Bools:
    def exact(row: int) -> bool:
        gap = round(float(own.p_top[row]) - float(own.p_runner_up[row]), DECIMALS)
        return gap > 0 and gap >= rules.margin

    gap = own.p_top - own.p_runner_up
    is_near = (np.abs(gap - rules.margin) <= _NEAR) | (gap <= _NEAR)
    return _settled(gap > rules.margin, is_near, np.stack([own.p_top, own.p_runner_up], axis=1), exact)


def _settled(clear: Bools, is_near: Bools, columns: Floats, exact: Callable[[int], bool]) -> Bools:
    """`clear`, but by `exact` where it is near; once for rows that are the same."""
    near = np.flatnonzero(is_near)
    if not near.size:
        return clear
    _, first, which = np.unique(columns[near], axis=0, return_index=True, return_inverse=True)
    found = np.array([exact(int(near[at])) for at in first], np.bool_)
    settled = clear.copy()
    settled[near] = found[which.reshape(-1)]
    return settled


def _critical(rules: Rules, own: Answers) -> Bools:
    reached = np.zeros(len(own.p), np.bool_)
    for label, floor in rules.critical.items():
        p = own.column(label)
        if p is not None:
            reached |= (p >= floor) | (own.top == own.options.index(label))
    return reached


def _hold_open(hold: Hold, answers: Answers | None, items: int) -> Bools:
    """Closed as well when the hold does not fit the question the model was asked."""
    nobody = np.zeros(items, np.bool_)
    if answers is None:
        return nobody
    if isinstance(hold, NoulHold):
        p = answers.column("true") if answers.kind == "noul" else None
        return nobody if p is None else ~((hold.low < p) & (p < hold.high))
    kind, least = ("choice", hold.threshold) if isinstance(hold, ChoiceHold) else ("score", hold.min_share)
    return answers.p_top >= least if answers.kind == kind else nobody


def _answer_holds(
    override: AnswerOverride, answers: Answers | None, routing_question: str, items: int
) -> Bools:
    everybody = np.ones(items, np.bool_)
    if answers is None:
        return everybody
    p = answers.column("true" if answers.kind == "noul" else override.option)
    if p is None:
        return everybody
    at = answers.options.index("true" if answers.kind == "noul" else str(override.option))
    if answers.kind == "score":
        return _levels_reach(answers, at, override.at_least)
    holds = p >= override.at_least
    if override.question == routing_question:
        holds = holds | (answers.top == at)
    return np.asarray(holds, np.bool_)


def _levels_reach(answers: Answers, level: int, at_least: float) -> Bools:
    def exact(row: int) -> bool:
        return round(math.fsum(answers.p[row, level:].tolist()), DECIMALS) >= at_least

    share = answers.p[:, level:].sum(axis=1)
    return _settled(share >= at_least, np.abs(share - at_least) <= _NEAR, answers.p, exact)
