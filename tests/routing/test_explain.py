from __future__ import annotations

import json
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from apps.routing.explain import explain, explain_accepted, explain_blind
from apps.routing.policy import model_error_route
from apps.routing.types import (
    AnswerOverride,
    Autonomy,
    ChoiceHold,
    Gate,
    LabelRule,
    MetadataOverride,
    NoulHold,
    QuestionAnswer,
    Reason,
    Route,
    Rules,
    ScoreHold,
    TextOverride,
)

from .situations import ALWAYS_DRAWN, SURE_SPAM, choice, noul, route_of, rules, score

NAMES = {"spam": "Spam", "lead": "Lead", "customer": "Customer", "other": "Other", "question:money": "Money?"}


def sentences(routed: Route) -> list[str]:
    stored = json.loads(json.dumps([reason.to_json() for reason in routed.reasons]))
    assert explain(stored, NAMES) == explain(routed.reasons, NAMES)
    return explain(stored, NAMES)


def test_it_works() -> None:
    routed = route_of(choice(spam=0.71, customer=0.29))
    assert sentences(routed) == [
        "Held because the model gave Spam 71 % and this workflow asks for at least 90 %."
    ]


@pytest.mark.parametrize(
    ("answer", "under", "expected"),
    [
        (
            choice(spam=0.98, lead=0.02),
            rules(),
            "Held because acting on Spam is expected to cost 0.80, more than the 0.60 of a review.",
        ),
        (
            choice(lead=0.99, spam=0.01),
            rules(),
            "Held because people confirm every Lead: it is at “suggest”.",
        ),
        (
            choice(customer=0.99, spam=0.01),
            rules(),
            "Held because people label items without seeing the model while Customer is at “shadow”.",
        ),
        (
            choice(spam=0.94, customer=0.91),
            rules(),
            "Held because Spam and Customer are 3 points apart and this workflow asks for at least 10.",
        ),
        (
            choice(spam=0.95, customer=0.95),
            rules(costs={}, review_cost=9.0),
            "Held because Spam and Customer are equally likely (95 % each).",
        ),
        (
            choice(spam=0.93, customer=0.07),
            rules(critical={"customer": 0.05}),
            "Held because Customer is critical: the model gave it 7 %, people look from 5 % on.",
        ),
        (
            SURE_SPAM,
            rules(critical={"spam": 0.05}),
            "Held because Spam is critical: people look at every item the model gives it.",
        ),
    ],
)
def test_gates_of_the_routing_question(answer: QuestionAnswer, under: Rules, expected: str) -> None:
    assert expected in sentences(route_of(answer, under=under))


def test_out_of_scope() -> None:
    first = sentences(route_of(choice(other=0.998, spam=0.002)))[0]
    assert (
        first == "Held because the most likely answer is Other (99.8 %): outside what this workflow decides."
    )


@pytest.mark.parametrize(
    ("override", "expected"),
    [
        (TextOverride("o", "Money", ("refund*",)), "the text contains “refund*”"),
        (MetadataOverride("o", "Money", "amount", ">", 10_000), "amount is 12,500, over 10,000"),
        (MetadataOverride("o", "Money", "vip", "=", True), "vip is yes"),
        (MetadataOverride("o", "Money", "country", "in", ["DE", "FR"]), "country is one of “DE”, “FR”"),
        (MetadataOverride("o", "Money", "country", ">", 5), "country is text, which it cannot compare"),
        (MetadataOverride("o", "Money", "phone", "missing"), "phone is missing"),
        (MetadataOverride("o", "Money", "vip", "present"), "vip is there"),
        (
            AnswerOverride("o", "Money", "money", None, 0.2),
            "for “Money?” the model gave yes 35 %, people look from 20 % on",
        ),
        (
            AnswerOverride("o", "Money", "severity", "1", 0.2),
            "for “severity” the model gave level 1 or above 40 %, people look from 20 % on",
        ),
        (AnswerOverride("o", "Money", "intent", "spam", 1.0), "the model's answer to “intent” is Spam"),
        (
            AnswerOverride("o", "Money", "gone", None, 1.0),
            "the model gave no answer to “gone” that it could use",
        ),
    ],
)
def test_overrides(override: Any, expected: str) -> None:
    routed = route_of(
        text="A refund, please",
        metadata={"amount": 12_500, "vip": True, "country": "de"},
        others={"money": noul(0.35), "severity": score(0.6, 0.3, 0.1)},
        under=rules(overrides=(override,)),
    )
    assert sentences(routed) == [f"Held by the rule “Money”: {expected}."]


