"""Whatever people answer, in whatever order: the same verdict, never more of them than allowed, and an end."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import islice, permutations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apps.reviews.consensus import Opinion, Rule, Stage, Terms, Votes, verdict_on

INTENT = Terms(asked=("intent",), wanted=2)


def says(*values: str | None, **more: bool) -> list[Opinion]:
    """One opinion a value; "?" is "cannot tell"."""
    return [Opinion({} if value == "?" else {"intent": value}, **more) for value in values]


def decided(terms: Terms, opinions: Sequence[Opinion]) -> Votes | Stage:
    verdict = verdict_on(terms, opinions)
    return verdict.values if verdict.is_done else verdict.stage


votes = st.sampled_from([{"intent": "a"}, {"intent": "b"}, {"intent": None}, {}])
opinions = st.lists(st.builds(Opinion, votes, st.booleans()), max_size=7)
terms = st.builds(
    Terms,
    asked=st.just(("intent",)),
    wanted=st.integers(1, 4),
    most=st.integers(4, 7),
    rule=st.sampled_from(list(Rule)),
    is_escalated=st.booleans(),
)


def test_it_works() -> None:
    assert verdict_on(INTENT, says("a")).needed == 2
    assert decided(INTENT, says("a", "a")) == {"intent": "a"}
    assert decided(INTENT, says("a", "b")) == Stage.REVIEW
    assert verdict_on(INTENT, says("a", "b")).needed == 3
    assert decided(INTENT, says("a", "b", "b")) == {"intent": "b"}
    assert decided(INTENT, says("a", "b", None)) == Stage.ADJUDICATION
    assert verdict_on(INTENT, says("a", "b", None)).needed == 4


def test_nobody_is_asked_who_could_not_decide_it() -> None:
    assert decided(INTENT, says("?", "?")) == Stage.ADJUDICATION
    assert decided(replace(INTENT, most=5), says("a", "b")) == Stage.REVIEW
    assert decided(replace(INTENT, most=5), says("a", "b", "c", "d")) == Stage.ADJUDICATION


def test_unanimous_goes_to_a_senior_at_once() -> None:
    unanimous = replace(INTENT, rule=Rule.UNANIMOUS)
    assert decided(unanimous, says("a", "b")) == Stage.ADJUDICATION
    assert decided(unanimous, says("a", "?")) == Stage.ADJUDICATION
    assert decided(unanimous, says(None, None)) == {"intent": None}


def test_a_senior_among_them_decides() -> None:
    by_senior = replace(INTENT, rule=Rule.SENIOR)
    assert decided(by_senior, [*says("a"), *says("b", is_senior=True)]) == {"intent": "b"}
    assert decided(by_senior, says("a", "b", is_senior=True)) == Stage.ADJUDICATION
    assert decided(by_senior, says("a", "b")) == Stage.ADJUDICATION
    assert decided(by_senior, says("a", "a")) == {"intent": "a"}


def test_one_opinion_that_cannot_tell_waits_for_a_senior() -> None:
    one = replace(INTENT, wanted=1)
    assert decided(one, says("a")) == {"intent": "a"}
    assert decided(one, says("?")) == Stage.ADJUDICATION
    assert decided(one, says("?", is_senior=True)) == {}
    assert decided(one, [*says("?"), *says("?", decides=True)]) == {}


def test_an_escalated_task_waits_for_who_decides() -> None:
    escalated = replace(INTENT, is_escalated=True)
    assert decided(escalated, says("a", "a")) == Stage.ESCALATED
    assert verdict_on(escalated, says("a", "a")).needed == 3
    assert decided(escalated, [*says("a"), *says("b", decides=True)]) == {"intent": "b"}


def test_questions_nobody_asked_settle_where_all_who_answered_agree() -> None:
    both = [Opinion({"intent": "a", "money": "true"}), Opinion({"intent": "a"})]
    assert decided(INTENT, both) == {"intent": "a", "money": "true"}
    split = [Opinion({"intent": "a", "money": "true"}), Opinion({"intent": "a", "money": "false"})]
    assert decided(INTENT, split) == {"intent": "a"}


def test_one_question_in_dispute_holds_them_all() -> None:
    asked = Terms(("intent", "money"), wanted=2, most=2)
    split = [Opinion({"intent": "a", "money": "true"}), Opinion({"intent": "a", "money": "false"})]
    assert decided(asked, split) == Stage.ADJUDICATION


@given(terms, opinions)
def test_the_order_of_answers_never_matters(terms: Terms, given: list[Opinion]) -> None:
    first = verdict_on(terms, given)
    assert all(verdict_on(terms, list(each)) == first for each in islice(permutations(given), 24))


@given(terms, opinions)
def test_no_more_people_are_asked_than_the_rules_allow(terms: Terms, given: list[Opinion]) -> None:
    verdict = verdict_on(terms, given)
    assert len(given) <= verdict.needed
    assert verdict.is_done or verdict.needed > len(given)
    if len(given) <= terms.most:
        assert verdict.needed <= terms.most + 1


@given(terms, opinions)
def test_what_is_settled_was_said(terms: Terms, given: list[Opinion]) -> None:
    verdict = verdict_on(terms, given)
    for key, value in verdict.values.items():
        assert value in [each.votes[key] for each in given if key in each.votes]
    assert verdict.is_done or not verdict.values


@given(terms, opinions, votes)
def test_who_was_called_to_decide_ends_it(terms: Terms, given: list[Opinion], vote: Votes) -> None:
    verdict = verdict_on(terms, [*given, Opinion(vote, True, True)])
    assert (verdict.is_done, verdict.values) == (True, vote)


@given(st.lists(votes, min_size=2, max_size=7), st.integers(2, 7))
def test_a_majority_is_more_than_half(cast: list[Votes], wanted: int) -> None:
    verdict = verdict_on(Terms(("intent",), wanted, most=7), [Opinion(each) for each in cast])
    if verdict.is_done:
        value = verdict.values["intent"]
        assert 2 * sum(each.get("intent", "?") == value for each in cast) > len(cast)


@pytest.mark.parametrize("rule", list(Rule))
@given(first=st.lists(votes, min_size=8, max_size=8), seniors=st.lists(st.booleans(), min_size=8, max_size=8))
def test_every_task_ends(rule: Rule, first: list[Votes], seniors: list[bool]) -> None:
    terms, given = Terms(("intent",), wanted=2, most=5, rule=rule), list[Opinion]()
    for vote, is_senior in zip(first, seniors, strict=True):
        verdict = verdict_on(terms, given)
        if verdict.is_done:
            break
        given.append(Opinion(vote, is_senior, decides=verdict.stage == Stage.ADJUDICATION))
    assert verdict_on(terms, given).is_done
    assert len(given) <= 6
