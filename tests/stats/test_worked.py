from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from apps.stats.worked import COMPUTATIONS, Difference, check

EXAMPLES: list[dict[str, Any]] = json.loads(Path(__file__).with_name("worked_examples.json").read_text())


def test_it_works() -> None:
    assert check({"id": "X06", "inputs": {"x": 0.02, "delta": 0.05}, "expected": 149}) is None


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: example["id"])
def test_every_worked_example_is_met(example: dict[str, Any]) -> None:
    assert check(example) is None


def test_all_forty_kinds_are_there() -> None:
    assert {int(example["id"][1:]) for example in EXAMPLES} == set(range(1, 41)) == set(COMPUTATIONS)


def test_a_wrong_number_is_named_with_its_place() -> None:
    example = {"id": "X01", "inputs": {"k": 3, "n": 60}, "expected": [0.010432, 0.14]}
    assert check(example) == Difference("X01", "[1]", 0.14, pytest.approx(0.139243, abs=1e-6))


def test_an_undefined_value_is_not_zero() -> None:
    found = check({"id": "X10", "inputs": {"a": ["x", "x"], "b": ["x", "x"]}, "expected": 0.0})
    assert found == Difference("X10", "", 0.0, None)


def test_a_longer_list_or_a_missing_key_differs() -> None:
    seq = {"seq": [0, 1], "p0": 0.1, "p1": 0.25}
    assert check({"id": "X26", "inputs": seq, "expected": [0.0]}) is not None
    assert check({"id": "X35", "inputs": {"delta": 0.05}, "expected": {"mean": 1}}) is not None


@pytest.mark.parametrize("name", ["X41", "X0", "X"])
def test_an_unknown_number_is_refused(name: str) -> None:
    with pytest.raises(ValueError, match="no computation"):
        check({"id": name, "inputs": {}, "expected": None})


def test_missing_inputs_are_named() -> None:
    with pytest.raises(ValueError, match="'delta'"):
        check({"id": "X04", "inputs": {"k": 0, "n": 50}, "expected": 0.1})
