"""What was tried and raised counts for what may be tried next: even SQL cannot make it go."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.db import IntegrityError, connection, transaction

from apps.calibration.models import CalibrationRun, Certificate, Incident
from apps.calibration.running import run_calibration
from apps.calibration.watching.watching import watch_alarms
from apps.workflows.models import Workflow
from tests.calibration.streams import REVIEWED, insert_past
from tests.calibration.watching.watched import mixed
from tests.factories import NOW

pytestmark = pytest.mark.django_db


@pytest.fixture
def history(workflow: Workflow) -> None:
    insert_past(workflow, [*mixed(80, 20), *[REVIEWED] * 600])
    watch_alarms(workflow=workflow, now=NOW)
    later = NOW + timedelta(days=1)
    run_calibration(workflow=workflow, trigger=CalibrationRun.Trigger.ASKED, user=None, now=later)


def refused(sql: str, why: str) -> None:
    with pytest.raises(IntegrityError, match=why), transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(sql)


@pytest.mark.usefixtures("history")
def test_it_works() -> None:
    assert Incident.objects.count() == CalibrationRun.objects.count() == 1
    refused("DELETE FROM calibration_incident", "never deleted")
    refused("DELETE FROM calibration_calibrationrun", "never deleted")


def test_an_attempt_cannot_be_made_undone(workflow: Workflow) -> None:
    insert_past(workflow, [REVIEWED] * 600)
    run_calibration(workflow=workflow, trigger=CalibrationRun.Trigger.ASKED, user=None, now=NOW)
    assert Certificate.objects.count() == 1
    refused("DELETE FROM calibration_certificate", "never deleted")
