from __future__ import annotations

from dataclasses import replace

import pytest

from apps.routing.policy import model_error_route
from apps.routing.types import (
    AnswerOverride,
    Autonomy,
    ChoiceHold,
    Draw,
    Hold,
    LabelRule,
    NoulHold,
    QuestionAnswer,
    ScoreHold,
    TextOverride,
)

from .situations import ALWAYS_DRAWN, NEVER_DRAWN, choice, codes, gate, noul, route_of, rules, score

MONEY_WORDS = TextOverride("money", "Money", ("refund*",))
MONEY_HOLD = NoulHold("money", 0.2, 0.8)


def test_it_works() -> None:
    routed = route_of()
    assert (routed.outcome, routed.label, routed.p, routed.reasons) == ("automatic", "spam", 0.97, ())
    assert (routed.pi, routed.drawn, routed.blind, routed.asked) == (0.1, False, False, ())
    assert (routed.kind, routed.open_but_threshold) == ("automatic", True)


def test_every_gate_is_there_even_when_an_earlier_one_is_closed() -> None:
    routed = route_of(
        text="refund!", under=rules(overrides=(MONEY_WORDS,), holds=(MONEY_HOLD,)), others={"money": noul(0)}
    )
    names = ["out_of_scope", "margin", "cost", "critical", "threshold", "autonomy"]
    assert [each.name for each in routed.gates] == ["override:money", *names, "hold:money", "audit"]
    assert codes(routed) == ["override:money"]


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        (choice(spam=0.89, customer=0.11), ["low_confidence"]),
        (choice(spam=0.98, lead=0.02), ["high_cost"]),
        (choice(lead=0.99, spam=0.01), ["not_automatic"]),
        (choice(other=0.99, spam=0.01), ["out_of_scope", "low_confidence", "not_automatic"]),
        (choice(spam=0.5, customer=0.45, other=0.05), ["close_call", "low_confidence"]),
        (choice(unheard_of=0.99, spam=0.01), ["low_confidence", "not_automatic"]),
    ],
)
def test_each_gate_gives_its_reason(answer: QuestionAnswer, expected: list[str]) -> None:
    routed = route_of(answer)
    assert codes(routed) == expected
    assert (routed.outcome, routed.pi, routed.asked) == ("review", 1.0, ("intent",))


def test_p_at_the_threshold_passes() -> None:
    assert gate(route_of(choice(spam=0.9, customer=0.1)), "threshold").is_open
    assert not gate(route_of(choice(spam=0.8999999999, customer=0.1)), "threshold").is_open


def test_a_tie_is_held_without_a_margin_and_the_first_declared_is_on_top() -> None:
    under = rules(margin=0.0, labels={"spam": LabelRule(0.5, Autonomy.AUTOMATIC)})
    routed = route_of(choice(customer=0.0, spam=0.5, other=0.5), under=under)
    assert (routed.label, codes(routed)) == ("spam", ["close_call"])


def test_a_gap_of_exactly_the_margin_passes_whatever_floats_make_of_it() -> None:
    assert 0.55 - 0.45 > 0.1 > 0.6 - 0.5
    assert gate(route_of(choice(spam=0.6, customer=0.5)), "margin").is_open


def test_a_label_the_policy_does_not_name_is_never_certified() -> None:
    assert not route_of(choice(unheard_of=1.0, spam=0.0)).open_but_threshold


def test_threshold_and_step_do_not_count_for_certificates_but_other_gates_do() -> None:
    assert route_of(choice(lead=0.7, customer=0.3)).open_but_threshold
    assert not route_of(choice(lead=0.5, customer=0.45)).open_but_threshold


def test_an_audited_item_stays_automatic_and_is_asked_blind() -> None:
    routed = route_of(draw=ALWAYS_DRAWN)
    assert (routed.outcome, routed.drawn, routed.blind, routed.kind) == ("automatic", True, True, "audit")
    assert (codes(routed), routed.asked, routed.pi) == (["audit"], ("intent",), 0.1)
    assert routed.open_but_threshold


def test_a_check_asks_every_question_that_could_have_held() -> None:
    under = rules(holds=(MONEY_HOLD, ChoiceHold("intent", 0.5)))
    routed = route_of(under=under, others={"money": noul(0.99), "anger": score(1.0)}, draw=ALWAYS_DRAWN)
    assert (codes(routed), routed.asked) == (["audit"], ("intent", "money"))


@pytest.mark.parametrize(("draw", "drawn"), [(0.0999, True), (0.1, False)])
def test_the_draw_is_compared_with_the_rate_in_force(draw: float, drawn: bool) -> None:
    assert route_of(draw=Draw(audit=draw, blind=0.0)).drawn is drawn


