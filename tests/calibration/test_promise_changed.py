"""A manager asks for a stricter promise: a certificate for a laxer one is no longer relied on as if it were that."""

from __future__ import annotations

from copy import deepcopy
from dataclasses import replace
from datetime import timedelta

import pytest
from django.test import Client

from apps.accounts.models import User
from apps.calibration.models import CalibrationRun, CalibrationSettings, Incident
from apps.calibration.running import run_calibration
from apps.policies.selectors import active_policy
from apps.policies.services import activate
from apps.workflows.models import Workflow
from tests.calibration.certificates import certificate_in_force, history
from tests.calibration.streams import REVIEWED, insert_past
from tests.calibration.watching.watched import change_rules
from tests.factories import NOW

pytestmark = pytest.mark.django_db

HIGH = [replace(REVIEWED, label="lead", answer="lead", p=0.95)] * 1100
LOW = [replace(REVIEWED, label="lead", answer="lead", p=0.8)] * 300
LOW_WRONG = [replace(REVIEWED, label="lead", answer="spam", p=0.8)] * 12
DAY = timedelta(days=1)


def calibrate(workflow: Workflow, days: int = 0, *forced: str) -> CalibrationRun:
    return run_calibration(
        workflow=workflow,
        trigger=CalibrationRun.Trigger.ASKED,
        user=None,
        now=NOW + days * DAY,
        forced=forced,
    )


def acting(workflow: Workflow) -> None:
    """Certified for 5 % from 50 % on, and acting from there."""
    insert_past(workflow, HIGH + LOW + LOW_WRONG)
    proposal = calibrate(workflow).proposal
    assert proposal is not None
    activate(policy=proposal, user=None, now=NOW)


def aim(workflow: Workflow, target: float) -> None:
    policy = active_policy(workflow)
    assert policy is not None
    rules = deepcopy(policy.rules)
    rules["labels"]["lead"]["target_error"] = target
    change_rules(workflow, rules)


def test_it_works(workflow: Workflow) -> None:
    acting(workflow)
    aim(workflow, 0.01)
    calibrate(workflow, 1, "lead")
    new, laxer = history(workflow, "lead")
    assert (certificate_in_force(workflow, "lead"), laxer.ended_because) == (new, "renewed")
    policy, incident = active_policy(workflow), Incident.objects.get()
    assert policy is not None
    assert policy.rules["labels"]["lead"]["threshold"] == min(new.certified) == 0.81
    assert (incident.kind, incident.label) == ("tightened", "lead")


@pytest.mark.parametrize("confidence", [0.95, 0.999])
def test_a_laxer_certificate_proposes_nothing(workflow: Workflow, confidence: float) -> None:
    insert_past(workflow, HIGH)
    assert calibrate(workflow).proposal is not None
    if confidence == 0.95:
        aim(workflow, 0.001)
    CalibrationSettings.objects.create(workflow=workflow, confidence=confidence)
    assert calibrate(workflow, 1).proposal is None
    assert not workflow.policies.filter(status="proposed").exists()


def test_a_promise_for_all_labels_is_more_than_one_for_each(workflow: Workflow) -> None:
    insert_past(workflow, HIGH)
    calibrate(workflow)
    CalibrationSettings.objects.create(workflow=workflow, scope="all_labels")
    assert calibrate(workflow, 1).proposal is None


def test_a_laxer_target_leaves_the_certificate_as_it_is(workflow: Workflow) -> None:
    insert_past(workflow, HIGH)
    proposal = calibrate(workflow).proposal
    assert proposal is not None
    aim(workflow, 0.1)
    again = calibrate(workflow, 1).proposal
    assert again is not None
    assert again.rules["labels"]["lead"]["threshold"] == 0.5


def test_the_page_says_so(workflow: Workflow, mara: User, client: Client) -> None:
    acting(workflow)
    aim(workflow, 0.01)
    client.force_login(mara)
    page = client.get("/w/leads/calibration/").content.decode()
    assert "Not certified for this target" in page
    assert "was issued for a target of 5 % at 95 % confidence for each label. Asked for now is 1 %" in page
