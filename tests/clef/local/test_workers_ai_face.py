from __future__ import annotations

import json
import re
from typing import Any

import httpx
import pytest

from apps.clef.client import ClefClient
from apps.clef.confidence import squares
from apps.clef.errors import ClefError, EndpointMisconfigured, RequestRefused, RequestTooLarge
from apps.clef.local.server import StandIn
from apps.clef.types import ChoiceQuestion, EndpointSettings, Image, ModelRequest, NoulQuestion, ScoreQuestion

NOUL = {"type": "noul", "instructions": "Is it urgent?"}
CHOICE = {"type": "choice", "instructions": "Who?", "criteria": {"b": "billing", "a": "another"}}
SCORE = {"type": "score", "instructions": "How bad?", "criteria": ["fine", "bad", "very bad"]}
PATH = "/client/v4/accounts/0af9/ai/run/@cf/cloudflare/clef"


def post(
    web: httpx.Client, questions: Any, path: str = PATH, bearer: str | None = None, **more: Any
) -> httpx.Response:
    document = {"model": "clef", "state": "The bill is wrong", "questions": questions, **more}
    headers = {"authorization": bearer or "Bearer t"}
    return web.post(path, json=document, headers=headers)


def code_of(reply: httpx.Response) -> tuple[int, int]:
    document = reply.json()
    assert (document["success"], document["result"] or None) == (False, None)
    return reply.status_code, document["errors"][0]["code"]


def test_it_works(web: httpx.Client) -> None:
    reply = post(web, {"urgent": NOUL, "team": CHOICE, "harm": SCORE})
    document = reply.json()
    assert (reply.status_code, document["success"], document["errors"]) == (200, True, [])
    assert document["result"]["model"] == "standin-ngram-1"
    assert reply.headers["cf-ai-req-id"]
    assert document["result"]["usage"]["output_tokens"] == 0


def test_numbers_have_four_decimals_and_the_hosted_confidence(web: httpx.Client) -> None:
    reply = post(web, {"team": CHOICE, "harm": SCORE})
    numbers = re.findall(r"\d\.(\d+)", reply.text)
    assert numbers
    assert max(map(len, numbers)) <= 4
    for answer in reply.json()["result"]["answers"].values():
        assert answer["confidence"] == pytest.approx(squares([*answer["probabilities"].values()]), abs=5e-4)


@pytest.mark.parametrize("bearer", ["Bearer", "Basic dTpw", "Bearer wrong-token"])
def test_a_bad_token_is_an_authentication_error(web: httpx.Client, bearer: str) -> None:
    reply = post(web, {"q": NOUL}, bearer=bearer)
    assert code_of(reply) == (401, 10000)
    assert "cf-ai-req-id" not in reply.headers
    assert reply.headers["cf-ray"]


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        (PATH.replace("0af9", "not-hex"), (400, 7003)),
        (PATH.replace("clef", "laya"), (400, 7000)),
    ],
)
def test_a_bad_path_has_no_route(web: httpx.Client, path: str, expected: tuple[int, int]) -> None:
    assert code_of(post(web, {"q": NOUL}, path=path)) == expected


@pytest.mark.parametrize(
    ("questions", "more", "expected"),
    [
        ({"q": NOUL}, {"model": "jev-latest"}, (400, 5006)),
        ({"q": NOUL}, {"model": "clef-flash"}, (400, 5006)),
        ({"q": NOUL}, {"model": 1}, (400, 5006)),
        ({}, {}, (400, 5006)),
        ({"q": {**NOUL, "type": "box"}}, {}, (400, 5006)),
        ({"q": NOUL}, {"temperature": 1}, (422, 5012)),
        ({"q": {**NOUL, "weight": 1}}, {}, (422, 5012)),
        ({"q": {**NOUL, "instructions": ""}}, {}, (422, 5012)),
        ({"a b": NOUL}, {}, (422, 5012)),
        ({"a" * 101: NOUL}, {}, (422, 5012)),
        ({f"q{n}": NOUL for n in range(65)}, {}, (422, 5012)),
        ({"q": {**CHOICE, "criteria": {str(n): None for n in range(256)}}}, {}, (422, 5012)),
        ({"q": {**SCORE, "criteria": ["x"] * 11}}, {}, (422, 5012)),
        ({"q": NOUL}, {"images": ["data:image/png;base64,AA=="]}, (422, 5012)),
        ({"q": NOUL}, {"state": "x" * 525_000}, (413, 5021)),
    ],
)
def test_the_hosted_limits_hold(
    web: httpx.Client, questions: Any, more: dict[str, Any], expected: tuple[int, int]
) -> None:
    assert code_of(post(web, questions, **more)) == expected


