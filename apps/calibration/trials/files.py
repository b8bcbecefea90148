"""Labelled examples from a CSV, TSV or JSONL file: which column holds the truth, and whose answers others are.

A column named like a question is its truth; `truth`, `gold` or `label` is that of the routing question.
`present` holds what is used now, `NAME:question` what NAME answered to that question; in JSONL it may be an object of
probabilities. `out_of_scope` marks examples that belong nowhere.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from apps.calibration.trials.values import (
    LONGEST_VALUE,
    as_text,
    belongs_nowhere,
    is_yes,
    routing_of,
    to_option,
    to_probabilities,
    top_of,
)
from apps.core.errors import FieldProblem, InvalidInput
from apps.pipeline.incoming import Incoming, check_incoming
from apps.pipeline.limits import MAX_TRIAL_EXAMPLES, MAX_TRIAL_STATE_CHARACTERS
from apps.sources.tables.chunks import ByteStream
from apps.sources.tables.column_names import plain
from apps.sources.tables.columns import Roles, suggest_roles
from apps.sources.tables.csv_rows import UnreadableFile
from apps.sources.tables.reading import Row, read_rows
from apps.sources.tables.understanding import Understanding, understand
from apps.workflows.models import Question

PRESENT = "present"
_TRUTHS = ("truth", "gold", "label", "answer")
_FLAGS = ("outofscope", "oos")
MOST_GIVEN = 8
MOST_PROBLEMS = 20


@dataclass(frozen=True, slots=True)
class GivenAnswer:
    """What somebody else answered: `probabilities` by question where they were published, else only values."""

    values: dict[str, str]
    probabilities: dict[str, list[list[Any]]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Example:
    """`truth` None: nobody has labelled it. `given` by the name of whose answers they are; `item_id` of one drawn."""

    external_id: str
    state: Any
    truth: dict[str, str | None] | None
    is_out_of_scope: bool = False
    given: Mapping[str, GivenAnswer] = field(default_factory=dict)
    item_id: int | None = None


@dataclass(frozen=True, slots=True)
class Columns:
    """Column by question key for the truth, by (name, question key) for given answers; `flag` "" when there is none."""

    truth: Mapping[str, str]
    given: Mapping[tuple[str, str], str]
    flag: str

    @property
    def named(self) -> set[str]:
        return {*self.truth.values(), *self.given.values(), self.flag} - {""}


def read_examples(
    stream: ByteStream, sample: bytes, *, name: str, questions: Sequence[Question]
) -> list[Example]:
    """All of them, or InvalidInput with the first problems, each naming its row. `sample` is the file's beginning."""
    found = understand(sample, name=name)
    if found.problem or not found.kind.has_columns:
        raise InvalidInput(
            FieldProblem("file", found.problem or f"is {found.kind.value}, not a table or JSONL")
        )
    columns = find_columns(found.columns, questions)
    found = _with_roles(found, columns)
    examples: list[Example] = []
    problems: list[FieldProblem] = []
    seen: set[str] = set()
    try:
        for row in read_rows(stream, found):
            example = _to_example(row, columns, questions, problems)
            if example is not None and example.external_id in seen:
                problems.append(
                    FieldProblem(f"row {row.number}", f"has the id {example.external_id[:60]} again")
                )
            elif example is not None:
                seen.add(example.external_id)
                examples.append(example)
            if len(examples) > MAX_TRIAL_EXAMPLES:
                problems.insert(0, FieldProblem("file", f"has more than {MAX_TRIAL_EXAMPLES:,} examples"))
            if len(problems) >= MOST_PROBLEMS or len(examples) > MAX_TRIAL_EXAMPLES:
                break
    except UnreadableFile as error:
        problems.append(FieldProblem("file", str(error)))
    if problems:
        raise InvalidInput(*problems)
    return examples


