"""What the published recordings asked, asked of the stand-in: the same shape, the same arithmetic."""

from __future__ import annotations

import json
from itertools import pairwise
from typing import Any

import pytest

from apps.clef.client import ClefClient
from apps.clef.confidence import peak, spread, squares
from apps.clef.local.server import StandIn
from apps.clef.types import EndpointSettings, ModelReply, ModelRequest
from tests.clef.recordings import RECORDINGS, WA1, WA8, Recording

STATE = {"subject": "The router is down", "body": "Nothing works since this morning, please fix it at once."}
HOSTED = [recording for recording in RECORDINGS if recording.kind == "workers-ai"]
FACES = [(recording, kind) for recording in RECORDINGS for kind in ("workers-ai", "systemone")]


def ask(standin: StandIn, recording: Recording, kind: Any) -> ModelReply:
    base_url = standin.workers_ai_url if kind == "workers-ai" else standin.url
    model = recording.model if kind == "systemone" or recording in HOSTED else "clef"
    with ClefClient(EndpointSettings(kind, base_url, model, "t", "0af9")) as client:
        return client.decide(ModelRequest(STATE, recording.questions))


def shape(document: Any) -> Any:
    """Keys and types as deep as they go; numbers are numbers."""
    if isinstance(document, dict):
        return {key: shape(value) for key, value in document.items()}
    return "number" if isinstance(document, int | float) else type(document).__name__


def test_it_works(standin: StandIn) -> None:
    document = json.loads(ask(standin, WA1, "workers-ai").body)
    assert shape(document) == shape({**WA1.document, "success": 1})


@pytest.mark.parametrize("recording", HOSTED, ids=lambda recording: recording.name)
def test_an_answer_has_the_recorded_shape(standin: StandIn, recording: Recording) -> None:
    document = json.loads(ask(standin, recording, "workers-ai").body)
    recorded = recording.document.get("result", recording.document)
    assert shape(document["result"]) == shape(recorded)
    assert document["result"]["usage"]["output_tokens"] == 0


@pytest.mark.parametrize(("recording", "kind"), FACES, ids=lambda part: getattr(part, "name", part))
def test_every_recorded_question_is_answered_without_a_warning(
    standin: StandIn, recording: Recording, kind: str
) -> None:
    reply = ask(standin, recording, kind)
    assert reply.warnings == ()
    assert list(reply.answers) == list(recording.answers)


@pytest.mark.parametrize(("recording", "kind"), FACES, ids=lambda part: getattr(part, "name", part))
def test_the_numbers_agree_with_each_other(standin: StandIn, recording: Recording, kind: str) -> None:
    document = json.loads(ask(standin, recording, kind).body)
    for answer in document.get("result", document)["answers"].values():
        if answer["type"] == "noul":
            continue
        shares = [*answer["probabilities"].values()]
        assert sum(shares) == pytest.approx(1, abs=2e-4)
        of_score = squares if kind == "workers-ai" else spread
        of_choice = squares if kind == "workers-ai" else peak
        formula = of_choice if answer["type"] == "choice" else of_score
        assert answer["confidence"] == pytest.approx(formula(shares), abs=5e-4)


@pytest.mark.parametrize("kind", ["workers-ai", "systemone"])
def test_a_score_is_the_mean_level(standin: StandIn, kind: str) -> None:
    document = json.loads(ask(standin, WA8, kind).body)
    answer = document.get("result", document)["answers"]["severity"]
    mean = sum(int(level) * p for level, p in answer["probabilities"].items())
    assert answer["score"] == pytest.approx(mean, abs=3e-4)
    assert all(int(after) == int(before) + 1 for before, after in pairwise(answer["legend"]))
