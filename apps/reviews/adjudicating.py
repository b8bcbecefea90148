"""What colleagues answered, side by side, for the one who decides between them; never what the model said."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from apps.reviews.models import Answer, Review, ReviewTask
from apps.workflows.models import Question

NONE_OF_THESE, CANNOT_TELL = "None of these", "Cannot tell"


@dataclass(frozen=True, slots=True)
class Given:
    """`said`: the option proposed, or why the person could not tell."""

    value: str
    said: str
    is_told: bool


@dataclass(frozen=True, slots=True)
class Person:
    username: str
    at: datetime
    seconds: float | None
    note: str


@dataclass(frozen=True, slots=True)
class Cell:
    """`given` is None where the person did not answer the question."""

    person: Person
    given: Given | None


@dataclass(frozen=True, slots=True)
class Row:
    """One question; cells in the order of the people."""

    key: str
    is_asked: bool
    cells: tuple[Cell, ...]

    @property
    def differs(self) -> bool:
        return len({cell.given.value for cell in self.cells if cell.given}) > 1


@dataclass(frozen=True, slots=True)
class Adjudication:
    people: tuple[Person, ...]
    rows: tuple[Row, ...]

    @property
    def has_notes(self) -> bool:
        return any(person.note for person in self.people)

    @property
    def why(self) -> str:
        """Why somebody has to decide, in a sentence."""
        if len(self.people) == 1:
            return f"{self.people[0].username} could not tell. Your answer decides."
        return f"{len(self.people)} people did not come to one answer. Yours decides."


def adjudication_of(task: ReviewTask, questions: Sequence[Question]) -> Adjudication:
    """Answers in force, the first given first. Only for who was called to decide: it is all that blindness hides."""
    found = task.reviews.filter(taken_back_at=None).select_related("user").order_by("created_at", "id")
    reviews = [
        (Person(each.user.username, each.created_at, each.seconds, each.note), each)
        for each in found.prefetch_related("answers")
    ]
    rows = [
        Row(
            question.key,
            question.key in task.asked,
            tuple(Cell(person, _given(question, review)) for person, review in reviews),
        )
        for question in questions
    ]
    return Adjudication(
        people=tuple(person for person, _ in reviews),
        rows=tuple(row for row in rows if row.is_asked or any(cell.given for cell in row.cells)),
    )


def _given(question: Question, review: Review) -> Given | None:
    answer = next((each for each in review.answers.all() if each.question_id == question.pk), None)
    return None if answer is None else Given(told_value(question, answer), answer.said, _is_told(answer))


def _is_told(answer: Answer) -> bool:
    return answer.kind != Answer.Kind.CANNOT_TELL


def told_value(question: Question, answer: Answer) -> str:
    """What a person said, as people read it."""
    if not _is_told(answer):
        return CANNOT_TELL
    if answer.value is None:
        return NONE_OF_THESE
    return question.option_names.get(answer.value, answer.value)
