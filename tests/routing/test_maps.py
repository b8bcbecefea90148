from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from apps.routing.explain import explain
from apps.routing.maps import map_answer, map_probabilities
from apps.routing.types import Autonomy, LabelRule, QuestionAnswer, TemperatureMap
from apps.stats.maps import T_RANGE, Temperature

from .situations import RULES, choice, gate, noul, route_of, rules

DOUBTFUL = choice(spam=0.9, lead=0.08, customer=0.01, other=0.01)
PRICED = rules(costs={"spam": {"lead": 4.0}}, review_cost=0.5)


def test_it_works() -> None:
    assert map_probabilities([0.9, 0.1], 2.0) == pytest.approx([0.75, 0.25])
    assert map_answer(noul(0.9), TemperatureMap(2.0)).p("true") == pytest.approx(0.75)
    assert map_answer(noul(0.9), None) == noul(0.9)


@given(st.lists(st.floats(0, 1), min_size=2, max_size=6).filter(any), st.floats(*T_RANGE))
def test_it_is_the_map_that_was_fitted(parts: list[float], t: float) -> None:
    given = [part / sum(parts) for part in parts]
    assert map_probabilities(given, t) == pytest.approx(Temperature(t).apply(np.array(given)).tolist())


@given(st.lists(st.floats(0, 1), min_size=2, max_size=6), st.floats(*T_RANGE))
def test_the_order_of_options_stays(given: list[float], t: float) -> None:
    mapped = map_probabilities(given, t)
    pairs = [(a, b) for a in range(len(given)) for b in range(len(given)) if given[a] >= given[b]]
    assert all(mapped[a] >= mapped[b] for a, b in pairs)


def test_costs_are_expected_from_mapped_probabilities() -> None:
    raw = route_of(DOUBTFUL, under=PRICED)
    assert raw.outcome == "automatic"
    mapped = route_of(DOUBTFUL, under=rules(**FIELDS, maps={"intent": TemperatureMap(2.0)}))
    assert not gate(mapped, "cost").is_open
    assert gate(mapped, "cost").numbers["temperature"] == 2.0
    assert gate(raw, "cost").numbers.keys() == {"label", "expected_cost", "review_cost"}


FIELDS = {"costs": PRICED.costs, "review_cost": PRICED.review_cost}


def test_thresholds_stay_on_what_the_model_gave() -> None:
    under = rules(
        labels={"spam": LabelRule(0.9, Autonomy.AUDITED)}, costs={}, maps={"intent": TemperatureMap(5.0)}
    )
    routed = route_of(DOUBTFUL, under=under)
    assert gate(routed, "threshold").is_open
    assert routed.p == 0.9
    assert gate(routed, "margin").numbers["p"] == 0.9


def test_a_map_of_another_question_changes_no_route() -> None:
    under = rules(**FIELDS, maps={"money": TemperatureMap(2.0)})
    assert route_of(DOUBTFUL, under=under) == route_of(DOUBTFUL, under=PRICED)


def test_the_reason_says_that_a_map_was_used() -> None:
    routed = route_of(DOUBTFUL, under=rules(**FIELDS, maps={"intent": TemperatureMap(1.7)}))
    (said,) = explain(routed.reasons, {"spam": "Spam"})
    assert said.endswith(
        "more than the 0.50 of a review. Its probabilities were mapped for that, at temperature 1.7."
    )


@pytest.mark.parametrize("t", [0.0, 0.049, 20.1, float("nan"), float("inf")])
def test_a_temperature_out_of_its_range_is_refused(t: float) -> None:
    with pytest.raises(ValueError, match=r"t: must be between 0\.05 and 20"):
        TemperatureMap(t)


def test_without_a_map_nothing_is_computed_anew() -> None:
    answer = QuestionAnswer("choice", (("spam", 0.1), ("lead", 0.2)))
    assert map_answer(answer, RULES.maps.get("intent")) is answer