@pytest.mark.parametrize(("rate", "pi"), [(0.0, 0.01), (0.02, 0.02)])
def test_at_the_last_step_the_audit_share_has_a_floor(rate: float, pi: float) -> None:
    labels = {"spam": LabelRule(0.9, Autonomy.AUTOMATIC)}
    assert route_of(under=rules(labels=labels, automatic_audit_rate=rate)).pi == pi


def test_a_review_is_blind_by_its_draw_and_a_shadow_label_always() -> None:
    lead, customer = choice(lead=0.9, spam=0.1), choice(customer=0.9, spam=0.1)
    assert route_of(lead, draw=Draw(audit=0.0, blind=0.19)).blind
    assert not route_of(lead, draw=NEVER_DRAWN).blind
    shadow = route_of(customer, draw=NEVER_DRAWN)
    assert (shadow.blind, shadow.kind) == (True, "shadow")


def test_a_review_is_not_drawn() -> None:
    routed = route_of(choice(spam=0.5, customer=0.3), draw=ALWAYS_DRAWN)
    assert (routed.drawn, routed.pi, gate(routed, "audit").is_open) == (False, 1.0, True)


def test_an_item_only_another_question_holds_asks_that_question_alone() -> None:
    routed = route_of(under=rules(holds=(MONEY_HOLD,)), others={"money": noul(0.5)})
    assert (codes(routed), routed.asked) == (["question_held:money"], ("money",))
    assert not routed.open_but_threshold


def test_an_item_held_twice_over_asks_both_questions() -> None:
    routed = route_of(
        choice(spam=0.5, customer=0.3), under=rules(holds=(MONEY_HOLD,)), others={"money": noul(0.5)}
    )
    assert routed.asked == ("intent", "money")


def test_a_hold_on_the_routing_question_asks_it_once() -> None:
    routed = route_of(under=rules(holds=(ChoiceHold("intent", 0.99),)))
    assert (codes(routed), routed.asked) == (["question_held:intent"], ("intent",))


@pytest.mark.parametrize(
    ("hold", "answer", "is_open"),
    [
        (NoulHold("q", 0.2, 0.8), noul(0.2), True),
        (NoulHold("q", 0.2, 0.8), noul(0.21), False),
        (NoulHold("q", 0.2, 0.8), noul(0.8), True),
        (ChoiceHold("q", 0.6), choice(a=0.6, b=0.4), True),
        (ChoiceHold("q", 0.6), choice(a=0.41, b=0.59), False),
        (ScoreHold("q", 0.5), score(0.2, 0.5, 0.3), True),
        (ScoreHold("q", 0.5), score(0.3, 0.4, 0.3), False),
        (ScoreHold("q", 0.5), noul(1.0), False),
    ],
)
def test_holds_of_each_kind(hold: Hold, answer: QuestionAnswer, is_open: bool) -> None:
    routed = route_of(under=rules(holds=(hold,)), others={"q": answer})
    assert gate(routed, "hold:q").is_open is is_open


def test_a_hold_without_its_question_holds_and_asks_the_routing_question() -> None:
    routed = route_of(under=rules(holds=(NoulHold("gone", 0.2, 0.8),)))
    assert (codes(routed), routed.asked) == (["question_held:gone"], ("intent",))


@pytest.mark.parametrize(
    ("answer", "option", "at_least", "is_open"),
    [
        (noul(0.2), None, 0.2, False),
        (noul(0.19), None, 0.2, True),
        (choice(a=0.7, b=0.3), "b", 0.3, False),
        (choice(a=0.7, b=0.3), "b", 0.31, True),
        (score(0.5, 0.3, 0.2), "1", 0.5, False),
        (score(0.5, 0.3, 0.2), "2", 0.5, True),
        (score(0.5, 0.5), "7", 0.5, False),
        (choice(a=0.7, b=0.3), None, 0.9, False),
    ],
)
def test_another_answer_overrides(
    answer: QuestionAnswer, option: str | None, at_least: float, is_open: bool
) -> None:
    under = rules(overrides=(AnswerOverride("o", "O", "q", option, at_least),))
    assert gate(route_of(under=under, others={"q": answer}), "override:o").is_open is is_open


def test_an_override_without_its_question_holds() -> None:
    under = rules(overrides=(AnswerOverride("o", "O", "gone", None, 0.2),))
    assert codes(route_of(under=under)) == ["override:o"]


def test_a_model_error_goes_to_people_with_nothing_to_suggest() -> None:
    routed = model_error_route("too_large", "The request has 300,000 bytes.", ("intent", "money"))
    assert (routed.outcome, routed.label, routed.pi, routed.kind) == ("review", None, 1.0, "model_error")
    assert (codes(routed), routed.asked) == (["model_error"], ("intent", "money"))


def test_same_inputs_same_route() -> None:
    assert route_of(metadata={"a": 1}) == route_of(metadata={"a": 1})
    assert replace(route_of(), blind=True) != route_of()
