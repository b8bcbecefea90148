"""Real models' stored probabilities with the true answers, as items of a workflow of few labels.

The models tell 151 and 77 intents apart: too many for a certificate each, which needs 140 answers and more. So people
are asked whom a message is for. CLINC150 has ten published domains: two by two they are the work of five teams.
BANKING77 has none: seven topics, by what an intent is called. A team's probability is the sum of its intents'.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

MODELS = ("logreg_c1", "svm_softmax", "nb_a01")
OUT_OF_SCOPE = "oos"
_TEAMS = {
    "banking": "money",
    "credit_cards": "money",
    "travel": "on_the_road",
    "auto_and_commute": "on_the_road",
    "home": "household",
    "kitchen_and_dining": "household",
    "work": "office",
    "utility": "office",
    "meta": "assistant",
    "small_talk": "assistant",
    OUT_OF_SCOPE: OUT_OF_SCOPE,
}
# An intent belongs to the first topic one of whose words its name contains. Made from the names alone.
_TOPICS = (
    ("top_up", ("top_up", "topping_up")),
    ("transfer", ("transfer", "beneficiary", "receiving_money")),
    ("cash", ("cash", "atm_support")),
    ("card_payment", ("card_payment", "direct_debit", "charged_twice", "extra_charge", "refund")),
    ("identity", ("verify", "identity", "personal_details", "age_limit", "terminate", "country_support")),
    ("exchange", ("exchange", "currency", "currencies")),
    ("card", ("card", "pin", "contactless", "pay", "phone", "passcode")),
)


@dataclass(frozen=True, slots=True)
class Example:
    """`shares` are in the order of the recording's labels and sum to 1."""

    text: str
    truth: str
    shares: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Recording:
    """`none_of_these` is the label of messages for nobody, where the data has them."""

    data: str
    model: str
    labels: tuple[str, ...]
    none_of_these: str | None
    examples: tuple[Example, ...]

    def top(self, example: Example) -> tuple[str, float]:
        """The label a policy acts on, and its probability; of equals the first."""
        share = max(example.shares)
        return self.labels[example.shares.index(share)], share


def recordings(folder: Path) -> Iterator[Recording]:
    """Of both data sets and all three models, from `folder`, which holds a folder for each data set."""
    teams = {row["label"]: _TEAMS[row["domain"]] for row in _rows(folder / "clinc150-oos" / "train.jsonl")}
    for model in MODELS:
        yield _read(folder, "clinc150", model, teams.__getitem__, OUT_OF_SCOPE)
    for model in MODELS:
        yield _read(folder, "banking77", model, topic_of, None)


@cache
def topic_of(intent: str) -> str:
    """Raises ValueError for an intent of no topic."""
    for topic, words in _TOPICS:
        if any(word in intent.lower() for word in words):
            return topic
    raise ValueError(f"{intent} belongs to no topic")


def _read(
    folder: Path, data: str, model: str, group_of: Callable[[str], str], none_of_these: str | None
) -> Recording:
    rows = list(_rows(folder / f"model-probs-{data}" / f"{model}.jsonl"))
    labels = tuple(
        sorted({group_of(intent) for row in rows for intent in (row["gold"], *row["probabilities"])})
    )
    return Recording(
        data, model, labels, none_of_these, tuple(_to_example(row, labels, group_of) for row in rows)
    )


def _to_example(row: dict[str, Any], labels: tuple[str, ...], group_of: Callable[[str], str]) -> Example:
    shares = dict.fromkeys(labels, 0.0)
    for intent, share in row["probabilities"].items():
        shares[group_of(intent)] += share
    # The source rounds to four decimals, so a row sums to 0.98 to 1.01.
    whole = sum(shares.values())
    return Example(row["text"], group_of(row["gold"]), tuple(share / whole for share in shares.values()))


def _rows(path: Path) -> Iterator[dict[str, Any]]:
    with path.open(encoding="utf-8") as file:
        for line in file:
            yield json.loads(line)
