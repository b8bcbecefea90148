"""Whole days are read from counts, other windows from every row: they must say the same."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta
from random import Random

import pytest

from apps.accounts.models import User
from apps.insights.metrics import WorkflowMetrics, workflow_metrics
from apps.insights.metrics_counts import Days, reviews, whole_days
from apps.insights.metrics_values import Window, last_days
from apps.items.models import Route
from apps.reviews.services import undo_last_review
from apps.workflows.models import Workflow
from tests.calibration.streams import insert_past, random_past
from tests.factories import NOW, make_item, make_route, make_task
from tests.insights.answered import answer, cannot_tell

pytestmark = [pytest.mark.django_db, pytest.mark.slow]

MIDNIGHT = datetime.combine(NOW.date() - timedelta(days=40), datetime.min.time(), NOW.tzinfo)


def metrics(workflow: Workflow, start: datetime, group: str | None) -> WorkflowMetrics:
    return workflow_metrics(workflow=workflow, start=start, end=None, group=group, now=NOW)


def fill(workflow: Workflow, people: list[User]) -> None:
    chance = Random(7)
    insert_past(workflow, [replace(each, answer="") for each in random_past(7, 80)])
    for number in range(24):
        person, at = chance.choice(people), NOW - timedelta(hours=chance.randrange(200))
        kind, label = chance.choice(["routine", "audit", "shadow"]), chance.choice(["spam", "lead"])
        task = make_task(workflow, kind=kind, label=label, p=chance.choice([0.3, 0.5, 0.62, 0.95]))
        if number % 6 == 0:
            cannot_tell(person, task, at=at)
            continue
        answer(person, task, chance.choice(["spam", "lead"]), at=at, seconds=chance.choice([None, 2.0, 9.0]))
    twice = make_task(workflow, reviews_wanted=2)
    for person in people:
        answer(person, twice, "lead", at=NOW)
    answer(people[0], make_task(workflow), "spam")
    undo_last_review(user=people[0], workflow=workflow, now=NOW)
    Route.objects.filter(pk=make_task(workflow).route_id).update(superseded_at=NOW)
    without = make_route(make_item(workflow), "spam", 0.5)
    assert without.decision is not None


@pytest.mark.parametrize("group", [None, "label", "reviewer", "day", "confidence"])
def test_it_works(workflow: Workflow, rosa: User, ravi: User, group: str | None) -> None:
    fill(workflow, [rosa, ravi])
    by_days = metrics(workflow, MIDNIGHT, group)
    by_rows = metrics(workflow, MIDNIGHT + timedelta(microseconds=1), group)
    assert by_days.figures == by_rows.figures
    assert by_days.figures["reviews"].value == 26
    assert [group.to_json() for group in by_days.groups] == [group.to_json() for group in by_rows.groups]
    assert (by_days.models, by_days.anchoring) == (by_rows.models, by_rows.anchoring)


def test_days_are_those_of_the_workflow(workflow: Workflow) -> None:
    workflow.time_zone = "Asia/Tokyo"
    assert whole_days(workflow, last_days(workflow, 7, NOW)) == Days(
        workflow, NOW.date() - timedelta(days=6), NOW.date()
    )
    assert whole_days(workflow, Window(MIDNIGHT)) is None
    assert whole_days(workflow, Window()) is not None


def test_many_timed_reviews_are_read_in_part(workflow: Workflow, rosa: User) -> None:
    for _ in range(20):
        answer(rosa, make_task(workflow), "spam")
    days = whole_days(workflow, Window())
    assert days is not None
    assert reviews(days, None, most=5) == [(None, 20, 5, 4.0)]
