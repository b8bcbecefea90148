from __future__ import annotations

from typing import Any

import httpx
import pytest

from apps.clef.confidence import peak, spread

NOUL = {"type": "noul", "instructions": "Is it urgent?"}
CHOICE = {
    "type": "choice",
    "instructions": "Who?",
    "criteria": {"billing": "invoices and payments", "technical": {"description": "faults"}, "آخر": None},
}
SCORE = {"type": "score", "instructions": "How bad?", "criteria": ["fine", {"text": "bad"}, ["very", "bad"]]}


def post(web: httpx.Client, questions: Any, **more: Any) -> httpx.Response:
    document = {"model": "jev-latest", "state": "The invoice is wrong", "questions": questions, **more}
    return web.post("/v1/systemone", json=document)


def answer_of(web: httpx.Client, question: dict[str, Any], id_: str = "q", **more: Any) -> dict[str, Any]:
    answer: dict[str, Any] = post(web, {id_: question}, **more).json()["answers"][id_]
    return answer


def test_it_works(web: httpx.Client) -> None:
    reply = post(web, {"urgent": NOUL, "team": CHOICE, "harm": SCORE})
    assert reply.status_code == 200
    assert reply.headers["content-type"] == "application/json"
    assert reply.json()["model"] == "standin-ngram-1"
    assert [answer["type"] for answer in reply.json()["answers"].values()] == ["noul", "choice", "score"]
    assert set(reply.json()["usage"]) == {"input_tokens", "output_tokens"}


def test_a_choice_is_its_most_probable_option(web: httpx.Client) -> None:
    answer = answer_of(web, CHOICE)
    assert list(answer["probabilities"]) == ["billing", "technical", "آخر"]
    assert answer["choice"] == "billing" == max(answer["probabilities"], key=answer["probabilities"].get)
    assert answer["confidence"] == pytest.approx(peak([*answer["probabilities"].values()]), abs=1e-4)


def test_a_score_is_the_mean_of_its_levels(web: httpx.Client) -> None:
    answer = answer_of(web, SCORE)
    shares = [*answer["probabilities"].values()]
    assert answer["score"] == pytest.approx(shares[1] + 2 * shares[2], abs=1e-4)
    assert answer["legend"] == {"0": "fine", "1": {"text": "bad"}, "2": ["very", "bad"]}
    assert answer["confidence"] == pytest.approx(spread(shares), abs=1e-4)


@pytest.mark.parametrize("id_", ["urgent", "is it urgent?", "긴급", "🔥", "a" * 300])
def test_the_question_id_changes_nothing(web: httpx.Client, id_: str) -> None:
    assert answer_of(web, CHOICE, id_) == answer_of(web, CHOICE, "q")


def test_other_questions_change_nothing(web: httpx.Client) -> None:
    together = post(web, {"x": NOUL, "q": CHOICE, "y": SCORE}).json()["answers"]["q"]
    assert together == answer_of(web, CHOICE)


@pytest.mark.parametrize(
    "criteria",
    [None, {}, {"true": "now"}, {"false": "later"}, {"true": "now", "false": ["later"]}, {"true": None}],
)
def test_a_noul_may_be_described_on_either_side(web: httpx.Client, criteria: Any) -> None:
    assert 0 < answer_of(web, {**NOUL, "criteria": criteria})["noul"] < 1


def test_yes_and_no_are_told_apart_by_their_examples(web: httpx.Client) -> None:
    sides = {
        "true": {"description": "money", "examples": ["refund me", "the invoice is wrong", "pay back"]},
        "false": {"description": "other", "examples": ["hello there", "how are you", "nice day"]},
    }
    question = {**NOUL, "criteria": sides}
    assert answer_of(web, question)["noul"] > 0.5 > answer_of(web, question, state="good day")["noul"]


@pytest.mark.parametrize("count", [2, 26, 64, 128, 255])
def test_up_to_255_options_are_answered(web: httpx.Client, count: int) -> None:
    answer = answer_of(web, {**CHOICE, "criteria": {f"option {n}": None for n in range(count)}})
    assert len(answer["probabilities"]) == count


