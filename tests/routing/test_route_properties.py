"""What must hold for every policy and every answer: no change towards caution ever lets an item through."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import assume, given, settings
from hypothesis import strategies as st

from apps.routing.types import (
    AnswerOverride,
    Autonomy,
    ChoiceHold,
    Draw,
    LabelRule,
    MetadataOverride,
    NoulHold,
    Override,
    QuestionAnswer,
    Route,
    Rules,
    TextOverride,
)

from .situations import noul, route_of, rules

LABELS = ("spam", "lead", "customer", "other")
bounded = settings(max_examples=80, deadline=None)

shares = st.floats(0, 1)
costs = st.floats(0, 100)
draws = st.builds(Draw, audit=st.floats(0, 1, exclude_max=True), blind=st.floats(0, 1, exclude_max=True))
# Mostly steps that act, low thresholds and dear reviews: a policy that holds everything proves nothing.
label_rules = st.builds(
    LabelRule,
    threshold=st.floats(0, 0.6),
    autonomy=st.sampled_from((Autonomy.AUTOMATIC, Autonomy.AUDITED, Autonomy.SUGGEST)),
)


@st.composite
def answers(draw: st.DrawFn) -> QuestionAnswer:
    weights = [draw(st.floats(0.01, 1)) ** 3 for _ in LABELS]
    return QuestionAnswer(
        "choice", tuple((label, w / sum(weights)) for label, w in zip(LABELS, weights, strict=True))
    )


@st.composite
def cost_rows(draw: st.DrawFn, predicted: str) -> dict[str, float]:
    row = draw(st.dictionaries(st.sampled_from([each for each in LABELS if each != predicted]), costs))
    right = draw(st.floats(0, min(row.values(), default=1.0)))
    return {**row, predicted: right} if draw(st.booleans()) else row


overrides: st.SearchStrategy[Override] = st.one_of(
    st.builds(TextOverride, st.just("t"), st.just("T"), st.just(("refund*",))),
    st.builds(MetadataOverride, st.just("m"), st.just("M"), st.just("amount"), st.just(">"), costs),
    st.builds(AnswerOverride, st.just("a"), st.just("A"), st.just("intent"), st.sampled_from(LABELS), shares),
)


@st.composite
def policies(draw: st.DrawFn) -> Rules:
    return rules(
        labels={label: draw(label_rules) for label in LABELS[:3]},
        none_of_these=draw(st.sampled_from(("other", None))),
        margin=draw(st.floats(0, 0.2)),
        costs={label: draw(cost_rows(label)) for label in draw(st.sets(st.sampled_from(LABELS)))},
        review_cost=draw(st.floats(0, 60)),
        critical=draw(st.dictionaries(st.sampled_from(LABELS), shares, max_size=1)),
        holds=draw(st.sampled_from(((), (NoulHold("money", 0.2, 0.8),), (ChoiceHold("intent", 0.4),)))),
        overrides=tuple(draw(st.lists(overrides, max_size=1))),
    )


metadatas = st.fixed_dictionaries({}, optional={"amount": st.one_of(costs, st.just("12,000 EUR"))})


@st.composite
def situations(draw: st.DrawFn) -> tuple[QuestionAnswer, Rules, dict[str, object]]:
    """An answer, a policy, and whatever else `route_of` takes."""
    around = {
        "draw": draw(draws),
        "metadata": draw(metadatas),
        "text": draw(st.sampled_from(("", "Refund me"))),
        "others": {"money": noul(draw(shares))},
    }
    return draw(answers()), draw(policies()), around


def is_held(routed: Route) -> bool:
    return routed.outcome == "review"


def routed_with(answer: QuestionAnswer, under: Rules, around: dict[str, object]) -> Route:
    return route_of(answer, under=under, **around)  # type: ignore[arg-type]  # built from these very arguments


@given(situations())
@bounded
def test_it_works(situation: tuple[QuestionAnswer, Rules, dict[str, object]]) -> None:
    routed = routed_with(*situation)
    assert routed == routed_with(*situation)
    assert {each.name for each in routed.gates} >= {"out_of_scope", "margin", "cost", "critical", "threshold"}
    assert {each.name for each in routed.gates} >= {"autonomy", "audit"}
    held = any(not each.is_open for each in routed.gates if each.name != "audit")
    assert (is_held(routed), bool(routed.asked)) == (held, held or routed.drawn)


@given(situations(), st.data())
@bounded
def test_moving_mass_off_the_top_never_lets_through(
    situation: tuple[QuestionAnswer, Rules, dict[str, object]], data: st.DataObject
) -> None:
    answer, under, around = situation
    top, p = answer.top
    to = data.draw(st.sampled_from([label for label in LABELS if label != top]))
    amount = data.draw(st.floats(0, p / 2))
    moved = tuple(
        (label, p - amount if label == top else min(1.0, share + amount) if label == to else share)
        for label, share in answer.probabilities
    )
    after = QuestionAnswer("choice", moved)
    assume(after.top[0] == top and is_held(routed_with(*situation)))
    assert is_held(routed_with(after, under, around))


@given(situations(), overrides)
@bounded
def test_adding_an_override_never_lets_through(
    situation: tuple[QuestionAnswer, Rules, dict[str, object]], added: Override
) -> None:
    answer, under, around = situation
    more = replace(under, overrides=(*under.overrides, replace(added, id="added")))
    assume(is_held(routed_with(*situation)))
    assert is_held(routed_with(answer, more, around))


@given(situations(), costs, st.sampled_from(LABELS))
@bounded
def test_raising_a_cost_never_lets_through(
    situation: tuple[QuestionAnswer, Rules, dict[str, object]], by: float, true: str
) -> None:
    answer, under, around = situation
    top = answer.top[0]
    assume(true != top and is_held(routed_with(*situation)))
    row = dict(under.costs.get(top, {}))
    dearer = {**row, true: max(row.get(true, 1.0), row.get(top, 0.0)) + by}
    assert is_held(routed_with(answer, replace(under, costs={**under.costs, top: dearer}), around))


@given(situations(), shares)
@bounded
def test_raising_the_threshold_never_lets_through(
    situation: tuple[QuestionAnswer, Rules, dict[str, object]], higher: float
) -> None:
    answer, under, around = situation
    rule = under.labels.get(answer.top[0])
    assume(rule is not None and is_held(routed_with(*situation)))
    assert rule is not None
    stricter = replace(rule, threshold=max(rule.threshold, higher))
    labels = {**under.labels, answer.top[0]: stricter}
    assert is_held(routed_with(answer, replace(under, labels=labels), around))


@given(situations(), shares)
@bounded
def test_a_cheaper_review_never_lets_through(
    situation: tuple[QuestionAnswer, Rules, dict[str, object]], factor: float
) -> None:
    answer, under, around = situation
    assume(is_held(routed_with(*situation)))
    assert is_held(routed_with(answer, replace(under, review_cost=under.review_cost * factor), around))


def test_the_policies_drawn_here_let_some_items_through() -> None:
    seen: set[str] = set()

    @given(situations())
    @bounded
    def look(situation: tuple[QuestionAnswer, Rules, dict[str, object]]) -> None:
        seen.add(routed_with(*situation).outcome)

    look()
    assert seen == {"automatic", "review"}