def find_columns(columns: Sequence[str], questions: Sequence[Question]) -> Columns:
    """Raises InvalidInput for a column of answers to a question there is not, and for too many names."""
    routing = routing_of(questions)
    keys = {plain(each.key): each.key for each in questions}
    truth: dict[str, str] = {}
    given: dict[tuple[str, str], str] = {}
    flag = ""
    problems: list[FieldProblem] = []
    for column in columns:
        owner, colon, key = column.rpartition(":")
        if colon and owner and plain(key) in keys:
            given[(owner.strip()[:LONGEST_VALUE], keys[plain(key)])] = column
        elif colon and owner:
            problems.append(
                FieldProblem(column[:100], f"names no question; there are {', '.join(keys.values())}")
            )
        elif plain(column) in keys:
            truth[keys[plain(column)]] = column
        elif plain(column) == PRESENT and routing:
            given.setdefault((PRESENT, routing.key), column)
        elif plain(column) in _FLAGS and not flag:
            flag = column
    if routing and routing.key not in truth:
        named = next((each for name in _TRUTHS for each in columns if plain(each) == name), "")
        truth |= {routing.key: named} if named else {}
    if len({owner for owner, _ in given}) > MOST_GIVEN:
        problems.append(FieldProblem("file", f"holds answers of more than {MOST_GIVEN} others"))
    if problems:
        raise InvalidInput(*problems)
    return Columns(truth, given, flag)


def _with_roles(found: Understanding, columns: Columns) -> Understanding:
    """Id and text are looked for among what is no answer; everything else stays at hand as metadata."""
    free = [name for name in found.columns if name not in columns.named]
    suggested = suggest_roles(free, [])
    roles = Roles(external_id=suggested.external_id, texts=suggested.texts)
    if not roles.texts:
        there = ", ".join(found.columns)[:300]
        raise InvalidInput(
            FieldProblem("file", f"has no column for the text, such as text or state ({there})")
        )
    return replace(found, roles=roles, questions=())


def _to_example(
    row: Row, columns: Columns, questions: Sequence[Question], problems: list[FieldProblem]
) -> Example | None:
    if row.incoming is None:
        problems.extend(FieldProblem(f"row {row.number}", f"{p.path} {p.message}") for p in row.problems)
        return None
    wrong = list(_row_problems(row.incoming))
    cells, truth = row.incoming.metadata, {}
    routing = routing_of(questions)
    is_flagged = bool(columns.flag) and is_yes(cells.get(columns.flag))
    for question in questions:
        cell = cells.get(columns.truth.get(question.key, ""))
        if as_text(cell) == "":
            continue
        value = to_option(question, cell)
        if value is None and not (is_flagged and question == routing):
            options = ", ".join(question.option_ids)[:200]
            wrong.append(
                FieldProblem(question.key, f"{as_text(cell)[:60]!r} is no option; there are {options}")
            )
        truth[question.key] = value
    if wrong:
        problems.extend(FieldProblem(f"row {row.number}", f"{p.path} {p.message}") for p in wrong)
        return None
    if is_flagged and routing:
        truth[routing.key] = routing.none_of_these or None
    nowhere = bool(routing and routing.key in truth and belongs_nowhere(routing, truth[routing.key]))
    try:
        given = dict(_given(cells, columns, questions))
    except InvalidInput as refused:
        problems.extend(FieldProblem(f"row {row.number}", f"{p.path} {p.message}") for p in refused.problems)
        return None
    return Example(row.incoming.external_id, row.incoming.state, truth or None, is_flagged or nowhere, given)


def _row_problems(incoming: Incoming) -> Iterator[FieldProblem]:
    yield from check_incoming(incoming)
    if len(incoming.text) > MAX_TRIAL_STATE_CHARACTERS:
        yield FieldProblem("state", f"has more than {MAX_TRIAL_STATE_CHARACTERS:,} characters")


def _given(
    cells: Mapping[str, Any], columns: Columns, questions: Sequence[Question]
) -> Iterator[tuple[str, GivenAnswer]]:
    """Raises InvalidInput for probabilities that are none, naming their column."""
    by_key = {each.key: each for each in questions}
    for owner in dict.fromkeys(name for name, _ in columns.given):
        answer = GivenAnswer({})
        for (name, key), column in columns.given.items():
            cell = cells.get(column)
            if name != owner or as_text(cell) == "":
                continue
            if isinstance(cell, Mapping):
                published = _probabilities(by_key[key], cell, column)
                answer.probabilities[key] = published
                answer.values[key] = top_of(published)
            else:
                # Another solution may know other answers: they are kept as it gave them, and are wrong.
                answer.values[key] = to_option(by_key[key], cell) or as_text(cell)[:LONGEST_VALUE]
        if answer.values:
            yield owner, answer


def _probabilities(question: Question, cell: Mapping[str, Any], column: str) -> list[list[Any]]:
    try:
        return to_probabilities(question, cell)
    except ValueError as error:
        raise InvalidInput(FieldProblem(column[:100], str(error))) from error
