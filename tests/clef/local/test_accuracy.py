"""How good the stand-in is on the items that ship, which it has never seen: the examples stand apart."""

from __future__ import annotations

import json
import math
import tomllib
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from apps.clef.client import ClefClient
from apps.clef.local.server import StandIn
from apps.clef.types import Answer, ChoiceQuestion, EndpointSettings, ModelRequest

SAMPLES = Path(__file__).parents[3] / "apps" / "demo" / "samples"
SLUGS = ("leads", "messages-ar")


@cache
def items_of(slug: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (SAMPLES / f"{slug}.jsonl").read_text().splitlines()]


def routing_question(slug: str) -> dict[str, Any]:
    questions = tomllib.loads((SAMPLES / f"{slug}.toml").read_text())["questions"]
    question: dict[str, Any] = next(question for question in questions if question.get("routing"))
    return question


def to_choice(question: dict[str, Any]) -> ChoiceQuestion:
    options = {
        option["id"]: {"description": option["description"], "examples": option["examples"]}
        for option in question["options"]
    }
    return ChoiceQuestion(question["id"], question["instructions"], options)


@pytest.fixture(scope="module", params=SLUGS)
def answered(request: pytest.FixtureRequest, standin: StandIn) -> list[tuple[Answer, str]]:
    """The answer to every item over the wire, and the label its writer meant."""
    question, items = to_choice(routing_question(request.param)), items_of(request.param)
    with ClefClient(EndpointSettings("systemone", standin.url, "any")) as client:
        replies = [client.decide(ModelRequest(item["state"], (question,))) for item in items]
    return [(reply.answers[question.id], item["gold"]) for reply, item in zip(replies, items, strict=True)]


def wilson_low(right: int, n: int, z: float = 1.96) -> float:
    p = right / n
    half = z * math.sqrt((p * (1 - p) + z * z / (4 * n)) / n)
    return (p + z * z / (2 * n) - half) / (1 + z * z / n)


def test_it_works(answered: list[tuple[Answer, str]]) -> None:
    right = sum(answer.top == gold for answer, gold in answered)
    options = len(answered[0][0].probabilities)
    assert right / len(answered) >= 2 / options
    assert wilson_low(right, len(answered)) > 1 / options


def test_its_probabilities_are_not_absurd(answered: list[tuple[Answer, str]]) -> None:
    right = sum(answer.top == gold for answer, gold in answered) / len(answered)
    claimed = sum(answer.p_top for answer, _ in answered) / len(answered)
    assert claimed == pytest.approx(right, abs=0.12)


def test_no_item_is_one_of_the_examples() -> None:
    for slug in SLUGS:
        examples = {text for option in routing_question(slug)["options"] for text in option["examples"]}
        assert not any(set(texts_of(item["state"])) & examples for item in items_of(slug))


def texts_of(state: Any) -> list[str]:
    return [state] if isinstance(state, str) else [part for part in state.values() if isinstance(part, str)]
