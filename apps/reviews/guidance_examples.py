"""Settled items that show what an option means or what only looks like it, and the guide a person reads."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db import IntegrityError, transaction
from django.db.models import Exists, OuterRef
from django.db.models.functions import Left
from django.utils.safestring import SafeString

from apps.accounts.models import User
from apps.core.errors import Conflict, FieldProblem, InvalidInput
from apps.core.text import unstorable_at
from apps.items.models import Item
from apps.reviews.guidance import newest_guidelines
from apps.reviews.markdown import to_html
from apps.reviews.models import Guideline, GuidelineExample, Label, ReviewTask
from apps.reviews.selectors import hidden_items, is_hidden_from
from apps.workflows.models import Question, QuestionSet
from apps.workflows.selectors import current_question_set

MOST_OF_AN_OPTION = 12
LONGEST_NOTE = 300
_SHOWN_CHARACTERS = 300


@dataclass(frozen=True, slots=True)
class ExampleTold:
    """`start`: the first characters of the item; `goes_on`: there are more. `fits`: it is still settled as it was."""

    example: GuidelineExample
    start: str
    goes_on: bool
    fits: bool


@dataclass(frozen=True, slots=True)
class Guide:
    """What is told about an option, or with `id` "" about the question. `guideline` is what counts, None for none."""

    id: str
    name: str
    description: str
    guideline: Guideline | None
    html: SafeString | None
    good: tuple[ExampleTold, ...] = ()
    bad: tuple[ExampleTold, ...] = ()


@dataclass(frozen=True, slots=True)
class QuestionGuide:
    question: Question
    whole: Guide
    options: tuple[Guide, ...]


def guides_for(*, user: User, question_set: QuestionSet) -> tuple[QuestionGuide, ...]:
    """In the order of the questions. Examples whose label this person must not know yet are left out."""
    questions = list(question_set.questions.all())
    texts = newest_guidelines(questions)
    examples = _examples_for(user, questions)
    return tuple(
        QuestionGuide(
            question,
            _guide("", question.key, "", texts.get((question.pk, "")), []),
            tuple(
                _guide(
                    option["id"],
                    option["name"],
                    _told_once(option),
                    texts.get((question.pk, option["id"])),
                    [each for each in examples if _is_of(each.example, question, option["id"])],
                )
                for option in question.options
            ),
        )
        for question in questions
    )


def _guide(
    id: str, name: str, description: str, guideline: Guideline | None, examples: list[ExampleTold]
) -> Guide:
    return Guide(
        id=id,
        name=name,
        description=description,
        guideline=guideline,
        html=to_html(guideline.text, top=5 if id else 4) if guideline else None,
        good=tuple(each for each in examples if each.example.is_good),
        bad=tuple(each for each in examples if not each.example.is_good),
    )


def _told_once(option: Mapping[str, Any]) -> str:
    """A level of a score, and a choice of which nothing more was said, are described by their name."""
    description: str = option.get("description", "")
    return "" if description == option["name"] else description


def _is_of(example: GuidelineExample, question: Question, option: str) -> bool:
    return example.question_id == question.pk and example.option == option


def _examples_for(user: User, questions: Collection[Question]) -> list[ExampleTold]:
    settled = Label.objects.filter(
        item=OuterRef("item"), question__key=OuterRef("question__key"), taken_back_at=None
    )
    found = list(
        GuidelineExample.objects.filter(question__in=questions)
        .select_related("item")
        .annotate(start=Left("item__content__text", _SHOWN_CHARACTERS + 1))
        .annotate(is_settled=Exists(settled), is_it=Exists(settled.filter(value=OuterRef("option"))))
        .order_by("id")
    )
    hidden = hidden_items(user, {each.item_id for each in found})
    return [
        ExampleTold(
            example=each,
            start=(each.start or "")[:_SHOWN_CHARACTERS],
            goes_on=len(each.start or "") > _SHOWN_CHARACTERS,
            fits=each.is_settled and each.is_it == each.is_good,
        )
        for each in found
        if each.item_id not in hidden
    ]


@dataclass(frozen=True, slots=True)
class Showable:
    """What an item may be an example of: `settled` is what people said it is."""

    question: Question
    settled: str | None


def showable(*, user: User, item: Item) -> list[Showable]:
    """By the questions asked now, those that people settled for this item; empty while somebody may answer blind."""
    if _is_secret(user, item):
        return []
    labels = Label.objects.filter(item=item, taken_back_at=None)
    settled = dict(labels.values_list("question__key", "value"))
    questions = current_question_set(item.workflow).questions.all()
    return [Showable(each, settled[each.key]) for each in questions if each.key in settled]


def _is_secret(user: User, item: Item) -> bool:
    open_blind = ReviewTask.objects.filter(item=item, status=ReviewTask.Status.OPEN, blind=True)
    return open_blind.exists() or is_hidden_from(user=user, item=item)


def examples_of(item: Item) -> list[GuidelineExample]:
    """By the questions asked now."""
    found = GuidelineExample.objects.filter(
        item=item, question__question_set__is_current=True, question__question_set__workflow=item.workflow_id
    )
    return list(found.select_related("question").order_by("id"))


def add_example(
    *, item: Item, question_key: str, option: str, is_good: bool, note: str, user: User, now: datetime
) -> GuidelineExample:
    """Raises Conflict while somebody may still answer blind about the item, and when the option has enough;
    InvalidInput where what people settled does not make it such an example."""
    if _is_secret(user, item):
        raise Conflict("Somebody is still to answer about this item without knowing: it cannot be shown yet.")
    of_question = (each for each in showable(user=user, item=item) if each.question.key == question_key)
    fits = next(of_question, None)
    if fits is None or option not in fits.question.option_ids or is_good != (fits.settled == option):
        raise InvalidInput(FieldProblem("shows", "does not fit what people settled for this item"))
    if len(note) > LONGEST_NOTE or unstorable_at(note) is not None:
        raise InvalidInput(FieldProblem("note", f"has at most {LONGEST_NOTE} characters"))
    others = GuidelineExample.objects.filter(question=fits.question, option=option, is_good=is_good)
    if others.count() >= MOST_OF_AN_OPTION:
        raise Conflict(f"There are {MOST_OF_AN_OPTION} such examples: remove one first.")
    try:
        with transaction.atomic():
            return GuidelineExample.objects.create(
                question=fits.question,
                option=option,
                item=item,
                is_good=is_good,
                note=note.strip(),
                created_by=user,
                created_at=now,
            )
    except IntegrityError as error:
        raise Conflict("The item is an example of this already.") from error