@pytest.mark.parametrize(
    ("hold", "expected"),
    [
        (
            NoulHold("money", 0.2, 0.8),
            "Held because “Money?” is in doubt: the model gave yes 35 %, which is between 20 % and 80 %.",
        ),
        (
            ScoreHold("severity", 0.7),
            "Held because no answer to “severity” has more than 60 % and its rule asks for at least 70 %.",
        ),
        (
            ChoiceHold("gone", 0.7),
            "Held because the model gave no answer to “gone” that its rule could use.",
        ),
    ],
)
def test_other_questions(hold: Any, expected: str) -> None:
    others = {"money": noul(0.35), "severity": score(0.6, 0.3, 0.1)}
    assert sentences(route_of(others=others, under=rules(holds=(hold,)))) == [expected]


def test_an_accepted_item_says_why_and_an_audit_that_it_was_drawn() -> None:
    routed = route_of(draw=ALWAYS_DRAWN)
    stored = json.loads(json.dumps([each.to_json() for each in routed.gates]))
    accepted = "Accepted by rule: the model gave Spam 97 %, at least 90 % is asked for, every gate open."
    assert explain_accepted(stored, NAMES) == accepted
    assert sentences(routed) == ["Drawn for a quality check, as 10 % of such items are."]


def test_a_model_error() -> None:
    routed = model_error_route("too_large", "300,000 bytes, 256,000 at most.", ())
    assert sentences(routed) == [
        "Held because the model could not answer (too_large): 300,000 bytes, 256,000 at most."
    ]


def test_a_blind_reviewer_reads_nothing_about_the_answer() -> None:
    assert explain_blind() == ["Quality check"]


def test_a_reason_of_a_later_version_is_still_told() -> None:
    assert explain([{"code": "moonlight", "numbers": {}}], {}) == ["Held for the reason “moonlight”."]


def test_a_right_to_left_name_is_fenced_off() -> None:
    routed = route_of(choice(spam=0.71, customer=0.29))
    assert "gave \u2068رسائل مزعجة\u2069 71 %" in explain(routed.reasons, {"spam": "رسائل مزعجة"})[0]


@pytest.mark.parametrize(
    ("p", "threshold", "shown"),
    [
        (0.899, 0.9, "89.9 % and this workflow asks for at least 90 %"),
        (0.89999, 0.9, "89.999 % and this workflow asks for at least 90 %"),
        (0.9949, 0.995, "99 % and this workflow asks for at least 99.5 %"),
        (0.9996, 1.0, "99.96 % and this workflow asks for at least 100 %"),
        (0.714, 0.9, "71 % and this workflow asks for at least 90 %"),
    ],
)
def test_rounding_keeps_the_comparison_true(p: float, threshold: float, shown: str) -> None:
    labels = {"spam": LabelRule(threshold, Autonomy.AUDITED)}
    assert shown in sentences(route_of(choice(spam=p, customer=1 - p), under=rules(labels=labels)))[0]


@given(st.floats(0, 1), st.floats(0, 1))
@settings(max_examples=200, deadline=None)
def test_what_is_read_compares_as_the_numbers_do(p: float, threshold: float) -> None:
    reason = Reason("low_confidence", {"label": "x", "p": p, "threshold": threshold})
    given_, least = (Decimal(part.split()[-1]) for part in explain([reason], {})[0].split(" %")[:2])
    assert (given_ < least, given_ > least) == (p < threshold, p > threshold)


@given(st.floats(allow_nan=False, allow_infinity=False), st.integers())
@settings(max_examples=100, deadline=None)
def test_any_amount_can_be_told(value: float, found: int) -> None:
    override = MetadataOverride("o", "O", "amount", ">", value)
    routed = route_of(metadata={"amount": found}, under=rules(overrides=(override,)))
    assert len(sentences(routed)) == (found > value)


def test_gates_come_back_from_json() -> None:
    routed = route_of(under=rules(overrides=(MetadataOverride("o", "O", "a", "in", ("x", "y")),)))
    stored = json.loads(json.dumps([each.to_json() for each in routed.gates], allow_nan=False))
    assert tuple(Gate.from_json(each) for each in stored) == routed.gates


def test_amounts_carry_the_currency() -> None:
    reason = Reason("high_cost", {"label": "spam", "expected_cost": 1.878, "review_cost": 0.6})
    (sentence,) = explain([reason], NAMES, currency="EUR")
    assert "is expected to cost 1.88 EUR, more than the 0.60 EUR of a review." in sentence
