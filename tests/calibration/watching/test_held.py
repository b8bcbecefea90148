"""An alarm while automatic runs wait: what had not started does not start."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from apps.actions.models import ActionRun
from apps.calibration.watching.demotion import demote
from apps.clef.local.server import StandIn
from apps.items.models import Item
from apps.pipeline.acting import act_on_due_runs
from apps.pipeline.incoming import Incoming
from apps.pipeline.intake import add_items
from apps.pipeline.processing import decide_waiting_items
from apps.routing.types import Autonomy
from apps.workflows.models import Endpoint, Workflow
from tests.calibration.watching.watched import autonomy, change_rules
from tests.factories import NOW, RULES

pytestmark = pytest.mark.django_db

EASY: dict[str, Any] = RULES | {
    "labels": {
        label: {"threshold": 0.0, "autonomy": "automatic", "target_error": 0.05}
        for label in ("lead", "customer", "spam")
    },
    "margin": 0.0,
    "costs": {},
    "review_cost": 100.0,
}


@pytest.fixture
def waiting(workflow: Workflow) -> Item:
    """Settled by the policy as spam, its action not started."""
    change_rules(workflow, EASY)
    with StandIn() as standin:
        Endpoint.objects.update(base_url=standin.url)
        incoming = [Incoming("a", "Win a free prize now click here")]
        add_items(workflow=workflow, incoming=incoming, source="test", now=NOW)
        decide_waiting_items(now=timezone.now)
    return Item.objects.get(status="settled")


def test_it_works(workflow: Workflow, waiting: Item) -> None:
    demote(workflow=workflow, labels=["spam"], because="Alarm", now=timezone.now())
    ActionRun.objects.update(not_before=NOW - timedelta(days=1))
    act_on_due_runs(now=timezone.now)
    waiting.refresh_from_db()
    assert waiting.status == "in_review"
    assert ActionRun.objects.get().status == "cancelled"
    assert waiting.routes.get(superseded_at=None).outcome == "review"


def test_runs_of_other_labels_go_on(workflow: Workflow, waiting: Item) -> None:
    demote(workflow=workflow, labels=["lead"], because="Alarm", now=timezone.now())
    ActionRun.objects.update(not_before=NOW - timedelta(days=1))
    act_on_due_runs(now=timezone.now)
    assert ActionRun.objects.get().status == "verified"


def test_a_label_with_less_autonomy_keeps_it(workflow: Workflow) -> None:
    change_rules(workflow, EASY)
    now = timezone.now()
    demote(workflow=workflow, labels=["lead"], because="Changed", now=now, to=Autonomy.SHADOW)
    policy = demote(workflow=workflow, labels=["lead", "spam"], because="Alarm", now=now)
    assert autonomy(workflow) == {"lead": "shadow", "customer": "automatic", "spam": "suggest"}
    assert (policy.version, policy.based_on and policy.based_on.version) == (4, 3)


def test_what_changes_nothing_makes_no_version(workflow: Workflow) -> None:
    policy = demote(workflow=workflow, labels=["lead", "no such label"], because="Alarm", now=NOW)
    assert policy.version == 1
