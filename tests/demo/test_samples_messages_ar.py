"""The Arabic sample workflow and its 150 items: what the demo and the stand-in's own test lean on."""

from __future__ import annotations

import json
import tomllib
import unicodedata
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from apps import demo

SAMPLES = Path(demo.__file__).parent / "samples"
MAX_STATE_BYTES = 8_000
MONEY = "contract_or_payment"


@pytest.fixture(scope="module")
def workflow() -> dict[str, Any]:
    return tomllib.loads((SAMPLES / "messages-ar.toml").read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def written() -> str:
    return (SAMPLES / "messages-ar.jsonl").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def items(written: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in written.splitlines()]


def texts(item: dict[str, Any]) -> list[str]:
    state = item["state"]
    return [state] if isinstance(state, str) else list(state.values())


def options(workflow: dict[str, Any]) -> list[dict[str, Any]]:
    (routing,) = [question for question in workflow["questions"] if question.get("routing")]
    found: list[dict[str, Any]] = routing["options"]
    return found


def examples(workflow: dict[str, Any]) -> set[str]:
    (money,) = [question for question in workflow["questions"] if question["id"] == MONEY]
    of_options = {example for option in options(workflow) for example in option["examples"]}
    return of_options | set(money["yes_examples"]) | set(money["no_examples"])


def test_it_works(items: list[dict[str, Any]]) -> None:
    assert [item["external_id"] for item in items] == [f"messages-ar-{n:03d}" for n in range(1, 151)]


def test_counts_by_label(items: list[dict[str, Any]]) -> None:
    counts = Counter(item["gold"] for item in items)

    assert counts == {"order": 37, "complaint": 34, "price_inquiry": 34, "spam": 26, "other": 19}


def test_gold_is_an_option(items: list[dict[str, Any]], workflow: dict[str, Any]) -> None:
    assert {item["gold"] for item in items} == {option["id"] for option in options(workflow)}


def test_no_text_is_an_example_or_comes_twice(items: list[dict[str, Any]], workflow: dict[str, Any]) -> None:
    messages = [" ".join(texts(item)[0].split()) for item in items]

    assert len(set(messages)) == len(messages)
    assert not set(messages) & {" ".join(example.split()) for example in examples(workflow)}


def test_options_carry_enough_examples(workflow: dict[str, Any]) -> None:
    assert {len(option["examples"]) for option in options(workflow)} <= set(range(8, 15))


def test_state_is_a_message_with_or_without_the_one_before(items: list[dict[str, Any]]) -> None:
    shapes = Counter("text" if isinstance(item["state"], str) else tuple(item["state"]) for item in items)

    assert set(shapes) == {"text", ("message", "previous_message")}
    assert shapes["message", "previous_message"] >= 8


def test_state_can_be_stored_and_sent(items: list[dict[str, Any]]) -> None:
    for text in (text for item in items for text in texts(item)):
        assert text.strip()
        assert "\0" not in text
        assert len(text.encode()) <= MAX_STATE_BYTES


def test_one_message_is_very_long(items: list[dict[str, Any]]) -> None:
    assert max(len(text.encode()) for item in items for text in texts(item)) > 5_000


def test_metadata_types(items: list[dict[str, Any]]) -> None:
    types = {"channel": str, "language": str, "sender_known": bool, "vip": bool}
    for metadata in (item["metadata"] for item in items):
        assert all(type(metadata[key]) is kind for key, kind in types.items())
        assert "sender_domain" in metadata or "sender_phone_hash" in metadata
        assert type(metadata.get("amount", 0)) in (int, float)


def test_dialects_are_spread(items: list[dict[str, Any]]) -> None:
    languages = Counter(item["metadata"]["language"] for item in items)

    assert all(languages[tag] >= 5 for tag in ("ar", "ar-JO", "ar-EG", "ar-SA", "ar-MA", "ar-TN", "ar-Latn"))


def test_addresses_are_reserved_ones(items: list[dict[str, Any]]) -> None:
    domains = {item["metadata"].get("sender_domain", "none.example") for item in items}

    assert all(domain.endswith((".example", ".test")) for domain in domains)


def test_characters_nobody_sees_are_written_as_escapes(written: str, items: list[dict[str, Any]]) -> None:
    def hidden(text: str) -> set[str]:
        return {character for character in text if unicodedata.category(character) == "Cf"}

    assert not hidden(written)
    assert {"\u202e", "\u200b"} <= set().union(*(hidden(text) for item in items for text in texts(item)))


def test_every_label_has_a_rule_and_costs(workflow: dict[str, Any]) -> None:
    policy, ids = workflow["policy"], {option["id"] for option in options(workflow)}

    assert set(policy["labels"]) == ids
    assert {label: set(costs) for label, costs in policy["costs"].items()} == {i: ids - {i} for i in ids}
