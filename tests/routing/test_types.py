from __future__ import annotations

import math
from typing import Any

import pytest

from apps.routing.types import (
    Autonomy,
    ChoiceHold,
    DecisionView,
    LabelRule,
    NoulHold,
    QuestionAnswer,
    TextOverride,
)

from .situations import choice, noul, rules


def test_it_works() -> None:
    answer = choice(a=0.3, b=0.4, c=0.3)
    assert (answer.top, answer.runner_up, answer.p("c"), answer.p("d")) == (("b", 0.4), ("a", 0.3), 0.3, None)


def test_of_equals_the_first_declared_is_on_top() -> None:
    answer = choice(a=0.2, b=0.4, c=0.4)
    assert (answer.top, answer.runner_up) == (("b", 0.4), ("c", 0.4))


def test_the_ladder_goes_up() -> None:
    assert list(Autonomy) == ["shadow", "suggest", "audited", "automatic"]
    assert [step.may_act for step in Autonomy] == [False, False, True, True]


@pytest.mark.parametrize("p", [math.nan, math.inf, -0.01, 1.01, "0.5", None, True])
def test_no_probability(p: Any) -> None:
    with pytest.raises(ValueError, match=r"^probabilities\.a: "):
        choice(a=p, b=0.5)


@pytest.mark.parametrize("pairs", [(), (("a", 0.5), ("a", 0.5)), (("", 1.0),)])
def test_options_that_cannot_be_told_apart(pairs: Any) -> None:
    with pytest.raises(ValueError, match=r"^probabilities: "):
        QuestionAnswer("choice", pairs)


def test_the_routing_question_is_a_choice_with_an_answer() -> None:
    for answers in ({}, {"intent": noul(0.5)}):
        with pytest.raises(ValueError, match=r"^routing_question: "):
            DecisionView("intent", answers)


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"margin": math.nan}, "margin"),
        ({"review_cost": -1.0}, "review_cost"),
        ({"review_cost": math.inf}, "review_cost"),
        ({"audit_rate": 1.1}, "audit_rate"),
        ({"blind_share": -0.1}, "blind_share"),
        ({"critical": {"spam": 2.0}}, "critical.spam"),
        ({"costs": {"spam": {"lead": math.nan}}}, "costs.spam.lead"),
        ({"overrides": (TextOverride("o", "1", ("a",)), TextOverride("o", "2", ("b",)))}, "overrides"),
        ({"holds": (ChoiceHold("q", 0.5), ChoiceHold("q", 0.6))}, "holds"),
    ],
)
def test_rules_that_could_not_be_obeyed_are_refused(changes: dict[str, Any], named: str) -> None:
    with pytest.raises(ValueError, match=f"^{named}: "):
        rules(**changes)


def test_limits_of_labels_and_holds() -> None:
    with pytest.raises(ValueError, match=r"^threshold: "):
        LabelRule(1.5, Autonomy.AUDITED)
    with pytest.raises(ValueError, match=r"^high: "):
        NoulHold("q", 0.8, 0.2)
