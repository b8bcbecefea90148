"""Bulk and `route` agree on every item, for every kind of rule, at the very limits as well."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from apps.routing.bulk import Answers, BulkRoutes, held_by, route_all
from apps.routing.policy import route
from apps.routing.types import (
    AnswerOverride,
    Autonomy,
    ChoiceHold,
    DecisionView,
    Hold,
    ItemFacts,
    LabelRule,
    MetadataOverride,
    NoulHold,
    Override,
    QuestionAnswer,
    Rules,
    ScoreHold,
    TemperatureMap,
    TextOverride,
)

from .situations import ALWAYS_DRAWN, NEVER_DRAWN, choice, noul, rules, score

LABELS = ("spam", "lead", "customer", "other")
LEVELS = ("0", "1", "2")
# Tenths that floats cannot hold add up to sums just beside a limit.
near_limits = st.sampled_from((0.0, 0.05, 0.1, 0.2, 0.3, 0.5, 0.6, 0.7, 0.9, 1.0))
shares = near_limits | st.floats(0, 1)
costs = st.sampled_from((0.0, 0.5, 1.0, 3.0, 40.0)) | st.floats(0, 1e9)
steps = st.sampled_from(Autonomy)


def distribution(options: tuple[str, ...]) -> st.SearchStrategy[list[float]]:
    tenths = st.lists(st.integers(0, 10), min_size=len(options), max_size=len(options)).filter(any)
    return tenths.map(lambda parts: [part / sum(parts) for part in parts])


decisions = st.tuples(distribution(LABELS), shares, distribution(LEVELS))
texts = st.sampled_from(("a refund please", "refunds", "hello", "إعادة"))
amounts = st.sampled_from((None, "much", 5, 5.5, 40.0))
facts = st.builds(lambda text, amount: ItemFacts(text, {"amount": amount}), texts, amounts)

questions = st.sampled_from(("intent", "money", "anger", "gone"))
options = st.none() | st.sampled_from((*LABELS, *LEVELS, "gone"))
override: st.SearchStrategy[Override] = st.one_of(
    st.builds(TextOverride, st.just(""), st.just("T"), st.sampled_from((("refund",), ("refund*", "x")))),
    st.builds(
        MetadataOverride, st.just(""), st.just("M"), st.just("amount"), st.just(">"), st.integers(1, 9)
    ),
    st.builds(AnswerOverride, st.just(""), st.just("A"), questions, options, shares),
)
overrides = st.lists(override, max_size=3).map(
    lambda found: tuple(replace(each, id=f"r{at}") for at, each in enumerate(found))
)
hold: st.SearchStrategy[Hold] = st.one_of(
    st.tuples(questions, shares, shares).map(lambda it: NoulHold(it[0], min(it[1:]), max(it[1:]))),
    st.builds(ChoiceHold, questions, shares),
    st.builds(ScoreHold, questions, shares),
)
price_rows = st.dictionaries(
    st.sampled_from(LABELS), st.dictionaries(st.sampled_from(LABELS), costs, max_size=3), max_size=2
).map(lambda rows: {a: {b: 0.0 if a == b else cost for b, cost in row.items()} for a, row in rows.items()})
OPEN = rules(
    labels={label: LabelRule(0.0, Autonomy.AUDITED) for label in LABELS},
    none_of_these=None,
    margin=0.0,
    costs={},
    review_cost=1e9,
)
# Everything but what is drawn stays open: a rule behind another that holds everything would prove nothing.
changes = st.fixed_dictionaries(
    {},
    optional={
        "labels": st.dictionaries(st.sampled_from(LABELS), st.builds(LabelRule, shares, steps)),
        "none_of_these": st.sampled_from(LABELS),
        "margin": near_limits,
        "prices": st.tuples(price_rows, costs),
        "mapped": st.tuples(
            price_rows, costs, st.sampled_from((0.05, 0.5, 1.0, 1.7, 20.0)) | st.floats(0.05, 20)
        ),
        "overrides": overrides,
        "holds": st.lists(hold, max_size=2, unique_by=lambda each: each.question).map(tuple),
        "critical": st.dictionaries(st.sampled_from(LABELS), shares, max_size=2),
    },
)


def changed(what: dict[str, Any]) -> Rules:
    prices = what.pop("prices", (OPEN.costs, OPEN.review_cost))
    if "mapped" in what:
        # A map shows in costs alone.
        *prices, t = what.pop("mapped")
        what["maps"] = {"intent": TemperatureMap(t), "money": TemperatureMap(3.0)}
    return replace(OPEN, costs=prices[0], review_cost=prices[1], **what)


one_change = st.sampled_from(
    ("labels", "none_of_these", "margin", "prices", "mapped", "overrides", "holds", "critical")
).flatmap(lambda name: changes.map(lambda what: {name: what[name]} if name in what else {}))
policies = (one_change | changes).map(changed)


def in_bulk(
    views: list[tuple[list[float], float, list[float]]], about: list[ItemFacts], under: Rules
) -> BulkRoutes:
    answers = {
        "intent": Answers("choice", LABELS, np.array([view[0] for view in views])),
        "money": Answers("noul", ("true", "false"), np.array([[view[1], 1 - view[1]] for view in views])),
        "anger": Answers("score", LEVELS, np.array([view[2] for view in views])),
    }
    on_items = [each for each in under.overrides if not isinstance(each, AnswerOverride)]
    held = np.array([held_by(on_items, each) for each in about], np.bool_).reshape(len(about), -1)
    columns = {each.id: held[:, at] for at, each in enumerate(on_items)}
    return route_all("intent", answers, columns, under)


def spam(p: float) -> BulkRoutes:
    return in_bulk([([p, 1 - p, 0.0, 0.0], 0.1, [1.0, 0.0, 0.0])], [ItemFacts("", {})], rules(costs={}))


def test_it_works() -> None:
    assert spam(0.97).automatic.tolist() == [True]
    assert spam(0.97).rate.tolist() == [0.1]
    assert spam(0.89).automatic.tolist() == [False]
    assert spam(0.89).open_but_threshold.tolist() == [True]


@settings(max_examples=250, deadline=None)
@given(st.lists(st.tuples(decisions, facts), min_size=1, max_size=6), policies)
def test_every_item_goes_where_route_sends_it(
    items: list[tuple[tuple[list[float], float, list[float]], ItemFacts]], under: Rules
) -> None:
    bulk = in_bulk([view for view, _ in items], [about for _, about in items], under)

    for row, ((own, p_yes, levels), about) in enumerate(items):
        answers: dict[str, QuestionAnswer] = {
            "intent": choice(**dict(zip(LABELS, own, strict=True))),
            "money": noul(p_yes),
            "anger": score(*levels),
        }
        one = route(DecisionView("intent", answers), about, under, NEVER_DRAWN)
        found = (LABELS[bulk.label[row]], bulk.p[row], bulk.automatic[row], bulk.open_but_threshold[row])
        assert found == (one.label, one.p, one.outcome == "automatic", one.open_but_threshold)
        assert bulk.rate[row] == (one.pi if one.outcome == "automatic" else 0.0)


@settings(max_examples=150, deadline=None)
@given(
    distribution(LABELS),
    st.integers(0, 20),
    st.sampled_from(LABELS),
    st.integers(1, 40),
    st.sampled_from((None, 1.0, 2.0)),
)
def test_a_cost_or_a_gap_right_at_its_limit_is_decided_as_route_does(
    own: list[float], margin: int, dear: str, cost: int, t: float | None
) -> None:
    costly = {"spam": {true: cost / 10 for true in LABELS if true not in ("spam", dear)}}
    under = replace(OPEN, costs=costly, margin=margin / 20, review_cost=cost / 10 * 0.3)
    if t is not None:
        under = replace(under, maps={"intent": TemperatureMap(t)})

    one = route(
        DecisionView("intent", {"intent": choice(**dict(zip(LABELS, own, strict=True)))}),
        ItemFacts("", {}),
        under,
        ALWAYS_DRAWN,
    )

    bulk = in_bulk([(own, 0.0, [1.0, 0.0, 0.0])], [ItemFacts("", {})], under)
    assert bulk.automatic[0] == (one.outcome == "automatic")


def ask(name: str, option: str | None, at_least: float) -> Rules:
    return replace(OPEN, overrides=(AnswerOverride("a", "A", name, option, at_least),))


HALF = [0.5, 0.3, 0.2, 0.0]


@pytest.mark.parametrize(
    ("under", "goes_on"),
    [
        (replace(OPEN, labels={"spam": LabelRule(0.5, Autonomy.AUTOMATIC)}), True),
        (replace(OPEN, margin=0.2), True),
        (replace(OPEN, review_cost=0.5), True),
        # Half of it may be wrong by what the model said, and 57 % of it as the map reads that.
        (replace(OPEN, review_cost=0.5, maps={"intent": TemperatureMap(2.0)}), False),
        (replace(OPEN, review_cost=0.5, maps={"money": TemperatureMap(2.0)}), True),
        (replace(OPEN, critical={"spam": 0.9}), False),
        (replace(OPEN, critical={"lead": 0.3}), False),
        (replace(OPEN, holds=(ChoiceHold("intent", 0.5),)), True),
        (replace(OPEN, holds=(ScoreHold("anger", 0.6),)), True),
        (replace(OPEN, holds=(NoulHold("money", 0.2, 0.6),)), True),
        (replace(OPEN, holds=(NoulHold("money", 0.1, 0.2),)), True),
        (replace(OPEN, holds=(NoulHold("money", 0.1, 0.3),)), False),
        (ask("intent", "spam", 0.9), False),
        (ask("intent", "lead", 0.3), False),
        (ask("money", None, 0.2), False),
        (ask("anger", "1", 0.4), False),
        (ask("anger", "1", 0.41), True),
    ],
)
def test_at_the_limit(under: Rules, goes_on: bool) -> None:
    bulk = in_bulk([(HALF, 0.2, [0.6, 0.3, 0.1])], [ItemFacts("", {})], under)

    assert bulk.automatic.tolist() == [goes_on]


def test_only_rules_on_the_item_itself_can_be_asked_of_it() -> None:
    with pytest.raises(ValueError, match="on text or metadata"):
        held_by([AnswerOverride("a", "A", "money", None, 0.5)], ItemFacts("", {}))


def test_a_matrix_must_have_a_column_for_each_option() -> None:
    with pytest.raises(ValueError, match="a column for each option"):
        Answers("choice", LABELS, np.ones((2, 3)))
