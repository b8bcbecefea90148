from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from apps.clef.local.reading import Reader
from apps.demo.standin_evaluation import (
    Labelled,
    UnreadableFile,
    evaluate,
    read_labelled,
    report,
    split,
)
from apps.stats.intervals import wilson

ROWS = [
    Labelled(f"{word} number {n}", label)
    for label, words in (("order", ("buy", "send")), ("complaint", ("broken", "late")))
    for word in words
    for n in range(40)
]
DATA = Path(__file__).parents[4] / "shared" / "data"


def write_jsonl(path: Path, rows: list[Labelled] = ROWS) -> Path:
    path.write_text("".join(json.dumps({"text": row.text, "label": row.label}) + "\n" for row in rows))
    return path


def run(path: Path, **options: Any) -> str:
    out = io.StringIO()
    call_command("standin", evaluate=path, model="ngram", stdout=out, **options)
    return out.getvalue()


def test_it_works(tmp_path: Path) -> None:
    said = run(write_jsonl(tmp_path / "a.jsonl"), examples_per_option=[10]).splitlines()
    assert said[0] == "standin-ngram-1: 2 options, 20 examples, 140 texts asked"
    low, high = wilson(140, 140)
    assert said[1] == f"accuracy  1.000  140 of 140, 95 %: {low:.3f} to {high:.3f}"
    assert said[2].startswith("ECE ")
    assert [line.split()[0] for line in said[6:]] == ["complaint", "order"]


def test_several_numbers_of_examples_are_measured_in_turn(tmp_path: Path) -> None:
    said = run(write_jsonl(tmp_path / "a.jsonl"), examples_per_option=[0, 5])
    assert [line for line in said.splitlines() if "texts asked" in line] == [
        "standin-ngram-1: 2 options, 0 examples, 160 texts asked",
        "standin-ngram-1: 2 options, 10 examples, 150 texts asked",
    ]


def test_the_split_does_not_depend_on_the_order_of_rows() -> None:
    assert split(ROWS, per_option=5) == split(ROWS[::-1], per_option=5)


def test_nothing_taught_is_asked() -> None:
    parts = split([*ROWS, *ROWS], per_option=5)
    taught = {text for texts in parts.examples.values() for text in texts}
    assert len(taught) == 10
    assert not taught & {row.text for row in parts.asked}


def test_examples_may_come_from_another_file() -> None:
    parts = split(ROWS[::2], per_option=3, teaching=ROWS[1::2])
    assert set(parts.asked) == set(ROWS[::2])
    assert {label: len(texts) for label, texts in parts.examples.items()} == {"order": 3, "complaint": 3}


def test_names_alone_are_asked_too() -> None:
    found = evaluate(
        split([Labelled("my order please", "order"), Labelled("a bill", "bill")], per_option=0), Reader()
    )
    assert (found.examples, found.accuracy.numerator, found.accuracy.denominator) == (0, 2, 2)
    assert "ECE       unknown: it takes 100 texts" in list(report(found))


def test_no_more_examples_are_counted_than_are_learnt() -> None:
    many = [Labelled(f"{n} {label}", str(label)) for label in range(200) for n in range(12)]
    assert {len(texts) for texts in split(many, per_option=50).examples.values()} == {8}


def test_csv_is_read_by_its_head(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text('\ufeffbody,kind,n\n"a, b",x,1\n,x,2\nc,,3\nd,y,4\n')
    assert read_labelled(path, text="body", label="kind") == [Labelled("a, b", "x"), Labelled("d", "y")]


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ('{"text": 1}', "row 1: no field label; there are text"),
        ("{", "line 1: not JSON"),
        ("[1]", "line 1: not a JSON object"),
        ("[" * 100_000, "line 1: not JSON"),
        ('{"text": "a", "label": "b"}', "here are 1"),
        ("", "here are 0"),
        ("\udcff", "can't decode"),
    ],
)
def test_a_file_that_cannot_be_used_is_refused(tmp_path: Path, content: str, says: str) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes(content.encode(errors="surrogateescape"))
    with pytest.raises(CommandError, match=says):
        run(path)


def test_a_missing_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UnreadableFile, match="No such file"):
        read_labelled(tmp_path / "none.csv", text="a", label="b")


def test_when_all_texts_teach_none_is_left(tmp_path: Path) -> None:
    with pytest.raises(CommandError, match="none is left to ask"):
        run(write_jsonl(tmp_path / "a.jsonl"), examples_per_option=[500])


@pytest.mark.slow
@pytest.mark.skipif(not DATA.exists(), reason="the public data sets are not beside this checkout")
def test_real_questions_are_told_apart() -> None:
    fields = {"text": "text", "label": "label"}
    asked = read_labelled(DATA / "banking77" / "eval.jsonl", **fields)
    taught = read_labelled(DATA / "banking77" / "train.jsonl", **fields)
    found = evaluate(split(asked, per_option=5, teaching=taught), Reader())
    assert found.accuracy.low is not None
    assert found.accuracy.low > 0.65
    assert found.calibration.ece is not None
    assert found.calibration.ece < 0.08
