from __future__ import annotations

from functools import lru_cache

from apps.workflows.models import Question, QuestionSet, Workflow

KEPT = 128
"""Versions of questions that a process keeps at hand."""


def current_question_set(workflow: Workflow) -> QuestionSet:
    """The version that new items are asked, its questions loaded."""
    return QuestionSet.objects.prefetch_related("questions").get(workflow=workflow, is_current=True)


def questions_of(question_set_id: int) -> tuple[Question, ...]:
    """In their order. Not to be changed: one that was used never changes, so all who ask get the same objects."""
    try:
        return _used_questions(question_set_id)
    except _Unused:
        return _questions(question_set_id)


class _Unused(Exception):
    """Its questions may still change, so they are not kept."""


@lru_cache(maxsize=KEPT)
def _used_questions(question_set_id: int) -> tuple[Question, ...]:
    if not QuestionSet.objects.filter(pk=question_set_id, first_used_at__isnull=False).exists():
        raise _Unused
    return _questions(question_set_id)


def _questions(question_set_id: int) -> tuple[Question, ...]:
    found = Question.objects.filter(question_set=question_set_id).select_related("question_set")
    return tuple(found.order_by("position"))
