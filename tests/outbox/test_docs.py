"""What docs/webhooks.md promises is what the code does."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from apps.outbox.events import EVENT_TYPES
from apps.outbox.posting import SEND_S
from apps.outbox.sending import MOST_FAILURES, PAUSES_S

DOCS = (Path(__file__).resolve().parents[2] / "docs" / "webhooks.md").read_text(encoding="utf-8")
SECONDS = {"s": 1, "min": 60, "h": 3_600}


def test_it_works() -> None:
    assert re.findall(r"^\| `(\w+\.\w+)` \|", DOCS, re.M) == list(EVENT_TYPES)


def test_the_pauses_are_those_between_tries() -> None:
    (said,) = re.findall(r"tried again after (.*?), later if", DOCS, re.S)
    told = re.findall(r"(\d+) (s|min|h)", said)
    assert tuple(int(number) * SECONDS[unit] for number, unit in told) == PAUSES_S


@pytest.mark.parametrize("said", [f"{SEND_S:.0f} seconds, all told", f"After {MOST_FAILURES} such rounds"])
def test_numbers(said: str) -> None:
    assert said in DOCS
