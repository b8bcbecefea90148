from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from tests.calibration.commands import run

EXAMPLES = Path(__file__).parents[1] / "stats" / "worked_examples.json"
RIGHT = {"id": "X06", "inputs": {"x": 0.02, "delta": 0.05}, "expected": 149}


@pytest.fixture
def written(tmp_path: Path) -> Path:
    return tmp_path / "examples.json"


def refused(path: Path, capsys: pytest.CaptureFixture[str]) -> tuple[int, str]:
    """The exit code, and all that was said."""
    with pytest.raises(CommandError) as raised:
        call_command("check_numbers", str(path))
    return raised.value.returncode, capsys.readouterr().out + str(raised.value)


def test_it_works() -> None:
    assert "40 examples: 0 differ, 0 cannot be read." in run("check_numbers", str(EXAMPLES))


def test_what_differs_is_named_with_its_place(written: Path, capsys: pytest.CaptureFixture[str]) -> None:
    wrong = {"id": "X01", "inputs": {"k": 3, "n": 60}, "expected": [0.010432, 0.14]}
    written.write_text(json.dumps([RIGHT, wrong]))
    code, said = refused(written, capsys)
    assert code == 1
    assert "X01: expected at [1] 0.14, computed 0.139" in said
    assert "2 examples: 1 differ" in said
    assert "X06" not in said


@pytest.mark.parametrize(
    ("changed", "says"),
    [
        ({"id": None}, "[0]: id: must be a text"),
        ({"id": "X99"}, "X99: no computation has the number"),
        ({"inputs": []}, "X06: inputs: must be an object"),
        ({"inputs": {"x": 0.02}}, "X06: the inputs lack 'delta'"),
        ({"inputs": {"x": "much", "delta": 0.05}}, "X06: inputs: do not fit this computation"),
        ({"inputs": {"x": 2, "delta": 0.05}}, "X06: x must lie strictly between 0 and 1"),
        ({"tol": "small"}, "X06: tol: must be a number"),
        ({"tol": True}, "X06: tol: must be a number"),
    ],
)
def test_a_malformed_example_is_named_with_its_field(
    written: Path, capsys: pytest.CaptureFixture[str], changed: dict[str, Any], says: str
) -> None:
    written.write_text(json.dumps([RIGHT | changed, RIGHT]))
    code, said = refused(written, capsys)
    assert code == 2
    assert says in said
    assert "2 examples: 0 differ, 1 cannot be read." in said


def test_a_missing_expected_is_not_null(written: Path, capsys: pytest.CaptureFixture[str]) -> None:
    written.write_text(json.dumps([{"id": "X06", "inputs": {}}]))
    assert "X06: expected: must be given" in refused(written, capsys)[1]


@pytest.mark.parametrize(
    "text", ["", "[1,", "[NaN]", '{"id": "X06"}', "[]", "[" * 100_000, "\ud800"], ids=range(7)
)
def test_what_is_no_list_in_json_is_refused(
    written: Path, capsys: pytest.CaptureFixture[str], text: str
) -> None:
    written.write_bytes(text.encode("utf-8", "surrogatepass"))
    code, said = refused(written, capsys)
    assert (code, str(written) in said) == (2, True)


def test_a_missing_file_is_named(written: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert "No such file" in refused(written, capsys)[1]
