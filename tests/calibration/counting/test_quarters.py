"""What is counted by the quarter of an hour against the rows themselves, added up or not."""

from __future__ import annotations

from collections import Counter
from datetime import datetime, timedelta
from random import Random

import pytest

from apps.actions.models import Action, ActionRun
from apps.actions.services import build_run
from apps.calibration.counting.days import refresh
from apps.calibration.counting.quarters import is_whole, items_in, runs_begun
from apps.calibration.models import QuarterCount
from apps.items.models import Item
from apps.workflows.models import Workflow
from tests.factories import NOW, make_item, make_route

pytestmark = pytest.mark.django_db

QUARTER = timedelta(minutes=15)


def begin(workflow: Workflow, at: datetime = NOW, *, label: str = "spam", runs: int = 1) -> None:
    action = Action.objects.get(workflow=workflow, label=label)
    made = [make_route(make_item(workflow), label) for _ in range(runs)]
    by = ActionRun.StartedBy.POLICY
    ActionRun.objects.bulk_create(
        [build_run(action=action, route=route, started_by=by, now=at, not_before=at) for route in made]
    )


def test_it_works(workflow: Workflow) -> None:
    make_item(workflow)
    begin(workflow, runs=2)
    for _ in range(2):
        assert items_in(workflow, None, None) == 3
        assert runs_begun(workflow, None, None) == {"pending": 2}
        refresh(workflow)
    assert set(QuarterCount.objects.values_list("what", "n", "is_sum")) == {
        ("item", 3, True),
        ("pending", 2, True),
    }


def test_a_run_counts_where_it_stands_now(workflow: Workflow) -> None:
    begin(workflow, runs=3)
    refresh(workflow)
    ActionRun.objects.filter(pk=ActionRun.objects.earliest("pk").pk).update(
        status="cancelled", finished_at=NOW
    )
    assert runs_begun(workflow, None, None) == {"pending": 2, "cancelled": 1}
    ActionRun.objects.update(attempts=1)
    refresh(workflow)
    assert runs_begun(workflow, None, None) == {"pending": 2, "cancelled": 1}
    ActionRun.objects.filter(status="pending").delete()
    assert {what: n for what, n in runs_begun(workflow, None, None).items() if n} == {"cancelled": 1}


@pytest.mark.parametrize("is_added_up", [False, True])
def test_the_end_of_a_window_is_not_in_it(workflow: Workflow, is_added_up: bool) -> None:
    for minutes in (-1, 0, 14, 15):
        make_item(workflow, created_at=NOW + timedelta(minutes=minutes))
    if is_added_up:
        refresh(workflow)
    assert items_in(workflow, NOW, NOW + QUARTER) == 2
    assert items_in(workflow, None, NOW) == items_in(workflow, NOW + QUARTER, None) == 1


def test_an_item_that_goes_or_moves_is_counted_off(workflow: Workflow) -> None:
    gone, moved = make_item(workflow), make_item(workflow)
    refresh(workflow)
    Item.objects.filter(pk=gone.pk).delete()
    Item.objects.filter(pk=moved.pk).update(created_at=NOW + 2 * QUARTER)
    assert items_in(workflow, NOW, NOW + QUARTER) == 0
    assert items_in(workflow, None, None) == 1


def test_one_workflow_leaves_another_alone(workflow: Workflow, other_workflow: Workflow) -> None:
    make_item(other_workflow)
    refresh(workflow)
    assert (items_in(workflow, None, None), items_in(other_workflow, None, None)) == (0, 1)
    assert not QuarterCount.objects.get().is_sum


@pytest.mark.parametrize("seed", range(4))
def test_whatever_happens_they_are_as_recounted(workflow: Workflow, seed: int) -> None:
    chance = Random(seed)
    for _ in range(6):
        begin(workflow, NOW - timedelta(minutes=chance.randrange(90)), runs=chance.randint(1, 4))
        some = chance.sample(list(ActionRun.objects.filter(status="pending")), 1)
        ActionRun.objects.filter(pk__in=[run.pk for run in some]).update(status="failed", finished_at=NOW)
        if chance.random() < 0.5:
            refresh(workflow)
        start = NOW - QUARTER * chance.randrange(7)
        rows = Counter(ActionRun.objects.filter(created_at__gte=start).values_list("status", flat=True))
        assert Counter(runs_begun(workflow, start, None)) == rows


def test_only_quarters_are_whole() -> None:
    assert is_whole(None, NOW, NOW + QUARTER)
    assert not is_whole(NOW + timedelta(minutes=5))
    assert not is_whole(None, NOW + timedelta(microseconds=1))
