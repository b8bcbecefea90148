from __future__ import annotations

from typing import Any

import pytest
from django.utils import timezone

from apps.accounts.models import User
from apps.actions.models import ActionRun, ItemTag
from apps.clef.local.server import StandIn
from apps.items.models import Item, Route
from apps.pipeline.acting import act_on_due_runs
from apps.pipeline.incoming import Incoming
from apps.pipeline.intake import add_items
from apps.pipeline.processing import decide_waiting_items
from apps.reviews.leases import take_next_task
from apps.reviews.models import Label, ReviewTask
from apps.reviews.services import SubmittedAnswer, submit_review
from apps.workflows.models import Endpoint, Workflow
from tests.factories import NOW, RULES, make_policy


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
