"""What the labels mean, in the workflow's own words. A text is never changed: a new one follows it and counts."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from datetime import datetime
from typing import TypeVar

from django.db import transaction

from apps.accounts.models import User
from apps.core.errors import FieldProblem, InvalidInput
from apps.core.text import unstorable_at
from apps.reviews.models import Guideline, GuidelineExample
from apps.workflows.models import Question, QuestionSet
from apps.workflows.parts import LONGEST_GUIDELINE

Texts = Mapping[tuple[str, str], str]
"""Markdown by question key and option; "" is the question as a whole."""
Row = TypeVar("Row", Guideline, GuidelineExample)


def newest_guidelines(questions: Collection[Question]) -> dict[tuple[int, str], Guideline]:
    """What counts now, by question and option; an empty text, which takes the one before away, is left out."""
    found = (
        Guideline.objects.filter(question__in=questions)
        .select_related("created_by")
        .order_by("question_id", "option", "-version")
        .distinct("question_id", "option")
    )
    return {(each.question_id, each.option): each for each in found if each.text}


def versions_of(*, question: Question, option: str) -> list[Guideline]:
    """All there were, newest first."""
    found = Guideline.objects.filter(question=question, option=option).select_related("created_by")
    return list(found.order_by("-version"))


@transaction.atomic
def write_guideline(*, question: Question, option: str, text: str, user: User | None, now: datetime) -> bool:
    """Whether it says something new and so is the next version; an empty text takes the guideline away.

    Raises InvalidInput with the paths `option` and `text`.
    """
    _check(question, option, text)
    # Two who write at once write one after the other.
    Question.objects.select_for_update(no_key=True).get(pk=question.pk)
    newest = Guideline.objects.filter(question=question, option=option).order_by("-version").first()
    written = text.replace("\r\n", "\n").strip()
    if written == (newest.text if newest else ""):
        return False
    Guideline.objects.create(
        question=question,
        option=option,
        version=newest.version + 1 if newest else 1,
        text=written,
        created_by=user,
        created_at=now,
    )
    return True


def _check(question: Question, option: str, text: str) -> None:
    if option and option not in question.option_ids:
        raise InvalidInput(FieldProblem("option", "is no option of this question"))
    if len(text) > LONGEST_GUIDELINE:
        raise InvalidInput(FieldProblem("text", f"has more than {LONGEST_GUIDELINE:,} characters"))
    if unstorable_at(text) is not None:
        raise InvalidInput(FieldProblem("text", "holds a character that cannot be stored"))


def take_from_file(*, question_set: QuestionSet, texts: Texts, user: User | None, now: datetime) -> int:
    """How many texts of a workflow's file are new here.

    One that counted once is not written again: the file is older than what people wrote since.
    """
    questions = {each.key: each for each in question_set.questions.all()}
    known = set(
        Guideline.objects.filter(question__in=questions.values()).values_list(
            "question__key", "option", "text"
        )
    )
    return sum(
        write_guideline(question=questions[key], option=option, text=text, user=user, now=now)
        for (key, option), text in texts.items()
        if (key, option, text.strip()) not in known
    )


@transaction.atomic
def copy_guidance(*, before: QuestionSet, after: QuestionSet) -> None:
    """A new version of the questions starts with the guidelines, their history and the examples of the one before,
    as far as its questions and options are still asked."""
    new = {question.key: question for question in after.questions.all()}
    texts = Guideline.objects.filter(question__question_set=before).select_related("question")
    examples = GuidelineExample.objects.filter(question__question_set=before).select_related("question")
    Guideline.objects.bulk_create(_moved(texts.order_by("id"), new))
    GuidelineExample.objects.bulk_create(_moved(examples.order_by("id"), new))


def _moved(rows: Iterable[Row], new: Mapping[str, Question]) -> list[Row]:
    moved = []
    for row in rows:
        question = new.get(row.question.key)
        if question is None or (row.option and row.option not in question.option_ids):
            continue
        row.pk, row.question = None, question
        row._state.adding = True
        moved.append(row)
    return moved
