"""Answered items as columns: however they are read, they are the same."""

from __future__ import annotations

from dataclasses import replace
from datetime import date, timedelta
from typing import Any

import pytest

from apps.accounts.models import User
from apps.calibration.counting.judged import Judged, Stretch, judged
from apps.calibration.counting.people_agree import following, people_agree
from apps.items.models import RouteColumns
from apps.workflows.models import Question, Workflow
from tests.calibration.streams import AUDITED, REVIEWED, insert_judged
from tests.factories import NOW, make_task
from tests.insights.answered import answer

pytestmark = pytest.mark.django_db

TODAY = NOW.date()
LONG_AGO = TODAY - timedelta(days=50)


def stretch_of(workflow: Workflow, start_on: date = LONG_AGO) -> Stretch:
    question = Question.objects.select_related("question_set").get(
        question_set__workflow=workflow, key="intent"
    )
    return Stretch(workflow, question, "standin-ngram-1", start_on, TODAY)


def columns(found: Judged) -> tuple[Any, ...]:
    numbers = (found.p, found.truth, found.pi, found.automatic)
    return (found.options, *(each.tolist() for each in numbers), found.days)


def fill(workflow: Workflow, people: list[User]) -> None:
    for number, said in enumerate(["spam", "lead", None, "spam"]):
        kind = "audit" if number == 1 else "routine"
        answer(people[0], make_task(workflow, p=0.61 + number / 10, kind=kind), said)
    twice = make_task(workflow, reviews_wanted=2)
    for person in people:
        answer(person, twice, "lead")
    make_task(workflow)


def test_it_works(workflow: Workflow, rosa: User) -> None:
    Question.objects.filter(key="intent").update(none_of_these="")
    answer(rosa, make_task(workflow, label="lead", p=0.7, kind="audit"), "lead")
    answer(rosa, make_task(workflow, label="spam", p=0.8), None)
    found, is_cut = judged(stretch_of(workflow))
    lead, spam = (found.options.index(each) for each in ("lead", "spam"))
    assert (found.p[0, spam], found.p[1, lead], is_cut) == (0.8, 0.7, False)
    assert [found.options[place] for place in found.truth] == ["", "lead"]
    assert (found.pi.tolist(), found.automatic.tolist()) == ([1.0, 0.1], [False, True])
    assert found.days == (TODAY, TODAY)


def test_a_vector_that_lacks_a_question_is_no_use(workflow: Workflow, rosa: User, ravi: User) -> None:
    fill(workflow, [rosa, ravi])
    before, _ = judged(stretch_of(workflow))
    assert len(before) == 5
    RouteColumns.objects.update(vector=b"")
    assert columns(judged(stretch_of(workflow))[0]) == columns(before)


def test_few_answers_and_many_are_read_alike(workflow: Workflow, rosa: User, ravi: User) -> None:
    fill(workflow, [rosa, ravi])
    insert_judged(workflow, [replace(each, at=NOW - timedelta(days=9)) for each in (REVIEWED, AUDITED)])
    today = stretch_of(workflow, TODAY)
    few, many = judged(today), judged(today, most=6)
    assert columns(few[0]) == columns(many[0])
    assert (len(few[0]), few[1], many[1]) == (5, False, False)


def test_beyond_the_most_the_oldest_day_goes(workflow: Workflow) -> None:
    days = [NOW - timedelta(days=ago) for ago in (0, 0, 3, 3, 40)]
    insert_judged(workflow, [replace(REVIEWED, at=at) for at in days])
    found, is_cut = judged(stretch_of(workflow), most=3)
    assert (found.days, len(found.p), is_cut) == ((TODAY, TODAY), 2, True)
    assert judged(stretch_of(workflow), most=1)[0].days == (TODAY,)


def test_a_few_days_are_read_as_many_are(workflow: Workflow, rosa: User, ravi: User) -> None:
    fill(workflow, [rosa, ravi])
    few, many = stretch_of(workflow, TODAY), stretch_of(workflow)
    assert (following(few), people_agree(few)) == (following(many), people_agree(many))
    assert (people_agree(few).items, following(few).accept_s) == (1, 4.0)
