"""Stored answers and gates as a person reads them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from apps.items.models import Decision, Route
from apps.routing.explain import explain, explain_accepted
from apps.routing.maps import map_probabilities

MOST_BARS = 12
"""Options beyond these are folded: a question may have 255."""


@dataclass(frozen=True, slots=True)
class OptionTold:
    """`mapped` is `p` as the policy's map mends it, None without a map."""

    id: str
    name: str
    p: float
    is_top: bool
    mapped: float | None


@dataclass(frozen=True, slots=True)
class QuestionTold:
    """Every probability; `rest` holds those after the first `MOST_BARS`."""

    key: str
    kind: str
    shown: tuple[OptionTold, ...]
    rest: tuple[OptionTold, ...]
    raw_confidence: float | None


@dataclass(frozen=True, slots=True)
class GateTold:
    name: str
    is_open: bool
    numbers: tuple[tuple[str, str], ...]


def to_questions(decision: Decision, maps: Mapping[str, Any]) -> tuple[QuestionTold, ...]:
    """In the order they were asked, which stored JSON does not keep. `maps` are a policy's."""
    questions = decision.question_set.questions.all()
    return tuple(
        _to_question(
            question.key, decision.answers[question.key], question.option_names, maps.get(question.key)
        )
        for question in questions
        if question.key in decision.answers
    )


def _to_question(
    key: str, answer: Mapping[str, Any], names: Mapping[str, str], by: Mapping[str, Any] | None
) -> QuestionTold:
    pairs = answer["probabilities"]
    mapped = {} if by is None else _mapped(pairs, by["t"])
    top = max(pairs, key=lambda pair: pair[1])[0]
    if answer["kind"] == "choice":
        # Levels of a score have an order of their own; options are read from the likeliest down.
        pairs = sorted(pairs, key=lambda pair: -pair[1])
    named = _YES_NO if answer["kind"] == "noul" else names
    options = [
        OptionTold(option, named.get(option, option), p, option == top, mapped.get(option))
        for option, p in pairs
    ]
    return QuestionTold(
        key=key,
        kind=answer["kind"],
        shown=tuple(options[:MOST_BARS]),
        rest=tuple(options[MOST_BARS:]),
        raw_confidence=answer.get("raw_confidence"),
    )


def _mapped(pairs: Sequence[Sequence[Any]], t: float) -> dict[str, float]:
    options = [option for option, _ in pairs]
    return dict(zip(options, map_probabilities([p for _, p in pairs], t), strict=True))


_YES_NO = {"true": "Yes", "false": "No"}


def option_name(names: Mapping[str, str], label: str | None) -> str:
    return "" if label is None else names.get(label, label)


def told_reasons(route: Route, names: Mapping[str, str], *, currency: str = "") -> tuple[str, ...]:
    """Why it went where it went: what let it through, and each reason why people are asked."""
    passed = route.outcome == Route.Outcome.AUTOMATIC and any(g["name"] == "threshold" for g in route.gates)
    accepted = [explain_accepted(route.gates, names)] if passed else []
    return (*accepted, *explain(route.reasons, names, currency=currency))


_GATES = {
    "out_of_scope": "In scope",
    "margin": "Lead over the next answer",
    "cost": "Expected cost",
    "critical": "Critical labels",
    "threshold": "Threshold",
    "autonomy": "Autonomy",
    "audit": "Quality check draw",
}
_NUMBERS = {
    "p": "probability",
    "p_runner_up": "probability of the next",
    "runner_up": "next",
    "draw": "drawn number",
    "is_top": "is on top",
    "rate": "share that is drawn",
}
_KINDS = {"choice": "one of several", "noul": "yes or no", "score": "level"}
_LABELS = {"label", "runner_up", "critical", "option"}


def to_gates(route: Route, names: Mapping[str, str]) -> tuple[GateTold, ...]:
    return tuple(
        GateTold(
            name=_gate_name(gate, names),
            is_open=gate["is_open"],
            numbers=tuple(
                (_NUMBERS.get(key, key.replace("_", " ")), _told(key, value, names))
                for key, value in gate["numbers"].items()
                if key != "name"
            ),
        )
        for gate in route.gates
    )


def _gate_name(gate: Mapping[str, Any], names: Mapping[str, str]) -> str:
    name: str = gate["name"]
    kind, _, subject = name.partition(":")
    if kind == "hold":
        return f"Question “{names.get(f'question:{subject}', subject)}”"
    if kind == "override":
        return f"Rule “{gate['numbers'].get('name', subject)}”"
    return _GATES.get(name, name)


def _told(key: str, value: Any, names: Mapping[str, str]) -> str:
    if value is None:
        return "—"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:.6g}"
    if isinstance(value, Sequence) and not isinstance(value, str):
        return ", ".join(_told(key, each, names) for each in value)
    if key == "question":
        return names.get(f"question:{value}", str(value))
    if key == "kind":
        return _KINDS.get(value, str(value))
    return names.get(value, value) if key in _LABELS and isinstance(value, str) else str(value)
