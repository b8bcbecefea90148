from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta

import pytest
from django.utils import timezone

from apps.actions.models import ActionRun
from apps.clef.errors import RequestRefused
from apps.clef.local.server import StandIn
from apps.items.models import Decision, Item, Route
from apps.pipeline.claims import claim_items
from apps.pipeline.incoming import Incoming
from apps.pipeline.intake import add_items
from apps.pipeline.processing import decide_waiting_items
from apps.pipeline.rulebook import rulebook_for
from apps.pipeline.sweep import sweep_rows
from apps.pipeline.writing import write_answers
from apps.reviews.models import ReviewTask
from apps.workflows.models import Endpoint, QuestionSet, Workflow
from tests.factories import NOW


@pytest.fixture
def model(workflow: Workflow) -> Iterator[StandIn]:
    with StandIn() as standin:
        Endpoint.objects.update(base_url=standin.url)
        yield standin


def add(workflow: Workflow, *texts: str) -> None:
    incoming = [Incoming(f"item-{number}", text) for number, text in enumerate(texts)]
    add_items(workflow=workflow, incoming=incoming, source="test", now=NOW)


def decide() -> None:
    assert not decide_waiting_items(now=timezone.now)


def test_it_works(workflow: Workflow, model: StandIn) -> None:
    add(workflow, "My order has not arrived", "Win a free prize now, click here")
    decide()
    first = Item.objects.get(external_id="item-0")
    assert (first.status, first.claim_token) == ("in_review", None)
    decision = Decision.objects.get(item=first)
    assert (decision.model, set(decision.answers)) == ("standin-ngram-1", {"intent", "money"})
    route = Route.objects.get(item=first)
    assert (route.outcome, route.pi) == ("review", 1.0)
    assert ReviewTask.objects.get(item=first).asked == ["intent"]
    assert QuestionSet.objects.get(workflow=workflow).first_used_at is not None


def test_automatic_items_settle_and_start_a_run(workflow: Workflow, model: StandIn) -> None:
    rules = {**workflow.policies.get().rules, "margin": 0.0, "costs": {}, "review_cost": 100.0}
    labels = ("lead", "customer", "spam")
    rules["labels"] = {
        label: {"threshold": 0.0, "autonomy": "audited", "target_error": 0.05} for label in labels
    }
    workflow.policies.update(status="retired")
    workflow.policies.create(version=2, status="active", rules=rules | {"audit_rate": 1.0}, activated_at=NOW)
    add(workflow, "Win a free prize now click here")
    decide()
    item = Item.objects.get()
    assert (item.status, item.settled_by, item.audit_open) == ("settled", "policy", True)
    task = ReviewTask.objects.get()
    assert (task.kind, task.blind) == ("audit", True)
    assert ActionRun.objects.get().started_by == "policy"


def test_a_dead_workers_claim_comes_back(workflow: Workflow, model: StandIn) -> None:
    add(workflow, "My order has not arrived")
    assert len(claim_items(workflow=workflow).item_ids) == 1
    assert claim_items(workflow=workflow).item_ids == ()
    Item.objects.update(claimed_until=NOW - timedelta(days=1))
    swept = sweep_rows(now=NOW)
    assert (swept.freed, swept.to_decide) == (1, True)
    decide()
    assert Decision.objects.count() == 1


def test_an_item_the_model_refuses_goes_to_people(workflow: Workflow, model: StandIn) -> None:
    add(workflow, "x" * 300_000)
    decide()
    route = Route.objects.get()
    assert (route.decision, route.reasons[0]["code"]) == (None, "model_error")
    assert ReviewTask.objects.get().asked == ["intent", "money"]


def test_trouble_of_the_endpoint_is_nobodys_work(workflow: Workflow) -> None:
    add(workflow, "hello", "again")
    decide()
    item = Item.objects.first()
    assert item is not None
    assert (item.status, item.next_try_at is not None) == ("received", True)
    assert "cannot be reached" in item.wait_reason
    assert not ReviewTask.objects.exists()
    assert Endpoint.objects.get().failures_in_a_row == 1


def test_only_when_due_it_goes_to_people(workflow: Workflow) -> None:
    add(workflow, "hello")
    decide()
    assert sweep_rows(now=NOW + timedelta(hours=1)).to_people == 0
    assert sweep_rows(now=NOW + timedelta(hours=25)).to_people == 1
    assert Route.objects.get().reasons[0]["numbers"]["code"] == "not_in_time"


def test_an_item_at_which_workers_die_goes_to_people(workflow: Workflow) -> None:
    add(workflow, "hello")
    Item.objects.update(attempts=5)
    sweep_rows(now=NOW)
    assert Route.objects.get().reasons[0]["numbers"]["code"] == "worker_lost"


def test_the_endpoint_recovers(workflow: Workflow, model: StandIn) -> None:
    add(workflow, "My order has not arrived")
    Endpoint.objects.update(failures_in_a_row=3, paused_until=NOW - timedelta(days=1), pause_reason="busy")
    decide()
    endpoint = Endpoint.objects.get()
    assert (endpoint.failures_in_a_row, endpoint.paused_until, endpoint.pause_reason) == (0, None, "")


def test_who_wakes_up_late_writes_nothing(workflow: Workflow, model: StandIn) -> None:
    add(workflow, "My order has not arrived")
    late = claim_items(workflow=workflow)
    Item.objects.update(claimed_until=NOW - timedelta(days=1))
    sweep_rows(now=NOW)
    decide()
    outcomes = {late.item_ids[0]: RequestRefused("too late")}
    write_answers(book=rulebook_for(workflow), claim=late, outcomes=outcomes, now=NOW)
    assert Route.objects.get().decision is not None