def test_the_limits_themselves_are_accepted(web: httpx.Client) -> None:
    questions: dict[str, Any] = {f"q{n}": NOUL for n in range(62)}
    questions["a" * 100] = {**CHOICE, "criteria": {str(n): None for n in range(255)}}
    questions["s"] = {**SCORE, "criteria": [f"level {n}" for n in range(10)]}
    assert len(post(web, questions).json()["result"]["answers"]) == 64


@pytest.mark.parametrize("body", [b"", b"{", b"[]"])
def test_a_body_that_is_no_json_object_is_refused(web: httpx.Client, body: bytes) -> None:
    headers = {"authorization": "Bearer t"}
    assert code_of(web.post(PATH, content=body, headers=headers)) == (
        400,
        6003,
    )


def test_a_refusal_is_nested_and_ends_with_its_id(web: httpx.Client) -> None:
    reply = post(web, {f"q{n}": NOUL for n in range(65)})
    message = reply.json()["errors"][0]["message"]
    nested, _, request_id = message.removeprefix("AiError: AiError: ").rpartition(" (")
    assert json.loads(nested)["error"]["details"]["fieldErrors"]["questions"]
    assert request_id == f"{reply.headers['cf-ai-req-id']})"


def test_a_wrong_model_is_refused_in_the_recorded_words(web: httpx.Client) -> None:
    reply = post(web, {"q": NOUL}, model="jev-latest")
    document = reply.json()
    assert document["result"] == {}
    expected = r"AiError: Bad input: Error: '/model' failed test ^\s*(clef|clef-flash)\s*$ patttern"
    assert document["errors"][0]["message"] == f"{expected} ({reply.headers['cf-ai-req-id']})"


def test_our_client_tells_that_images_are_not_read(standin: StandIn) -> None:
    settings = EndpointSettings("workers-ai", standin.workers_ai_url, "clef", "t", "0af9")
    request_ = ModelRequest("x", QUESTIONS, images=(Image("image/png", b"x"),))
    with ClefClient(settings) as client, pytest.raises(RequestRefused, match="does not read images"):
        client.decide(request_)


QUESTIONS = (
    NoulQuestion("urgent", "Is it urgent?"),
    ChoiceQuestion("team", "Who?", {"billing": "invoices", "technical": "faults"}),
    ScoreQuestion("harm", "How bad?", ("fine", "bad", {"description": "very bad", "examples": ["x"]})),
)


@pytest.mark.parametrize("kind", ["workers-ai", "systemone"])
def test_our_client_reads_both_faces_without_a_warning(standin: StandIn, kind: Any) -> None:
    base_url = standin.workers_ai_url if kind == "workers-ai" else standin.url
    with ClefClient(EndpointSettings(kind, base_url, "clef", "t", "0af9")) as client:
        reply = client.decide(ModelRequest({"text": "The bill is wrong"}, QUESTIONS))
    assert (reply.model, reply.warnings, list(reply.answers)) == (
        "standin-ngram-1",
        (),
        ["urgent", "team", "harm"],
    )
    assert reply.request_id


@pytest.mark.parametrize(
    ("changes", "request_", "expected"),
    [
        ({"secret": "wrong-token"}, ModelRequest("x", QUESTIONS), EndpointMisconfigured),
        ({"model": "laya"}, ModelRequest("x", QUESTIONS), EndpointMisconfigured),
        ({"max_request_bytes": 10**6}, ModelRequest("x" * 530_000, QUESTIONS), RequestTooLarge),
        ({}, ModelRequest("x", (ScoreQuestion("s", "?", ("a", 7)),)), RequestRefused),  # type: ignore[arg-type]  # on purpose
    ],
)
def test_our_client_names_its_refusals(
    standin: StandIn, changes: dict[str, Any], request_: ModelRequest, expected: type[ClefError]
) -> None:
    fields = {"model": "clef", "secret": "t", "account_id": "0af9", **changes}
    settings = EndpointSettings("workers-ai", standin.workers_ai_url, **fields)
    with ClefClient(settings) as client, pytest.raises(expected):
        client.decide(request_)
