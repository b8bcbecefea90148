"""What acting on a label is expected to cost, and labels too costly to miss (recalibration.md section 3)."""

from __future__ import annotations

import math

from apps.routing.maps import map_answer
from apps.routing.types import JSON, Gate, Numbers, QuestionAnswer, Rules, TemperatureMap

DECIMALS = 12
"""Sums and differences are rounded to this: the noise of floats decides nothing, and order is kept."""


def cost_of(rules: Rules, *, predicted: str, true: str) -> float:
    """The cost of acting on `predicted` when `true` is right, in the unit of `review_cost`."""
    row = rules.costs.get(predicted, {})
    right = float(row.get(predicted, 0.0))
    if true == predicted:
        return right
    # An error nobody priced costs 1, but never less than being right does.
    return float(row.get(true, max(1.0, right)))


def expected_cost(rules: Rules, label: str, answer: QuestionAnswer) -> float:
    """EC_L = Σ_j p(j) · cost(L, j)."""
    costs = (p * cost_of(rules, predicted=label, true=true) for true, p in answer.probabilities)
    return round(math.fsum(costs), DECIMALS)


def cost_gate(rules: Rules, label: str, answer: QuestionAnswer, by: TemperatureMap | None = None) -> Gate:
    """Closed when acting is expected to cost more than a review; at exactly its cost the item passes. `by` is the
    map its probabilities are mended by first; the gate's numbers say so."""
    expected = expected_cost(rules, label, map_answer(answer, by))
    numbers: dict[str, JSON] = {"label": label, "expected_cost": expected, "review_cost": rules.review_cost}
    if by is not None:
        numbers["temperature"] = by.t
    return Gate("cost", expected <= rules.review_cost, numbers)


def critical_gate(rules: Rules, label: str, answer: QuestionAnswer) -> Gate:
    """Closed when a critical label reaches its floor. On top it always counts as reached."""
    found = [(name, p, rules.critical[name]) for name, p in answer.probabilities if name in rules.critical]
    if not found:
        return Gate("critical", True, {})
    reached = [each for each in found if each[0] == label or each[1] >= each[2]]
    critical, p, floor = reached[0] if reached else max(found, key=lambda each: each[1] - each[2])
    numbers: Numbers = {"critical": critical, "p": p, "floor": floor, "is_top": critical == label}
    return Gate("critical", not reached, numbers)
