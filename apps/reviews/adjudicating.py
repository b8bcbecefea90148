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
class Row:
    """One question; `given` in the order of the people, None where somebody did not answer it."""

    key: str
    is_asked: bool
    given: tuple[Given | None, ...]

    @property
    def differs(self) -> bool:
        return len({each.value for each in self.given if each}) > 1


@dataclass(frozen=True, slots=True)
class Adjudication:
    people: tuple[Person, ...]
    rows: tuple[Row, ...]

    @property
    def why(self) -> str:
        """Why somebody has to decide, in a sentence."""
        if len(self.people) == 1:
            return f"{self.people[0].username} could not tell. Your answer decides."
        return f"{len(self.people)} people did not come to one answer. Yours decides."


def adjudication_of(task: ReviewTask, questions: Sequence[Question]) -> Adjudication:
    """Answers in force, the first given first. Only for who was called to decide: it is all that blindness hides."""
    found = task.reviews.filter(taken_back_at=None).select_related("user").order_by("created_at", "id")
    reviews = list(found.prefetch_related("answers"))
    return Adjudication(
        people=tuple(
            Person(each.user.username, each.created_at, each.seconds, each.note) for each in reviews
        ),
        rows=tuple(row for question in questions if (row := _row(task, question, reviews)) is not None),
    )


def _row(task: ReviewTask, question: Question, reviews: Sequence[Review]) -> Row | None:
    given = tuple(_given(question, review) for review in reviews)
    is_asked = question.key in task.asked
    return Row(question.key, is_asked, given) if is_asked or any(given) else None


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
