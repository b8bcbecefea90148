"""The counts kept by the day against the same counted anew from every row."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from random import Random
from typing import Any

import pytest
from django.db.models import Sum

from apps.accounts.models import User
from apps.calibration.counting.blind_reviews import only_blind
from apps.calibration.counting.days import refresh
from apps.calibration.counting.evidence import Basis, Cell, basis_for, cells_of
from apps.calibration.counting.thinning import Single, Wanted, kept_of, kept_singly
from apps.calibration.models import Counted, DayCount, Touched
from apps.items.models import Item, Route
from apps.reviews.models import Label, ReviewTask
from apps.reviews.services import undo_last_review
from apps.stats.thresholds import StratumName
from apps.workflows.models import Workflow
from tests.calibration.counting.recount import (
    recounted_audits,
    recounted_blind_answers,
    recounted_blind_cells,
    recounted_cells,
)
from tests.calibration.streams import AUDITED, REVIEWED, Past, insert_past, random_past
from tests.factories import NOW, make_task
from tests.insights.answered import answer

pytestmark = [pytest.mark.django_db, pytest.mark.slow]


def basis_of(workflow: Workflow) -> Basis:
    basis = basis_for(workflow=workflow, now=NOW, weeks=8)
    assert basis is not None
    return basis


def assert_as_recounted(workflow: Workflow) -> None:
    basis = basis_of(workflow)
    kept = cells_of(basis)
    assert in_order(kept) == in_order(recounted_cells(basis))
    blind = [cell for cell in only_blind(basis, kept) if cell.stratum == "reviewed" and cell.items]
    assert in_order(blind) == in_order(recounted_blind_cells(basis))
    for label in {cell.label for cell in kept}:
        assert_kept_as_recounted(basis, label, "audited", recounted_audits(basis, label))
        assert_kept_as_recounted(basis, label, "reviewed", recounted_blind_answers(basis, label))


def assert_kept_as_recounted(
    basis: Basis, label: str, stratum: StratumName, answers: Sequence[Single]
) -> None:
    left_out = frozenset(NOW.date() - timedelta(days=ago) for ago in (3, 12))
    for smallest in (0.01, 0.1, 0.2):
        wanted = Wanted(stratum, smallest, basis.start_on, NOW.date() - timedelta(days=1), left_out)
        singly: dict[int, list[int]] = {}
        for each in kept_singly(basis.workflow, answers, wanted):
            sums = singly.setdefault(each.bin, [each.bin, 0, 0])
            sums[1:] = [sums[1] + each.labelled, sums[2] + each.wrong]
        assert sorted(map(list, kept_of(basis, label, wanted))) == sorted(singly.values())


def in_order(rows: Sequence[Cell]) -> list[str]:
    return sorted(map(repr, rows))


def add_tasks(workflow: Workflow, chance: Random) -> None:
    """Beside most routes that people were to see, each as blind as it was drawn to be."""
    routes = Route.objects.filter(workflow=workflow, tasks=None, outcome="review")
    ReviewTask.objects.bulk_create(
        make_past_task(route, chance.random() < 0.3, chance.choice([0.1, 0.25]))
        for route in routes
        if chance.random() < 0.9
    )


def make_past_task(route: Route, blind: bool, share: float) -> ReviewTask:
    return ReviewTask(
        workflow_id=route.workflow_id,
        item_id=route.item_id,
        route=route,
        question_set_id=route.question_set_id,
        kind="routine",
        asked=["intent"],
        blind=blind,
        blind_pi=share if blind else 1 - share,
        status="done",
        due_at=NOW,
        place_at=NOW,
        created_at=NOW,
        closed_at=NOW,
    )


def grouped_past(seed: int, size: int) -> list[Past]:
    chance = Random(seed)
    return [
        replace(each, group=chance.choice(["", "", "", f"chat-{chance.randrange(size // 6 + 1)}"]))
        for each in random_past(seed, size)
    ]


def test_it_works(workflow: Workflow) -> None:
    insert_past(workflow, [REVIEWED, AUDITED])
    assert (refresh(workflow), refresh(workflow)) == (2, 0)
    assert not Touched.objects.exists()
    assert DayCount.objects.aggregate(Sum("items"))["items__sum"] == Counted.objects.count() == 2


@pytest.mark.parametrize("seed", range(8))
def test_whatever_happens_they_are_as_recounted(workflow: Workflow, seed: int) -> None:
    chance = Random(seed)
    for step in range(3):
        insert_past(workflow, grouped_past(seed * 10 + step, chance.randint(20, 150)), prefix=f"step-{step}")
        routes, labels = (list(model.objects.values_list("pk", flat=True)) for model in (Route, Label))
        replaced = Route.objects.filter(pk__in=chance.sample(routes, len(routes) // 10))
        replaced.filter(superseded_at=None).update(superseded_at=NOW)
        taken_back = Label.objects.filter(pk__in=chance.sample(labels, len(labels) // 10))
        taken_back.filter(taken_back_at=None).update(taken_back_at=NOW)
        add_tasks(workflow, chance)
        assert_as_recounted(workflow)


@pytest.mark.parametrize("changed", [{"status": "cancelled"}, {"blind": False}, {"blind_pi": 0.5}])
def test_a_task_that_changes_is_counted_anew(workflow: Workflow, changed: dict[str, Any]) -> None:
    insert_past(workflow, [REVIEWED] * 4)
    ReviewTask.objects.bulk_create(make_past_task(route, True, 0.25) for route in Route.objects.all())
    assert_as_recounted(workflow)
    ReviewTask.objects.filter(pk=ReviewTask.objects.earliest("pk").pk).update(**changed)
    assert_as_recounted(workflow)


def test_an_answer_taken_back_is_taken_off(workflow: Workflow, rosa: User) -> None:
    answer(rosa, make_task(workflow), "lead")
    assert [(cell.answered, cell.wrong) for cell in cells_of(basis_of(workflow))] == [(1, 1)]
    undo_last_review(user=rosa, workflow=workflow, now=NOW)
    assert [(cell.asked, cell.answered, cell.wrong) for cell in cells_of(basis_of(workflow))] == [(1, 0, 0)]


def test_a_route_that_is_replaced_is_taken_off(workflow: Workflow) -> None:
    insert_past(workflow, [REVIEWED] * 2)
    refresh(workflow)
    Route.objects.filter(pk=Route.objects.earliest("pk").pk).update(superseded_at=NOW)
    assert [cell.items for cell in cells_of(basis_of(workflow))] == [1]
    assert Counted.objects.count() == 1


def test_a_newcomer_may_take_its_groups_place(workflow: Workflow) -> None:
    for step in range(12):
        insert_past(workflow, [replace(REVIEWED, group="chat", p=0.5 + step / 30)], prefix=f"step-{step}")
        assert_as_recounted(workflow)
        assert sum(cell.items for cell in cells_of(basis_of(workflow))) == 1


def test_the_deadline_falls_within_a_day(workflow: Workflow) -> None:
    ages = [timedelta(days=7, minutes=minutes) for minutes in (-600, -1, 1, 600, 1200)]
    insert_past(workflow, [replace(AUDITED, answer="", at=NOW - age) for age in ages])
    assert sum(cell.late for cell in cells_of(basis_of(workflow))) == 3
    assert_as_recounted(workflow)


def test_another_time_zone_has_other_days(workflow: Workflow) -> None:
    insert_past(workflow, [replace(REVIEWED, at=NOW.replace(hour=22))])
    refresh(workflow)
    workflow.time_zone = "Asia/Tokyo"
    workflow.save()
    refresh(workflow)
    assert DayCount.objects.get(items=1).day == NOW.date() + timedelta(days=1)


def test_one_workflow_leaves_another_alone(workflow: Workflow, other_workflow: Workflow) -> None:
    insert_past(other_workflow, [REVIEWED])
    assert (refresh(workflow), Touched.objects.count()) == (0, 2)


def test_an_item_noted_often_is_counted_once(workflow: Workflow) -> None:
    insert_past(workflow, [REVIEWED, AUDITED])
    Label.objects.update(taken_back_at=NOW)
    assert Touched.objects.count() > 2
    assert refresh(workflow) == 2


def test_what_the_model_could_not_answer_is_counted_apart(workflow: Workflow) -> None:
    insert_past(workflow, [REVIEWED])
    item = Item.objects.create(
        workflow=workflow,
        external_id="x",
        content_hash="0",
        title="",
        source="test",
        received_at=NOW,
        created_at=NOW,
        due_at=NOW,
    )
    Route.objects.create(
        item=item,
        workflow=workflow,
        policy=workflow.policies.get(),
        question_set=workflow.question_sets.get(),
        outcome="review",
        gates=[],
        reasons=[],
        pi=1.0,
        drawn=False,
        open_but_threshold=False,
        created_at=NOW,
    )
    refresh(workflow)
    assert DayCount.objects.filter(label="", model="", bin=-1, is_open=False, items=1).exists()
