from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apps.calibration.attempts import REVIEW_EVERY, WEEK, Attempts
from apps.calibration.certs import certificates_in_force, end_certificate
from apps.calibration.counting.counts import count_labels
from apps.calibration.looking import look
from apps.calibration.models import CalibrationRun, Certificate, Incident
from apps.calibration.running import run_calibration
from apps.policies.models import Policy
from apps.stats.spending import attempt_delta
from apps.workflows.models import Workflow
from tests.calibration.certificates import certificate_in_force, history
from tests.calibration.streams import REVIEWED, insert_past
from tests.factories import NOW, RULES, make_policy

pytestmark = pytest.mark.django_db

AGREED = [replace(REVIEWED, label="lead", answer="lead", p=0.8)] * 600


def certify(workflow: Workflow) -> Certificate:
    insert_past(workflow, AGREED)
    run_calibration(workflow=workflow, trigger=CalibrationRun.Trigger.ASKED, user=None, now=NOW)
    certificate = certificate_in_force(workflow, "lead")
    assert certificate is not None
    return certificate


def next_attempt(workflow: Workflow) -> object:
    return entry(workflow)["attempt"]


def entry(workflow: Workflow) -> dict[str, object]:
    return look(workflow=workflow, now=NOW + timedelta(days=1)).entry("lead")


def test_it_works(workflow: Workflow) -> None:
    certify(workflow)
    assert next_attempt(workflow) == 2
    assert (entry(workflow)["attempt"], entry(workflow)["due_on"]) == (2, "2026-12-28")


@given(made=st.integers(0, 40), confidence=st.floats(0.8, 0.999))
def test_all_attempts_together_never_spend_more_than_was_promised(made: int, confidence: float) -> None:
    delta = 1 - confidence
    assert sum(attempt_delta(delta, attempt) for attempt in range(1, made + 1)) < delta


@pytest.mark.parametrize(("made", "wait"), [(1, WEEK), (3, WEEK), (4, REVIEW_EVERY), (9, REVIEW_EVERY)])
def test_people_who_review_have_four_weekly_attempts(made: int, wait: timedelta) -> None:
    assert Attempts(made, NOW).due_at(None) == NOW + wait


def test_the_first_attempt_is_due_at_once() -> None:
    assert Attempts().due_at(None) is None


def test_an_alarm_resets_and_drops_what_was_counted(workflow: Workflow) -> None:
    end_certificate(certify(workflow), Certificate.Ended.ALARM, NOW)
    assert certificate_in_force(workflow, "lead") is None
    assert (next_attempt(workflow), entry(workflow)["rows"]) == (1, [])
    assert count_labels(workflow=workflow, now=NOW)["lead"].answered == 600


def test_an_alarm_of_the_whole_queue_resets_the_labels_it_names(workflow: Workflow) -> None:
    certify(workflow)
    Incident.objects.create(
        workflow=workflow,
        level=Incident.Level.ALARM,
        kind=Incident.Kind.BROKEN_TARGET,
        numbers={"demoted": ["lead"]},
        opened_at=NOW,
    )
    assert next_attempt(workflow) == 1


@pytest.mark.parametrize("because", [Certificate.Ended.EXPIRED, Certificate.Ended.RENEWED])
def test_neither_expiry_nor_renewal_gives_an_attempt_back(
    workflow: Workflow, because: Certificate.Ended
) -> None:
    end_certificate(certify(workflow), because, NOW)
    assert next_attempt(workflow) == 2


def test_other_gates_begin_anew_and_end_what_was_relied_on(workflow: Workflow) -> None:
    certificate = certify(workflow)
    Policy.objects.filter(status="active").update(status="retired")
    make_policy(workflow, RULES | {"margin": 0.2}, version=9)
    assert (certificates_in_force(workflow), next_attempt(workflow)) == ({}, 1)
    run_calibration(
        workflow=workflow, trigger=CalibrationRun.Trigger.ASKED, user=None, now=NOW + timedelta(days=1)
    )
    certificate.refresh_from_db()
    assert certificate.ended_because == "changed"


def test_other_thresholds_are_no_other_gates(workflow: Workflow) -> None:
    certificate = certify(workflow)
    Policy.objects.filter(status="active").update(status="retired")
    labels = RULES["labels"] | {"lead": {"threshold": 0.6, "autonomy": "audited", "target_error": 0.05}}
    make_policy(workflow, RULES | {"labels": labels}, version=9)
    assert certificates_in_force(workflow) == {"lead": certificate}


def test_another_model_begins_anew(workflow: Workflow) -> None:
    certify(workflow)
    later = NOW + timedelta(hours=1)
    insert_past(workflow, [replace(AGREED[0], model="other-model", at=later)], prefix="other")
    assert (certificates_in_force(workflow), next_attempt(workflow)) == ({}, 1)


def test_a_certificate_ends_once(workflow: Workflow) -> None:
    certificate = certify(workflow)
    assert end_certificate(certificate, Certificate.Ended.ALARM, NOW)
    assert not end_certificate(certificate, Certificate.Ended.EXPIRED, NOW)
    assert (certificate.ended_because, history(workflow, "lead").count()) == ("alarm", 1)
