from __future__ import annotations

import pytest

from apps.accounts.models import User
from apps.calibration.quality import Quality, quality
from apps.workflows.models import Question, Workflow
from tests.factories import NOW, make_task
from tests.insights.answered import answer

pytestmark = pytest.mark.django_db


def quality_of(workflow: Workflow, key: str = "intent") -> Quality:
    question = Question.objects.select_related("question_set").get(question_set__workflow=workflow, key=key)
    return quality(workflow=workflow, question=question, now=NOW)


def test_it_works(workflow: Workflow, rosa: User) -> None:
    for value in ("spam", "spam", "lead"):
        answer(rosa, make_task(workflow), value)
    answer(rosa, make_task(workflow, kind="audit", p=0.9), "spam")
    found = quality_of(workflow)
    assert (found.items, found.automatic_items, found.end_on) == (4, 1, NOW.date())
    # One check at 10 % stands for ten items.
    assert found.error.value == pytest.approx(1 / 13)
    assert (found.automatic_error.value, found.automatic_error.denominator) == (0.0, 1.0)
    assert [point.coverage for point in found.probabilities.curve] == pytest.approx([10 / 13, 1])


def test_nothing_is_known_before_the_first_answer(workflow: Workflow) -> None:
    found = quality_of(workflow)
    assert (found.end_on, found.items, found.error.value, found.covered.value) == (None, 0, None, None)
    assert {found.probabilities.brier.reason, found.probabilities.aurc.reason} == {"no data"}
