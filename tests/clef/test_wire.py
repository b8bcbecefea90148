from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from apps.clef.errors import ClefError, RequestRefused, RequestTooLarge
from apps.clef.types import ChoiceQuestion, Image, ModelRequest, NoulQuestion, Question, ScoreQuestion
from apps.clef.wire import to_body

from .asking import Asking, ok, request_for

NOUL = NoulQuestion("urgent", "Is it?")


def body_of(*questions: Question, state: Any = "text", images: tuple[Image, ...] = ()) -> dict[str, Any]:
    body = to_body(ModelRequest(state, questions, images), model="clef", max_bytes=256_000)
    document: dict[str, Any] = json.loads(body)
    return document


def refusal_of(*questions: Question, **more: Any) -> ClefError:
    with pytest.raises(RequestRefused) as caught:
        body_of(*questions, **more)
    return caught.value


def test_it_works() -> None:
    choice = ChoiceQuestion("team", "Who?", {"b": {"description": "B", "examples": ["x"]}, "a": None})
    score = ScoreQuestion("harm", "How much?", ("none", "much"))
    assert body_of(choice, score, NOUL, state={"text": "سلام"}) == {
        "model": "clef",
        "state": {"text": "سلام"},
        "questions": {
            "team": {
                "type": "choice",
                "instructions": "Who?",
                "criteria": {"b": {"description": "B", "examples": ["x"]}, "a": None},
            },
            "harm": {"type": "score", "instructions": "How much?", "criteria": ["none", "much"]},
            "urgent": {"type": "noul", "instructions": "Is it?"},
        },
    }


def test_the_order_of_questions_and_options_is_kept() -> None:
    choice = ChoiceQuestion("z", "Who?", {"b": None, "a": None})
    questions = body_of(choice, NOUL)["questions"]
    assert list(questions) == ["z", "urgent"]
    assert list(questions["z"]["criteria"]) == ["b", "a"]


def test_one_side_of_a_noul_may_be_described() -> None:
    question = NoulQuestion("urgent", "Is it?", yes="today")
    assert body_of(question)["questions"]["urgent"]["criteria"] == {"true": "today"}


def test_an_image_travels_as_a_data_url() -> None:
    images = body_of(NOUL, images=(Image("image/png", b"\x89PNG"),))["images"]
    assert images == ["data:image/png;base64,iVBORw=="]


@pytest.mark.parametrize("id_", ["", "a b", "a" * 101, "é", "a\n", "a/b"])
def test_a_question_id_outside_the_common_alphabet_is_refused(id_: str) -> None:
    error = refusal_of(NoulQuestion(id_, "Is it?"))
    assert (error.code, error.reason, error.scope, error.retry) == ("question_id", "bug", "item", False)


@pytest.mark.parametrize(
    "question",
    [
        NoulQuestion("q", " "),
        ChoiceQuestion("q", "?", {"only": None}),
        ChoiceQuestion("q", "?", {f"o{n}": None for n in range(256)}),
        ChoiceQuestion("q", "?", {"a": None, " ": None}),
        ChoiceQuestion("q", "?", {"a": None, "\u200b": None}),
        ChoiceQuestion("q", "?", {"Spam": None, "spam": None}),
        ChoiceQuestion("q", "?", {"caf\u00e9": None, "cafe\u0301": None}),
        ScoreQuestion("q", "?", ("one",)),
        ScoreQuestion("q", "?", tuple("abcdefghijk")),
        ScoreQuestion("q", "?", ("one", None)),
    ],
)
def test_a_question_some_endpoint_refuses_is_not_sent(question: Question) -> None:
    assert refusal_of(question).reason == "bug"


def test_the_limits_themselves_are_accepted() -> None:
    choice = ChoiceQuestion("q" * 100, "?", {f"o{n}": None for n in range(255)})
    nouls = [NoulQuestion(f"n{n}", "?") for n in range(62)]
    assert len(body_of(choice, ScoreQuestion("s", "?", tuple("abcdefghij")), *nouls)["questions"]) == 64


def test_too_many_or_no_or_doubled_questions_are_refused() -> None:
    assert refusal_of(*[NoulQuestion(f"n{n}", "?") for n in range(65)]).code == "questions"
    assert refusal_of().code == "questions"
    assert refusal_of(NOUL, NOUL).code == "question_id"


@pytest.mark.parametrize("state", [None, 7, "\ud800", {"a": float("nan")}, {"a": {1, 2}}, {"\udfff": 1}])
def test_a_state_that_is_not_json_is_refused_without_repeating_it(state: Any) -> None:
    error = refusal_of(NOUL, state=state)
    assert (error.code, error.reason, error.__context__) == ("state", "bad_input", None)


def test_a_bottomless_state_is_refused() -> None:
    state: list[Any] = []
    for _ in range(100_000):
        state = [state]
    assert refusal_of(NOUL, state=state).code == "state"


def test_images_are_counted_and_typed() -> None:
    png = Image("image/png", b"x")
    assert refusal_of(NOUL, images=(png,) * 5).code == "images"
    assert refusal_of(NOUL, images=(Image("image/gif", b"x"),)).code == "images"


def test_a_request_over_the_limit_is_never_sent() -> None:
    asking = Asking(ok(), max_request_bytes=500)
    with pytest.raises(RequestTooLarge) as caught:
        asking.client.decide(request_for(state="ä" * 400))
    assert caught.value.limit_bytes == 500
    assert (caught.value.size_bytes or 0) > 800
    assert asking.requests == []


@settings(deadline=None)  # a busy machine is no failure
@given(
    state=st.text() | st.dictionaries(st.text(), st.text() | st.floats(allow_nan=False, allow_infinity=False))
)
def test_every_state_arrives_as_it_was(state: Any) -> None:
    assert body_of(NOUL, state=state)["state"] == state
