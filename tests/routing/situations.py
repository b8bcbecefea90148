"""A workflow with three labels, and small changes to it, for tests of the policy."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from apps.routing.policy import route
from apps.routing.types import (
    Autonomy,
    DecisionView,
    Draw,
    Gate,
    ItemFacts,
    LabelRule,
    QuestionAnswer,
    Route,
    Rules,
)

NEVER_DRAWN = Draw(audit=0.999, blind=0.999)
ALWAYS_DRAWN = Draw(audit=0.0, blind=0.0)

RULES = Rules(
    labels={
        "spam": LabelRule(threshold=0.9, autonomy=Autonomy.AUDITED),
        "lead": LabelRule(threshold=0.8, autonomy=Autonomy.SUGGEST),
        "customer": LabelRule(threshold=0.8, autonomy=Autonomy.SHADOW),
    },
    none_of_these="other",
    margin=0.1,
    costs={"spam": {"lead": 40.0}},
    review_cost=0.6,
    overrides=(),
    holds=(),
    audit_rate=0.1,
    automatic_audit_rate=0.02,
    blind_share=0.2,
)


def rules(**changes: Any) -> Rules:
    return replace(RULES, **changes)


def choice(**probabilities: float) -> QuestionAnswer:
    return QuestionAnswer("choice", tuple(probabilities.items()))


def noul(p_yes: float) -> QuestionAnswer:
    return QuestionAnswer("noul", (("true", p_yes), ("false", 1 - p_yes)))


def score(*shares: float) -> QuestionAnswer:
    return QuestionAnswer("score", tuple((str(level), share) for level, share in enumerate(shares)))


SURE_SPAM = choice(spam=0.97, lead=0.005, customer=0.015, other=0.01)


def route_of(
    answer: QuestionAnswer = SURE_SPAM,
    *,
    under: Rules = RULES,
    others: dict[str, QuestionAnswer] | None = None,
    text: str = "",
    metadata: dict[str, Any] | None = None,
    draw: Draw = NEVER_DRAWN,
) -> Route:
    decision = DecisionView("intent", {"intent": answer, **(others or {})})
    return route(decision, ItemFacts(text, metadata or {}), under, draw)


def gate(routed: Route, name: str) -> Gate:
    return next(gate for gate in routed.gates if gate.name == name)


def codes(routed: Route) -> list[str]:
    return [reason.code for reason in routed.reasons]
