from __future__ import annotations

import json

import pytest

from apps.clef.types import Answer

from .asking import Asking, ok
from .recordings import RECORDINGS, WA1, Recording


def test_it_works() -> None:
    reply = Asking(ok(WA1)).decide()
    assert reply.answers["team"].top == "technical"
    assert reply.answers["team"].p("billing") == pytest.approx(0.1762)
    assert (reply.model, reply.input_tokens, reply.output_tokens) == ("clef", 346, 0)


@pytest.mark.parametrize("recording", RECORDINGS, ids=lambda recording: recording.name)
def test_every_recorded_reply_is_read(recording: Recording) -> None:
    reply = Asking(ok(recording), kind=recording.kind).decide(recording)
    assert (reply.model, reply.warnings, reply.attempts) == (recording.model, recording.warnings, 1)
    assert list(reply.answers) == list(recording.answers)
    for id_, recorded in recording.answers.items():
        check_answer(reply.answers[id_], recorded)


def check_answer(answer: Answer, recorded: object) -> None:
    probabilities = dict(answer.probabilities)
    assert sum(probabilities.values()) == pytest.approx(1, abs=1e-12)
    if not isinstance(recorded, tuple):
        assert probabilities["true"] == recorded
        return
    top, shares, confidence = recorded
    assert list(probabilities) == list(shares)
    assert probabilities == pytest.approx(shares, abs=2e-4)
    assert answer.raw_confidence == confidence
    if isinstance(top, str):
        assert answer.top == top


def test_the_recorded_text_is_kept_unchanged() -> None:
    response = ok(WA1)
    assert Asking(response).decide().body == response.text


def test_the_request_is_the_documented_one() -> None:
    asking = Asking(ok(WA1), model="@cf/cloudflare/clef")
    asking.decide()
    sent = asking.requests[0]
    assert sent.url.path == "/client/v4/accounts/a1b2/ai/run/@cf/cloudflare/clef"
    assert sent.headers["authorization"] == "Bearer s3cret"
    assert json.loads(sent.content)["model"] == "clef"


@pytest.mark.parametrize("base_url", ["http://h:1/", "http://h:1/v1", "http://h:1/v1/"])
def test_a_plain_server_is_found_with_and_without_v1(base_url: str) -> None:
    asking = Asking(ok(WA1), kind="systemone", base_url=base_url, secret=None)
    asking.decide()
    assert str(asking.requests[0].url) == "http://h:1/v1/systemone"
    assert "authorization" not in asking.requests[0].headers


@pytest.mark.parametrize(
    ("headers", "expected"),
    [
        ({"cf-ai-req-id": "req-1", "cf-ray": "ray-1"}, "req-1"),
        ({"x-typesafe-request-id": "ts-1"}, "ts-1"),
        ({"cf-ray": "ray-1"}, "ray-1"),
        ({}, None),
    ],
)
def test_the_request_id_is_the_models_before_the_edges(headers: dict[str, str], expected: str | None) -> None:
    assert Asking(ok(WA1, **headers)).decide().request_id == expected
