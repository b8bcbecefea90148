from __future__ import annotations

import json
from typing import Any

import httpx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from apps.clef.errors import InvalidReply
from apps.clef.replies import check_reply, parse
from apps.clef.types import Answer, ChoiceQuestion, EndpointKind, NoulQuestion, ScoreQuestion

from .asking import Asking
from .recordings import WA1

TEAM = ChoiceQuestion("team", "Who?", {"a": None, "b": None, "c": None})
URGENT = NoulQuestion("urgent", "Is it?")
HARM = ScoreQuestion("harm", "How much?", ("none", "some", "much"))


def read_team(kind: EndpointKind = "workers-ai", **changes: Any) -> tuple[Answer, tuple[str, ...]]:
    answer = {
        "type": "choice",
        "choice": "a",
        "probabilities": {"a": 0.6, "b": 0.3, "c": 0.1},
        "confidence": 0.2,
        **changes,
    }
    return read(TEAM, answer, kind)


def read_harm(**changes: Any) -> tuple[Answer, tuple[str, ...]]:
    answer = {
        "type": "score",
        "score": 1.1,
        "probabilities": {"0": 0.2, "1": 0.5, "2": 0.3},
        "confidence": 0.2,
        **changes,
    }
    return read(HARM, answer)


def read(question: Any, answer: Any, kind: EndpointKind = "workers-ai") -> tuple[Answer, tuple[str, ...]]:
    document = {
        "model": "m",
        "answers": {question.id: answer},
        "usage": {"input_tokens": 1, "output_tokens": 0},
    }
    checked = check_reply(document, (question,), kind=kind, asked_model="clef")
    return checked.answers[question.id], checked.warnings


def test_it_works() -> None:
    answer, warnings = read_team()
    assert answer.probabilities == (("a", 0.6), ("b", 0.3), ("c", 0.1))
    assert (answer.top, answer.p_top, answer.raw_confidence, warnings) == ("a", 0.6, 0.2, ())


@pytest.mark.parametrize(
    "text",
    [
        "",
        "<html>",
        '{"answers":{',
        "[]",
        "null",
        '{"a": NaN}',
        '{"a": -Infinity}',
        '{"a": 1, "a": 2}',
        "[" * 100_000,
        '{"a": ' + "9" * 5000 + "}",
    ],
)
def test_what_is_not_one_json_object_is_refused(text: str) -> None:
    with pytest.raises(InvalidReply):
        parse(text)


@pytest.mark.parametrize(
    "document",
    [
        {},
        {"answers": []},
        {"result": None},
        {"result": {}},
        {"result": {"answers": None}},
        {"success": False, "result": {"answers": {}}},
        {"success": "true", "result": {"answers": {}}},
    ],
)
def test_a_reply_without_answers_is_refused(document: dict[str, Any]) -> None:
    assert isinstance(Asking(httpx.Response(200, json=document)).fail(), InvalidReply)


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({"type": "noul"}, "wrong_type"),
        ({"type": "box"}, "wrong_type"),
        ({"type": None}, "wrong_type"),
        ({"probabilities": None}, "no_probabilities"),
        ({"probabilities": [0.6, 0.3, 0.1]}, "no_probabilities"),
        ({"probabilities": {"a": 0.9, "b": 0.1}}, "wrong_options"),
        ({"probabilities": {"a": 0.9, "b": 0.1, "C": 0}}, "wrong_options"),
        ({"probabilities": {"a": 0.9, "b": 0.1, "c": 0, "d": 0}}, "wrong_options"),
        ({"probabilities": {"a": "0.6", "b": 0.3, "c": 0.1}}, "bad_probability"),
        ({"probabilities": {"a": True, "b": 0, "c": 0}}, "bad_probability"),
        ({"probabilities": {"a": None, "b": 0.9, "c": 0.1}}, "bad_probability"),
        ({"probabilities": {"a": float("nan"), "b": 0.9, "c": 0.1}}, "bad_probability"),
        ({"probabilities": {"a": float("inf"), "b": 0.9, "c": 0.1}}, "bad_probability"),
        ({"probabilities": {"a": 1.00001, "b": 0, "c": 0}}, "bad_probability"),
        ({"probabilities": {"a": 1.0, "b": 0.00001, "c": -0.00001}}, "bad_probability"),
        ({"probabilities": {"a": 0, "b": 0, "c": 0}}, "bad_sum"),
        ({"probabilities": {"a": 0.6213, "b": 0.3, "c": 0.1}}, "bad_sum"),
        ({"probabilities": {"a": 0.5787, "b": 0.3, "c": 0.1}}, "bad_sum"),
        ({"choice": "d"}, "bad_choice"),
        ({"choice": None}, "bad_choice"),
        ({"choice": ["a"]}, "bad_choice"),
    ],
)
def test_a_choice_that_cannot_be_trusted_is_refused(changes: dict[str, Any], code: str) -> None:
    with pytest.raises(InvalidReply) as caught:
        read_team(**changes)
    assert caught.value.code == code


@pytest.mark.parametrize("score", [None, "1.1", True, 2.01, -0.01, float("nan"), float("inf")])
def test_a_score_outside_its_levels_is_refused(score: Any) -> None:
    with pytest.raises(InvalidReply):
        read_harm(score=score)


@pytest.mark.parametrize("noul", [None, "0.5", True, 1.1, -0.1, float("nan"), {}])
def test_a_noul_that_is_no_probability_is_refused(noul: Any) -> None:
    with pytest.raises(InvalidReply):
        read(URGENT, {"type": "noul", "noul": noul})


