from __future__ import annotations

import time
import uuid
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from functools import partial
from typing import Any

import pytest
from django.db import connection, transaction
from django.utils import timezone

from apps.accounts.models import User
from apps.actions.models import ActionRun, ItemTag
from apps.actions.services import MOST_ATTEMPTS, begin_run, claim_runs
from apps.clef.local.server import StandIn
from apps.items.models import Item, Route
from apps.pipeline.acting import act_on_due_runs, hold_back
from apps.pipeline.incoming import Incoming
from apps.pipeline.intake import add_items
from apps.pipeline.processing import decide_waiting_items
from apps.reviews.leases import take_next_task
from apps.reviews.models import Label, ReviewTask
from apps.reviews.services import SubmittedAnswer, submit_review
from apps.workflows.models import Endpoint, Workflow
from tests.factories import NOW, RULES, make_item, make_policy, make_route

PAST = NOW - timedelta(days=3_650)


def rules(autonomy: str, audit_rate: float = 0.01) -> dict[str, Any]:
    labels = {
        label: {"threshold": 0.0, "autonomy": autonomy, "target_error": 0.05}
        for label in ("lead", "customer", "spam")
    }
    return RULES | {
        "labels": labels,
        "margin": 0.0,
        "costs": {},
        "review_cost": 100.0,
        "audit_rate": audit_rate,
    }


def activate(workflow: Workflow, version: int, new_rules: dict[str, Any]) -> None:
    workflow.policies.filter(status="active").update(status="retired")
    make_policy(workflow, new_rules, version=version)


@pytest.fixture
def settled(workflow: Workflow) -> Item:
    """An item the policy settled, its action pending and an audit open."""
    activate(workflow, 2, rules("audited", audit_rate=1.0))
    with StandIn() as standin:
        Endpoint.objects.update(base_url=standin.url)
        incoming = [Incoming("a", "Win a free prize now click here")]
        add_items(workflow=workflow, incoming=incoming, source="test", now=NOW)
        decide_waiting_items(now=timezone.now)
    item = Item.objects.get()
    assert (item.status, item.settled_by) == ("settled", "policy")
    return item


def answer(user: User, workflow: Workflow) -> None:
    lease = take_next_task(user=user, workflow=workflow)
    assert lease is not None
    given = {"intent": SubmittedAnswer("spam")}
    submit_review(user=user, lease_token=lease.token, answers=given, seconds=1, note="", now=NOW)


def in_a_thread(call: Callable[[], int]) -> int:
    try:
        return call()
    finally:
        connection.close()


def wait_until_blocked() -> None:
    """Until another connection of this database waits for a lock."""
    waiting = "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()"
    for _ in range(200):
        with connection.cursor() as cursor:
            # Within a transaction the view would stay as it was first read.
            cursor.execute("SELECT pg_stat_clear_snapshot()")
            cursor.execute(waiting)
            if cursor.fetchone()[0]:
                return
        time.sleep(0.02)
    raise AssertionError("nothing waits for a lock")


def test_it_works(settled: Item) -> None:
    assert act_on_due_runs(now=timezone.now) == 1
    assert ActionRun.objects.get().status == "verified"
    assert ItemTag.objects.get().tag == "spam"


def test_a_policy_that_would_no_longer_let_it_pass_holds_it(settled: Item, workflow: Workflow) -> None:
    activate(workflow, 3, rules("suggest"))
    act_on_due_runs(now=timezone.now)
    settled.refresh_from_db()
    run = ActionRun.objects.get()
    assert (settled.status, settled.audit_open, run.status) == ("in_review", False, "cancelled")
    assert "policy version 3" in run.error
    assert not ItemTag.objects.exists()
    assert list(ReviewTask.objects.order_by("id").values_list("kind", "status")) == [
        ("audit", "cancelled"),
        ("routine", "open"),
    ]
    assert Route.objects.get(superseded_at=None).policy.version == 3


def test_an_audit_answered_meanwhile_is_asked_anew(settled: Item, workflow: Workflow, rosa: User) -> None:
    answer(rosa, workflow)
    activate(workflow, 3, rules("suggest"))
    act_on_due_runs(now=timezone.now)
    answer(rosa, workflow)
    assert Label.objects.count() == 2
    assert Label.objects.get(taken_back_at=None).pi == 1.0


def test_a_policy_that_still_lets_it_pass_changes_nothing(settled: Item, workflow: Workflow) -> None:
    activate(workflow, 3, rules("audited", audit_rate=0.5))
    act_on_due_runs(now=timezone.now)
    assert ActionRun.objects.get().status == "verified"
    assert Route.objects.get().policy.version == 2


def test_a_run_that_always_breaks_ends_failed_and_stops_no_other(workflow: Workflow) -> None:
    for label in ("spam", "lead"):
        begin_run(route=make_route(make_item(workflow)), label=label, now=NOW, not_before=NOW)
    ActionRun.objects.filter(action__label="spam").update(settings={})
    for _ in range(MOST_ATTEMPTS):
        ActionRun.objects.update(not_before=PAST)
        act_on_due_runs(now=timezone.now)
    broken, good = ActionRun.objects.order_by("id")
    assert (broken.status, good.status) == ("failed", "verified")
    assert "KeyError" in broken.error


def test_rules_that_cannot_be_read_let_nothing_pass(settled: Item, workflow: Workflow) -> None:
    activate(workflow, 3, {"margin": "much"})
    for _ in range(MOST_ATTEMPTS):
        ActionRun.objects.update(not_before=PAST)
        act_on_due_runs(now=timezone.now)
    assert ActionRun.objects.get().status == "failed"
    assert not ItemTag.objects.exists()


def test_a_run_claimed_anew_meanwhile_is_not_held(settled: Item, workflow: Workflow) -> None:
    ActionRun.objects.update(not_before=PAST)
    (late,) = claim_runs(limit=1)
    ActionRun.objects.update(claim_token=uuid.uuid4())
    activate(workflow, 3, rules("suggest"))
    assert hold_back(run=late, now=NOW)
    settled.refresh_from_db()
    assert (settled.status, ActionRun.objects.get().status) == ("settled", "running")


def test_a_run_whose_worker_died_before_it_wrote_asks_the_policy_again(
    settled: Item, workflow: Workflow
) -> None:
    claim_runs(limit=1)
    ActionRun.objects.update(claimed_until=PAST)
    activate(workflow, 3, rules("suggest"))
    act_on_due_runs(now=timezone.now)
    assert ActionRun.objects.get().status == "cancelled"
    assert not ItemTag.objects.exists()


@pytest.mark.django_db(transaction=True)
def test_an_audit_answered_at_the_moment_its_run_is_held(
    settled: Item, workflow: Workflow, rosa: User
) -> None:
    activate(workflow, 3, rules("suggest"))
    with ThreadPoolExecutor(1) as pool, transaction.atomic():
        ReviewTask.objects.select_for_update().get()
        holding = pool.submit(in_a_thread, partial(act_on_due_runs, now=timezone.now))
        wait_until_blocked()
        answer(rosa, workflow)
    assert holding.result() == 1
    settled.refresh_from_db()
    assert (settled.status, ActionRun.objects.get().status) == ("in_review", "cancelled")
    assert not Label.objects.filter(taken_back_at=None).exists()
