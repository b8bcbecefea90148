"""How good the stand-in is on a labelled file: which texts teach, which are asked, and what came of it."""

from __future__ import annotations

import csv
import hashlib
import json
import time
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from apps.clef.local.asked import in_words
from apps.clef.local.classifier import OptionTexts, most_examples, train
from apps.clef.local.features import text_of
from apps.clef.local.reading import Reader
from apps.stats.probability import Reliability, reliability
from apps.stats.rates import Rate, rate

MOST_OPTIONS = 255


class UnreadableFile(Exception):
    """The text says which line or field is wrong."""


@dataclass(frozen=True, slots=True)
class Labelled:
    text: str
    label: str


@dataclass(frozen=True, slots=True)
class Split:
    """`examples` by label, every label there; `asked` holds no text that is among them."""

    examples: Mapping[str, tuple[str, ...]]
    asked: tuple[Labelled, ...]


@dataclass(frozen=True, slots=True)
class Evaluation:
    """`by_option` is the share answered right of the texts that carry the label."""

    model: str
    options: int
    examples: int
    accuracy: Rate
    calibration: Reliability
    mean_p: float
    by_option: Mapping[str, Rate]
    training_s: float
    asking_s: float


def read_labelled(path: Path, *, text: str, label: str) -> list[Labelled]:
    """Rows of a CSV (named .csv) or JSONL file in UTF-8; a row without text or label is left out.

    Raises UnreadableFile.
    """
    try:
        rows = [
            Labelled(text_of(row.get(text)), text_of(row.get(label)).strip())
            for row in _rows(path, (text, label))
        ]
    except OSError as problem:
        raise UnreadableFile(f"{path}: {problem.strerror}") from problem
    except (UnicodeDecodeError, csv.Error) as problem:
        raise UnreadableFile(f"{path}: {problem}") from problem
    return [row for row in rows if row.text.strip() and row.label]


def _rows(path: Path, fields: tuple[str, ...]) -> Iterator[dict[str, object]]:
    with path.open(encoding="utf-8-sig", newline="") as file:
        rows = csv.DictReader(file) if path.suffix == ".csv" else _json_rows(path, file)
        for number, row in enumerate(rows, start=1):
            if missing := [field for field in fields if field not in row]:
                there = ", ".join(map(str, row))
                raise UnreadableFile(f"{path}, row {number}: no field {missing[0]}; there are {there}")
            yield row


def _json_rows(path: Path, lines: Iterator[str]) -> Iterator[dict[str, object]]:
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
        except (ValueError, RecursionError) as problem:
            raise UnreadableFile(f"{path}, line {number}: not JSON") from problem
        if not isinstance(row, dict):
            raise UnreadableFile(f"{path}, line {number}: not a JSON object")
        yield row


def split(rows: Sequence[Labelled], *, per_option: int, teaching: Sequence[Labelled] | None = None) -> Split:
    """The first `per_option` texts of each label teach, the rest are asked, in the order of their hashes:
    the same file always splits the same way, whatever the order of its rows.

    `teaching` are rows of another file to take the examples from. Raises UnreadableFile where fewer than 2
    or more than 255 labels are left.
    """
    labels = sorted({row.label for row in (*rows, *(teaching or ()))})
    if not 2 <= len(labels) <= MOST_OPTIONS:
        raise UnreadableFile(f"2 to {MOST_OPTIONS} labels can be told apart, here are {len(labels)}")
    per_option = min(max(0, per_option), most_examples(len(labels)))
    examples: dict[str, dict[str, None]] = {label: {} for label in labels}
    for row in _shuffled(rows if teaching is None else teaching):
        if len(examples[row.label]) < per_option:
            examples[row.label][row.text] = None
    taught = {text for texts in examples.values() for text in texts}
    asked = tuple(row for row in _shuffled(rows) if row.text not in taught)
    return Split({label: tuple(texts) for label, texts in examples.items()}, asked)


def _shuffled(rows: Sequence[Labelled]) -> list[Labelled]:
    def place(row: Labelled) -> bytes:
        return hashlib.sha256(f"{row.text}\0{row.label}".encode(errors="surrogatepass")).digest()

    return sorted(rows, key=place)


def evaluate(parts: Split, reader: Reader) -> Evaluation:
    """Teaches the stand-in the examples, with the label's own words as name, and asks it the rest.

    Raises UnreadableFile where nothing is left to ask.
    """
    if not parts.asked:
        raise UnreadableFile("Every text became an example and none is left to ask")
    labels = list(parts.examples)
    started = time.monotonic()
    model = train([OptionTexts(in_words(label), parts.examples[label]) for label in labels], reader)
    trained = time.monotonic()
    shares = np.array([model.predict(reader.read(row.text)) for row in parts.asked])
    asked = time.monotonic()
    hits = np.array([labels[best] for best in shares.argmax(axis=1)]) == [row.label for row in parts.asked]
    return Evaluation(
        model=reader.model,
        options=len(labels),
        examples=sum(map(len, parts.examples.values())),
        accuracy=rate(int(hits.sum()), len(hits)),
        calibration=reliability(shares.max(axis=1), hits),
        mean_p=float(shares.max(axis=1).mean()),
        by_option=_by_option(parts.asked, hits.tolist()),
        training_s=trained - started,
        asking_s=asked - trained,
    )


def _by_option(asked: Sequence[Labelled], hits: Sequence[bool]) -> dict[str, Rate]:
    totals = Counter(row.label for row in asked)
    right: defaultdict[str, int] = defaultdict(int)
    for row, hit in zip(asked, hits, strict=True):
        right[row.label] += hit
    return {label: rate(right[label], totals[label]) for label in sorted(totals)}


def report(found: Evaluation) -> Iterator[str]:
    """Lines for people: a summary, then each option, worst first."""
    yield (
        f"{found.model}: {found.options} options, {found.examples} examples, "
        f"{found.accuracy.denominator} texts asked"
    )
    yield f"accuracy  {_told(found.accuracy)}"
    curve = found.calibration
    if curve.ece is None or curve.reference is None:
        yield "ECE       unknown: it takes 100 texts"
    else:
        yield (
            f"ECE       {curve.ece:.3f} in {len(curve.bins)} bins; "
            f"an exactly calibrated model would show {curve.reference:.3f}"
        )
    yield f"mean p    {found.mean_p:.3f}, of the answer given"
    each_ms = 1000 * found.asking_s / max(1, found.accuracy.denominator)
    yield f"time      {found.training_s:.1f} s to learn, {each_ms:.1f} ms a text"
    yield ""
    width = max(map(len, found.by_option))
    for label, share in sorted(found.by_option.items(), key=lambda each: (each[1].value or 0.0, each[0])):
        yield f"{label:{width}}  {_told(share)}"


def _told(share: Rate) -> str:
    if share.value is None or share.low is None or share.high is None:
        return f"unknown: {share.reason}"
    return f"{share.value:.3f}  {share.numerator} of {share.denominator}, 95 %: {share.low:.3f} to {share.high:.3f}"