@pytest.mark.parametrize("state", ["", "text", {"a": {"b": ["c"]}}, ["a", 1, None], "\x00", "🙂" * 1000])
def test_any_text_object_or_array_is_a_state(web: httpx.Client, state: Any) -> None:
    assert post(web, {"q": NOUL}, state=state).status_code == 200


def test_what_it_does_not_know_is_ignored(web: httpx.Client) -> None:
    reply = post(web, {"q": {**NOUL, "x_more": 1}}, temperature=1, images=[])
    assert reply.status_code == 200


@pytest.mark.parametrize(
    ("questions", "more", "loc"),
    [
        ({"q": NOUL}, {"model": None}, ["body", "model"]),
        ({"q": NOUL}, {"state": None}, ["body", "state"]),
        ({"q": NOUL}, {"images": ["data:image/png;base64,AA=="]}, ["body", "images"]),
        ({}, {}, ["body", "questions"]),
        ([NOUL], {}, ["body", "questions"]),
        ({"q": "?"}, {}, ["body", "questions", "q"]),
        ({"q": {"type": "noul"}}, {}, ["body", "questions", "q", "instructions"]),
        ({"q": {**NOUL, "criteria": []}}, {}, ["body", "questions", "q", "criteria"]),
        ({"q": {**CHOICE, "criteria": {"one": None}}}, {}, ["body", "questions", "q", "criteria"]),
        ({"q": {**CHOICE, "criteria": ["a", "b"]}}, {}, ["body", "questions", "q", "criteria"]),
        ({"q": {**SCORE, "criteria": {"0": "a", "1": "b"}}}, {}, ["body", "questions", "q", "criteria"]),
        ({"q": {**SCORE, "criteria": ["a", None]}}, {}, ["body", "questions", "q", "criteria"]),
    ],
)
def test_a_wrong_field_is_named_and_not_repeated(
    web: httpx.Client, questions: Any, more: dict[str, Any], loc: list[str]
) -> None:
    reply = post(web, questions, **more)
    assert (reply.status_code, reply.json()["detail"][0]["loc"]) == (422, loc)
    assert set(reply.json()["detail"][0]) == {"loc", "msg", "type"}


@pytest.mark.parametrize("type_", ["box", "boolean", None, 7])
def test_an_unknown_type_is_named(web: httpx.Client, type_: object) -> None:
    reply = post(web, {"q": {**NOUL, "type": type_}})
    assert (reply.status_code, reply.json()["detail"][0]["loc"]) == (422, ["body", "questions", "q", "type"])


@pytest.mark.parametrize("criteria", [{"true": "They threaten us"}, {"true": "now", "false": "later"}])
def test_a_noul_may_say_in_its_criteria_alone_what_is_asked(web: httpx.Client, criteria: Any) -> None:
    assert 0 < answer_of(web, {"type": "noul", "criteria": criteria})["noul"] < 1


def test_it_says_that_it_does_not_read_images(web: httpx.Client) -> None:
    reply = post(web, {"q": NOUL}, images=["data:image/png;base64,AA=="])
    assert reply.json()["detail"][0]["msg"] == "This model does not read images"


@pytest.mark.parametrize("body", [b"", b"{", b"[]", b"\xff", b'{"state": NaN}', b"[" * 100_000])
def test_a_body_that_is_no_json_object_is_refused(web: httpx.Client, body: bytes) -> None:
    assert web.post("/v1/systemone", content=body).status_code == 422


def test_a_state_nested_too_deeply_is_answered_or_refused_but_never_dropped(web: httpx.Client) -> None:
    for depth in (500, 900, 950, 980):
        state = b"[" * depth + b'"x"' + b"]" * depth
        body = b'{"model":"m","questions":{"q":{"type":"noul","instructions":"?"}},"state":%s}' % state
        assert web.post("/v1/systemone", content=body).status_code in (200, 400, 422)
