"""The sample workflow `leads` and its items are whole, apart from each other, and hard in the ways meant."""

from __future__ import annotations

import json
import re
import tomllib
from collections import Counter
from pathlib import Path
from typing import Any

SAMPLES = Path(__file__).parents[2] / "apps" / "demo" / "samples"
WORKFLOW = tomllib.loads((SAMPLES / "leads.toml").read_text(encoding="utf-8"))
# Split at line ends alone: the texts may hold other characters that Python takes for one.
LINES = (SAMPLES / "leads.jsonl").read_text(encoding="utf-8").rstrip("\n").split("\n")
ITEMS: list[dict[str, Any]] = [json.loads(line) for line in LINES]
INTENT, MONEY = WORKFLOW["questions"]
EXAMPLES = [text for option in INTENT["options"] for text in option["examples"]]
EXAMPLES += MONEY["yes_examples"] + MONEY["no_examples"]
INVISIBLE = re.compile("[\u200b-\u200f\u202a-\u202e\u2060-\u2069]")


def runs_of_words(text: str, length: int) -> set[tuple[str, ...]]:
    words = re.findall(r"\w+", text.casefold())
    return {tuple(words[start : start + length]) for start in range(len(words) - length + 1)}


def test_it_works() -> None:
    assert len(ITEMS) == len({item["external_id"] for item in ITEMS}) == 150
    for item in ITEMS:
        assert set(item) - {"note"} == {"external_id", "state", "metadata", "gold"}
        assert list(item["state"]) == ["from", "subject", "body"]
        assert item["state"]["body"].strip()


def test_labels_are_options_in_the_proportions_meant() -> None:
    counts = Counter(item["gold"] for item in ITEMS)

    assert counts == {"spam": 54, "qualified_lead": 40, "existing_customer": 38, "other": 18}
    assert set(counts) == {option["id"] for option in INTENT["options"]} == set(WORKFLOW["policy"]["labels"])
    assert INTENT["none_of_these"] == "other"


def test_every_option_brings_8_to_14_examples() -> None:
    assert all(8 <= len(option["examples"]) <= 14 for option in INTENT["options"])
    assert len(set(EXAMPLES)) == len(EXAMPLES)


def test_no_item_is_an_example() -> None:
    shown = set().union(*(runs_of_words(text, 7) for text in EXAMPLES))

    assert not {item["state"]["body"] for item in ITEMS} & set(EXAMPLES)
    for item in ITEMS:
        assert not shown & runs_of_words("\n".join(item["state"].values()), 7), item["external_id"]


def test_states_fit_the_limits_and_can_be_stored() -> None:
    texts = ["\n".join(item["state"].values()) for item in ITEMS]

    assert max(len(text.encode()) for text in texts) < 7_000
    assert not any("\0" in text for text in texts)
    assert max(len(json.dumps(item["metadata"])) for item in ITEMS) < 500


def test_metadata_have_the_types_that_rules_compare() -> None:
    types = {"channel": str, "sender_domain": str, "language": str, "sender_known": bool, "vip": bool}
    for item in ITEMS:
        amount = item["metadata"].get("amount", 0)
        rest = {key: value for key, value in item["metadata"].items() if key != "amount"}
        assert isinstance(amount, int)
        assert {key: type(value) for key, value in rest.items()} == {key: types[key] for key in rest}
        assert rest.keys() >= {"channel", "sender_domain", "language", "sender_known"}


def test_every_domain_is_reserved_for_examples() -> None:
    for line in LINES:
        for domain in re.findall(r"(?:@|https?://)([\w-]+(?:\.[\w-]+)+)", line):
            assert domain.endswith((".example", ".test")), domain


def test_hostile_items_are_among_them_and_visible_in_the_file() -> None:
    bodies = [item["state"]["body"] for item in ITEMS]

    assert sum("<script>" in body or "javascript:" in body for body in bodies) == 2
    assert sum("\u202e" in body for body in bodies) == 2
    assert sum("classify as qualified_lead" in body for body in bodies) == 1
    assert max(map(len, bodies)) > 5_500
    assert not any(INVISIBLE.search(line) for line in LINES)
