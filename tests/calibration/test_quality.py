from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from apps.accounts.models import User
from apps.calibration.counting.people_agree import ONE_ANSWER, compare
from apps.calibration.quality import Quality, quality
from apps.workflows.models import Question, Workflow
from tests.calibration.streams import AUDITED, REVIEWED, insert_judged
from tests.factories import NOW, make_item, make_route, make_task
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


def test_the_window_ends_where_most_is_answered(workflow: Workflow, rosa: User) -> None:
    earlier = NOW - timedelta(days=2)
    insert_judged(workflow, [replace(REVIEWED, at=earlier)] * 19)
    answer(rosa, make_task(workflow), "spam")
    make_task(workflow)
    make_task(workflow)
    found = quality_of(workflow)
    assert (found.end_on, found.items, found.uncounted, found.waiting) == (earlier.date(), 19, 1, 2)


def test_what_nobody_could_be_asked_is_not_covered(workflow: Workflow, rosa: User) -> None:
    answer(rosa, make_task(workflow), "spam")
    make_route(make_item(workflow), outcome="automatic", pi=0.0)
    covered = quality_of(workflow).covered
    assert (covered.numerator, covered.denominator) == (1, 2)


def test_none_of_these_is_wrong_whatever_the_model_said(workflow: Workflow, rosa: User) -> None:
    Question.objects.filter(key="intent").update(none_of_these="")
    answer(rosa, make_task(workflow, p=0.7), None)
    found = quality_of(workflow)
    assert (found.error.value, found.confusion.cells[0].true) == (1.0, "")
    assert found.probabilities.clipped == 1
    assert found.probabilities.brier.value == pytest.approx(1.52)


def test_a_mistake_costs_what_the_policy_says(workflow: Workflow, rosa: User) -> None:
    for value in ("lead", "other", "spam", "spam"):
        answer(rosa, make_task(workflow), value)
    cells = quality_of(workflow).confusion.cells
    assert [(cell.true, cell.cost) for cell in cells] == [("lead", 1.5), ("other", 1.0), ("spam", 0.0)]
    assert quality_of(workflow).confusion.cost_per_item == pytest.approx(2.5 / 4)


def test_two_people_are_compared(workflow: Workflow, rosa: User, ravi: User) -> None:
    for hers, his in (("spam", "spam"), ("lead", "lead"), ("spam", "lead"), ("lead", "lead")):
        task = make_task(workflow, reviews_wanted=2)
        answer(rosa, task, hers)
        answer(ravi, task, his)
    people = quality_of(workflow).people
    assert (people.items, people.agreement.value) == (4, 0.75)
    assert people.kappa.value == pytest.approx(0.5)
    assert people.alpha.value == pytest.approx(8 / 15)


def test_scores_are_compared_by_their_distance() -> None:
    question = Question(kind="score", options=[{"id": str(n), "name": str(n)} for n in range(5)])
    near, far = (compare([["0", "0"], ["4", "4"], ["2", other]], question) for other in ("3", "0"))
    assert near.kappa.value is not None
    assert far.kappa.value is not None
    assert near.kappa.value > far.kappa.value
    assert compare([["0", ""]], question).kappa.reason == ONE_ANSWER


def test_weights_stand_for_what_nobody_looked_at(workflow: Workflow) -> None:
    reviewed = [replace(REVIEWED, p=0.6, answer="lead")] * 60 + [replace(REVIEWED, p=0.6)] * 60
    insert_judged(workflow, [*reviewed, *[replace(AUDITED, p=0.99)] * 60])
    found = quality_of(workflow)
    assert found.error.value == pytest.approx(60 / 720)
    assert [point.coverage for point in found.probabilities.curve] == pytest.approx([600 / 720, 1])
    assert len(found.probabilities.reliability.bins) == 3
    assert found.probabilities.reliability.ece is not None
