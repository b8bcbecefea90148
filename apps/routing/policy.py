"""The policy: one decision, the item's facts and the rules in, one route out. Every gate is evaluated.

It acts on the most probable label only; nothing here replaces that label, gates only hold it back.
"""

from __future__ import annotations

from apps.routing.cost import DECIMALS, cost_gate, critical_gate
from apps.routing.overrides import override_gates
from apps.routing.types import (
    AUDIT_FLOOR,
    UNKNOWN_LABEL,
    Autonomy,
    ChoiceHold,
    DecisionView,
    Draw,
    Gate,
    Hold,
    ItemFacts,
    NoulHold,
    Numbers,
    Outcome,
    QuestionAnswer,
    Reason,
    Route,
    RouteKind,
    Rules,
    ScoreHold,
    TemperatureMap,
)

_REASON_OF_GATE = {
    "margin": "close_call",
    "cost": "high_cost",
    "threshold": "low_confidence",
    "autonomy": "not_automatic",
}


def route(decision: DecisionView, facts: ItemFacts, rules: Rules, draw: Draw) -> Route:
    """Where the item goes: same arguments, same route.

    A person is asked the routing question when one of its own gates is closed or the item is drawn for
    audit, and each question whose own hold is closed; a check asks every question that could have held, as what a
    hold lets through is known from checks alone. An item that only such a hold keeps back is not asked the routing
    question: its answer stands, it merely waits. A hold on a question that this decision has no answer for asks
    the routing question instead.
    """
    answer = decision.answers[decision.routing_question]
    label, p = answer.top
    autonomy = rules.labels.get(label, UNKNOWN_LABEL).autonomy
    by = rules.maps.get(decision.routing_question)
    own = [*override_gates(rules.overrides, decision, facts), *_own_gates(rules, answer, by)]
    holds = [(hold, _hold_gate(hold, decision.answers.get(hold.question))) for hold in rules.holds]
    gates = [*own, *(gate for _, gate in holds)]
    outcome = Outcome.AUTOMATIC if all(gate.is_open for gate in gates) else Outcome.REVIEW
    rate = audit_rate(rules, autonomy)
    drawn = outcome is Outcome.AUTOMATIC and rate is not None and draw.audit < rate
    gates.append(Gate("audit", not drawn, {"rate": rate, "draw": draw.audit}))
    return Route(
        outcome=outcome,
        label=label,
        p=p,
        gates=tuple(gates),
        reasons=tuple(_to_reason(gate) for gate in gates if not gate.is_open),
        pi=rate if outcome is Outcome.AUTOMATIC and rate is not None else 1.0,
        drawn=drawn,
        blind=drawn
        or autonomy is Autonomy.SHADOW
        or (outcome is Outcome.REVIEW and draw.blind < rules.blind_share),
        asked=_asked(decision, own, holds, drawn=drawn),
        open_but_threshold=label in rules.labels
        and all(gate.is_open for gate in gates if gate.name not in ("threshold", "autonomy", "audit")),
        kind=_kind(outcome, autonomy, drawn=drawn),
    )


def model_error_route(code: str, message: str, asked: tuple[str, ...]) -> Route:
    """The route of an item the model cannot answer: people answer `asked`, with no suggestion to hide."""
    return Route(
        outcome=Outcome.REVIEW,
        label=None,
        p=None,
        gates=(),
        reasons=(Reason("model_error", {"code": code, "message": message}),),
        pi=1.0,
        drawn=False,
        blind=False,
        asked=asked,
        open_but_threshold=False,
        kind=RouteKind.MODEL_ERROR,
    )


def audit_rate(rules: Rules, autonomy: Autonomy) -> float | None:
    """The share of automatic items drawn for review at this step; None where nothing is automatic."""
    if not autonomy.may_act:
        return None
    rate = rules.audit_rate if autonomy is Autonomy.AUDITED else rules.automatic_audit_rate
    return max(AUDIT_FLOOR, rate)


def _own_gates(rules: Rules, answer: QuestionAnswer, by: TemperatureMap | None) -> list[Gate]:
    label, p = answer.top
    rule = rules.labels.get(label, UNKNOWN_LABEL)
    return [
        Gate("out_of_scope", label != rules.none_of_these, {"label": label, "p": p}),
        _margin_gate(rules, answer),
        cost_gate(rules, label, answer, by),
        critical_gate(rules, label, answer),
        Gate("threshold", p >= rule.threshold, {"label": label, "p": p, "threshold": rule.threshold}),
        Gate("autonomy", rule.autonomy.may_act, {"label": label, "autonomy": rule.autonomy.value}),
    ]


def _margin_gate(rules: Rules, answer: QuestionAnswer) -> Gate:
    """Closed when the top two are closer than the margin; a tie always is."""
    label, p = answer.top
    runner_up, p_runner_up = answer.runner_up or (None, 0.0)
    gap = round(p - p_runner_up, DECIMALS)
    numbers: Numbers = {
        "label": label,
        "p": p,
        "runner_up": runner_up,
        "p_runner_up": p_runner_up,
        "gap": gap,
        "margin": rules.margin,
    }
    return Gate("margin", gap > 0 and gap >= rules.margin, numbers)


def _hold_gate(hold: Hold, answer: QuestionAnswer | None) -> Gate:
    """Closed as well when the hold does not fit the question the model was asked."""
    name = f"hold:{hold.question}"
    match hold, answer:
        case NoulHold(low=low, high=high), QuestionAnswer(kind="noul"):
            p = answer.p("true")
            fits = p is not None and not low < p < high
            return Gate(name, fits, {"kind": "noul", "p": p, "low": low, "high": high})
        case ChoiceHold(threshold=least), QuestionAnswer(kind="choice"):
            return _share_gate(name, answer, least)
        case ScoreHold(min_share=least), QuestionAnswer(kind="score"):
            return _share_gate(name, answer, least)
    return Gate(name, False, {"kind": None, "problem": "no_answer"})


def _share_gate(name: str, answer: QuestionAnswer, least: float) -> Gate:
    option, p = answer.top
    return Gate(name, p >= least, {"kind": answer.kind, "option": option, "p": p, "at_least": least})


def _to_reason(gate: Gate) -> Reason:
    if gate.name.startswith("hold:"):
        return Reason(f"question_held:{gate.name.removeprefix('hold:')}", gate.numbers)
    return Reason(_REASON_OF_GATE.get(gate.name, gate.name), gate.numbers)


def _asked(
    decision: DecisionView, own: list[Gate], holds: list[tuple[Hold, Gate]], *, drawn: bool
) -> tuple[str, ...]:
    held = [hold.question for hold, gate in holds if drawn or not gate.is_open]
    answerable = [question for question in held if question in decision.answers]
    routing = decision.routing_question
    if drawn or len(answerable) < len(held) or not all(gate.is_open for gate in own):
        return (routing, *(question for question in answerable if question != routing))
    return tuple(answerable)


def _kind(outcome: Outcome, autonomy: Autonomy, *, drawn: bool) -> RouteKind:
    if drawn:
        return RouteKind.AUDIT
    if outcome is Outcome.AUTOMATIC:
        return RouteKind.AUTOMATIC
    return RouteKind.SHADOW if autonomy is Autonomy.SHADOW else RouteKind.REVIEW
