from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import pytest
from django.db import IntegrityError, connection, transaction

from apps.actions.models import ActionRun, ItemTag
from apps.actions.services import begin_run, cancel_pending_runs, claim_runs, perform
from apps.items.models import Item
from apps.workflows.models import Workflow
from tests.factories import NOW, make_item, make_route, make_workflow

DUE = NOW - timedelta(days=1)


def begin(item: Item, label: str = "spam") -> ActionRun:
    run = begin_run(route=make_route(item), label=label, now=NOW, not_before=DUE)
    assert run is not None
    return run


def test_it_works(workflow: Workflow) -> None:
    run = begin(make_item(workflow))
    (claimed,) = claim_runs(limit=10)
    assert claimed == run
    assert perform(run=claimed, now=NOW) == "verified"
    run.refresh_from_db()
    assert (run.status, run.finished_at) == ("verified", NOW)
    assert run.read_back == {"tag": "spam", "written_at": NOW.isoformat()}


def test_a_label_without_action_starts_nothing(workflow: Workflow) -> None:
    route = make_route(make_item(workflow))
    assert begin_run(route=route, label="other", now=NOW, not_before=DUE) is None


def test_not_before_its_time(workflow: Workflow) -> None:
    begin(make_item(workflow))
    ActionRun.objects.update(not_before=NOW + timedelta(days=36_500))
    assert claim_runs(limit=10) == []


def test_two_workers_share_no_run(workflow: Workflow) -> None:
    for _ in range(3):
        begin(make_item(workflow))
    assert [len(claim_runs(limit=2)), len(claim_runs(limit=2)), len(claim_runs(limit=2))] == [2, 1, 0]


def test_a_dead_workers_run_is_read_before_it_is_written_again(workflow: Workflow) -> None:
    run = begin(make_item(workflow))
    claim_runs(limit=10)
    ItemTag.objects.create(item=run.item, tag="spam", idempotency_key=run.idempotency_key, created_at=DUE)
    ActionRun.objects.update(claimed_until=DUE)
    (again,) = claim_runs(limit=10)
    assert perform(run=again, now=NOW) == "verified"
    assert ItemTag.objects.get().created_at == DUE


def test_who_wakes_up_late_writes_nothing(workflow: Workflow) -> None:
    begin(make_item(workflow))
    (late,) = claim_runs(limit=10)
    ActionRun.objects.update(claimed_until=DUE)
    (fresh,) = claim_runs(limit=10)
    perform(run=fresh, now=NOW)
    assert perform(run=late, now=NOW + timedelta(hours=1)) == "running"
    assert ActionRun.objects.get().finished_at == NOW


def test_a_tag_that_does_not_stick_is_unknown_then_failed(workflow: Workflow) -> None:
    """A write that was sent is not a write that stuck: here the outside swallows it."""
    run = begin(make_item(workflow))
    with connection.cursor() as cursor:
        cursor.execute("CREATE RULE swallow AS ON INSERT TO actions_itemtag DO INSTEAD NOTHING")
    seen = []
    for _ in range(3):
        ActionRun.objects.update(not_before=DUE)
        (claimed,) = claim_runs(limit=10)
        seen.append(str(perform(run=claimed, now=NOW)))
    assert seen == ["unknown", "unknown", "failed"]
    run.refresh_from_db()
    assert "not there when read back" in run.error


def test_verified_without_reading_back_is_refused_by_the_database(workflow: Workflow) -> None:
    begin(make_item(workflow))
    with pytest.raises(IntegrityError, match="verified_was_read"), transaction.atomic():
        ActionRun.objects.update(status="verified")


def test_one_live_run_an_item_and_action(workflow: Workflow) -> None:
    run = begin(make_item(workflow))
    with pytest.raises(IntegrityError, match="one_live"), transaction.atomic():
        begin_run(route=run.route, label="spam", now=NOW, not_before=DUE)


@pytest.mark.django_db(transaction=True)
def test_undo_and_start_race_and_one_wins() -> None:
    workflow = make_workflow()
    items = [begin(make_item(workflow)).item_id for _ in range(20)]

    def undo(item_id: int) -> bool:
        try:
            with transaction.atomic():
                return cancel_pending_runs(item_id=item_id, now=NOW)
        finally:
            connection.close()

    def start(_: int) -> list[int]:
        try:
            return [run.item_id for run in claim_runs(limit=1)]
        finally:
            connection.close()

    with ThreadPoolExecutor(8) as pool:
        started = [pool.submit(start, item_id) for item_id in items]
        undone = {item_id: pool.submit(undo, item_id) for item_id in items}
    ran = {item_id for future in started for item_id in future.result()}
    cancelled = {item_id for item_id, future in undone.items() if future.result()}
    assert not ran & cancelled
    assert set(ActionRun.objects.filter(status="cancelled").values_list("item_id", flat=True)) == cancelled
