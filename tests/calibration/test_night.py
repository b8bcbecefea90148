from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta

import pytest

from apps.calibration.expiring import expire
from apps.calibration.models import CalibrationRun, CalibrationSettings, Certificate, Incident
from apps.calibration.night import look_tonight
from apps.calibration.running import run_calibration
from apps.policies.models import Policy
from apps.policies.selectors import active_policy
from apps.policies.services import activate
from apps.workflows.models import Workflow
from tests.calibration.certificates import certificate_in_force, history
from tests.calibration.streams import AUDITED, REVIEWED, UNCHECKED, Past, insert_past
from tests.factories import NOW

pytestmark = pytest.mark.django_db

AGREED = [replace(REVIEWED, label="lead", answer="lead", p=0.8)] * 600
WEEK = timedelta(weeks=1)


def certify(workflow: Workflow, *, activated: bool = True) -> Certificate:
    """Leads certified from 0.5, acting by themselves if the proposal was activated."""
    insert_past(workflow, AGREED)
    run = run_calibration(workflow=workflow, trigger=CalibrationRun.Trigger.ASKED, user=None, now=NOW)
    if activated:
        assert run.proposal is not None
        activate(policy=run.proposal, user=None, now=NOW)
    certificate = certificate_in_force(workflow, "lead")
    assert certificate is not None
    return certificate


def later(past: Sequence[Past], at: datetime) -> list[Past]:
    return [replace(each, label="lead", answer=each.answer and "lead", p=0.8, at=at) for each in past]


def autonomy(workflow: Workflow) -> str:
    active = active_policy(workflow)
    assert active is not None
    return str(active.rules["labels"]["lead"]["autonomy"])


def test_it_works(workflow: Workflow) -> None:
    insert_past(workflow, AGREED)
    (run,) = look_tonight(now=NOW)
    assert (run.trigger, run.started_by) == ("scheduled", None)
    assert certificate_in_force(workflow, "lead") is not None
    assert look_tonight(now=NOW + timedelta(hours=1)) == []
    assert CalibrationSettings.objects.get().looked_on == NOW.date()


def test_it_waits_for_the_night_of_the_workflow(workflow: Workflow) -> None:
    Workflow.objects.update(time_zone="America/Los_Angeles")
    insert_past(workflow, AGREED)
    assert look_tonight(now=NOW) == []
    assert len(look_tonight(now=NOW + timedelta(hours=1))) == 1


def test_nothing_due_stores_nothing(workflow: Workflow) -> None:
    insert_past(workflow, AGREED[:50])
    assert look_tonight(now=NOW) == []
    assert CalibrationRun.objects.count() == 0


def test_after_four_weeks_it_is_renewed(workflow: Workflow) -> None:
    certify(workflow, activated=False)
    assert look_tonight(now=NOW + 4 * WEEK - timedelta(days=1)) == []
    assert len(look_tonight(now=NOW + 4 * WEEK)) == 1
    assert [each.ended_because for each in history(workflow, "lead")] == ["", "renewed"]


def test_after_twelve_weeks_the_label_goes_back_to_people(workflow: Workflow) -> None:
    certificate = certify(workflow)
    before = active_policy(workflow)
    assert look_tonight(now=NOW + 12 * WEEK) == []
    certificate.refresh_from_db()
    incident = Incident.objects.get(kind="expired")
    assert (certificate.ended_because, autonomy(workflow)) == ("expired", "suggest")
    assert (incident.label, incident.policy_before, incident.policy_after) == (
        "lead",
        before,
        active_policy(workflow),
    )


def test_a_label_that_never_acted_loses_its_certificate_in_silence(workflow: Workflow) -> None:
    certify(workflow, activated=False)
    assert [each.label for each in expire(workflow=workflow, now=NOW + 12 * WEEK)] == ["lead"]
    assert (Incident.objects.count(), Policy.objects.filter(status="active").get().version) == (0, 1)


@pytest.mark.parametrize(("checks", "over"), [(19, ["lead"]), (20, [])])
def test_a_label_hardly_checked_goes_back_to_people(workflow: Workflow, checks: int, over: list[str]) -> None:
    certify(workflow)
    insert_past(workflow, later([UNCHECKED] * 5, NOW + timedelta(hours=1)), prefix="early")
    insert_past(workflow, later([AUDITED] * checks, NOW + 3 * WEEK), prefix="checked")
    assert expire(workflow=workflow, now=NOW + 4 * WEEK) == []
    assert [each.label for each in expire(workflow=workflow, now=NOW + 5 * WEEK)] == over
    assert (autonomy(workflow) == "suggest") is bool(over)


def test_a_label_that_acts_for_less_than_four_weeks_is_not_judged_by_its_checks(workflow: Workflow) -> None:
    certify(workflow)
    insert_past(workflow, later([UNCHECKED] * 5, NOW + 3 * WEEK), prefix="late")
    assert expire(workflow=workflow, now=NOW + 5 * WEEK) == []


def test_the_night_of_its_last_day_renews_it_or_ends_it(workflow: Workflow) -> None:
    certificate = certify(workflow)
    disputed = later([replace(REVIEWED, answer="spam")] * 100, NOW + 11 * WEEK)
    insert_past(workflow, [replace(each, answer="spam", p=0.7) for each in disputed], prefix="no")
    insert_past(workflow, later([REVIEWED] * 300, NOW + 11 * WEEK), prefix="yes")
    insert_past(workflow, later([AUDITED] * 30, NOW + 11 * WEEK), prefix="checked")
    last_night = NOW + 12 * WEEK - timedelta(hours=6)
    assert len(look_tonight(now=last_night)) == 1
    renewed, before = history(workflow, "lead")
    assert (before, before.ended_because, renewed.certified[-1]) == (certificate, "renewed", 0.71)
    assert look_tonight(now=last_night + timedelta(days=1)) == []
    active = active_policy(workflow)
    assert active is not None
    assert active.rules["labels"]["lead"]["threshold"] == 0.71
