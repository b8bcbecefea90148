from __future__ import annotations

import pytest

from apps.routing.cost import cost_of, expected_cost

from .situations import choice, codes, gate, route_of, rules


def test_it_works() -> None:
    answer = choice(spam=0.9, lead=0.01, customer=0.09)
    assert expected_cost(rules(), "spam", answer) == 0.01 * 40 + 0.09 * 1


def test_being_right_costs_nothing_and_an_error_nobody_priced_costs_1() -> None:
    assert cost_of(rules(), predicted="lead", true="lead") == 0
    assert cost_of(rules(), predicted="lead", true="spam") == 1
    assert cost_of(rules(costs={"lead": {"lead": 3.0}}, labels={}), predicted="lead", true="spam") == 3


def test_at_exactly_the_cost_of_a_review_the_item_passes() -> None:
    at_the_limit = choice(spam=0.985, lead=0.015)
    assert gate(route_of(at_the_limit), "cost").is_open
    assert not gate(route_of(at_the_limit, under=rules(review_cost=0.599)), "cost").is_open


def test_a_flat_cost_gives_the_threshold_of_chow() -> None:
    under = rules(costs={"spam": {"customer": 4.0}}, review_cost=1.0)  # 1 - r/c = 0.75
    assert gate(route_of(choice(spam=0.75, customer=0.25), under=under), "cost").is_open
    assert not gate(route_of(choice(spam=0.74, customer=0.26), under=under), "cost").is_open


@pytest.mark.parametrize(("p_lead", "expected"), [(0.05, ["critical"]), (0.049, [])])
def test_a_critical_label_holds_from_its_floor_on(p_lead: float, expected: list[str]) -> None:
    under = rules(critical={"lead": 0.05}, costs={})
    assert codes(route_of(choice(spam=1 - p_lead, lead=p_lead), under=under)) == expected


def test_a_critical_label_on_top_always_holds() -> None:
    under = rules(critical={"spam": 1.0})
    assert codes(route_of(under=under)) == ["critical"]


def test_being_right_may_not_cost_more_than_being_wrong() -> None:
    with pytest.raises(ValueError, match=r"^costs\.spam\.spam: "):
        rules(costs={"spam": {"spam": 5.0, "lead": 4.0}})