@pytest.mark.parametrize("answer", [None, [], "yes", 1])
def test_an_answer_that_is_no_object_is_refused(answer: Any) -> None:
    with pytest.raises(InvalidReply):
        read(URGENT, answer)


def test_an_unanswered_question_is_refused() -> None:
    document = WA1.document
    del document["result"]["answers"]["team"]
    error = Asking(httpx.Response(200, json=document)).fail()
    assert (type(error), error.code) == (InvalidReply, "no_answer")


def test_an_answer_nobody_asked_for_is_recorded() -> None:
    document = WA1.document
    document["result"]["answers"]["more"] = {"type": "box"}
    reply = Asking(httpx.Response(200, json=document)).decide()
    assert reply.warnings == ("1 answers nobody asked for",)
    assert "more" not in reply.answers


@pytest.mark.parametrize(
    ("changes", "warning"),
    [
        ({"choice": "b"}, "team: the choice is not the most probable option"),
        ({"confidence": None}, "team: no readable confidence"),
        ({"confidence": 7}, "team: no readable confidence"),
        ({"confidence": "high"}, "team: no readable confidence"),
    ],
)
def test_an_odd_choice_is_recorded_and_probabilities_trusted(changes: dict[str, Any], warning: str) -> None:
    answer, warnings = read_team(**changes)
    assert (answer.top, warnings) == ("a", (warning,))


@pytest.mark.parametrize(
    ("changes", "warning"),
    [
        ({"score": 1.5}, "harm: the score is not the mean of its levels"),
        ({"probabilities": [0.2, 0.5, 0.3]}, "harm: probabilities as an array"),
        ({"legend": {"0": "much", "1": "some", "2": "none"}}, "harm: the legend is not the levels as sent"),
    ],
)
def test_an_odd_score_is_recorded(changes: dict[str, Any], warning: str) -> None:
    answer, warnings = read_harm(**changes)
    assert answer.probabilities == (("0", 0.2), ("1", 0.5), ("2", 0.3))
    assert warnings == (warning,)


def test_an_empty_legend_is_nothing_odd() -> None:
    assert read_harm(legend={"0": None, "1": None, "2": None})[1] == ()


def test_probability_stands_in_for_noul() -> None:
    answer, warnings = read(URGENT, {"type": "noul", "probability": 0.25})
    assert answer.probabilities == (("true", 0.25), ("false", 0.75))
    assert warnings == ("urgent: `probability` in place of `noul`",)


def test_usage_and_model_may_be_missing() -> None:
    document = {"answers": {"urgent": {"type": "noul", "noul": 0.5}}, "usage": {"input_tokens": -1}}
    checked = check_reply(document, (URGENT,), kind="systemone", asked_model="clef")
    assert (checked.model, checked.input_tokens, checked.output_tokens) == ("clef", None, None)
    assert len(checked.warnings) == 3


def test_of_equals_the_first_declared_wins() -> None:
    answer, warnings = read_team(choice="b", probabilities={"c": 0.2, "b": 0.4, "a": 0.4})
    assert (answer.top, warnings) == ("a", ())


def test_two_decimals_may_miss_one_by_more() -> None:
    question = ChoiceQuestion("q", "?", {f"o{n}": None for n in range(20)})
    answer = {"type": "choice", "choice": "o0", "probabilities": {f"o{n}": 0.05 for n in range(20)}}
    answer["probabilities"] |= {"o0": 0.0, "o1": 0.0}  # type: ignore[operator]  # a dict among strings
    assert sum(p for _, p in read(question, answer, "systemone")[0].probabilities) == pytest.approx(1)
    with pytest.raises(InvalidReply):
        read(question, answer, "workers-ai")


def test_more_decimals_may_not() -> None:
    with pytest.raises(InvalidReply):
        read_team("systemone", probabilities={"a": 0.6213, "b": 0.3, "c": 0.1})


def test_half_a_percent_of_doubt_about_the_choice_is_rounding() -> None:
    assert read_team(choice="b", probabilities={"a": 0.4525, "b": 0.4475, "c": 0.1})[1] == ()


@settings(deadline=None)  # a busy machine is no failure
@given(weights=st.lists(st.floats(0, 1), min_size=2, max_size=60).filter(lambda weights: sum(weights) > 1e-3))
def test_whatever_was_rounded_is_read_as_a_distribution(weights: list[float]) -> None:
    options = {f"o{n}": round(weight / sum(weights), 4) for n, weight in enumerate(weights)}
    question = ChoiceQuestion("q", "?", dict.fromkeys(options))
    choice = max(options, key=options.__getitem__)
    answer, _ = read(question, {"type": "choice", "choice": choice, "probabilities": options})
    assert sum(p for _, p in answer.probabilities) == pytest.approx(1, abs=1e-12)
    assert answer.top == choice


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=10,
)


@settings(deadline=None)  # a busy machine is no failure
@given(answer=st.dictionaries(st.sampled_from(["type", "choice", "probabilities", "confidence"]), JSON))
def test_no_strange_answer_breaks_the_reader(answer: dict[str, Any]) -> None:
    with pytest.raises(InvalidReply):
        read(TEAM, {**answer, "type": "choice", "probabilities": answer.get("probabilities")})


@settings(deadline=None)  # a busy machine is no failure
@given(document=st.dictionaries(st.sampled_from(["result", "answers", "usage", "error", "success"]), JSON))
def test_no_strange_document_breaks_the_client(document: dict[str, Any]) -> None:
    response = httpx.Response(200, content=json.dumps(document))
    error = Asking(response).fail()
    assert error.http_status == 200
