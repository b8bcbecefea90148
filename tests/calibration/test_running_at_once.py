"""Two managers ask at the same moment, each on a connection of their own."""

from __future__ import annotations

from dataclasses import replace

import pytest

from apps.calibration.models import CalibrationRun, Certificate
from apps.calibration.running import run_calibration
from apps.workflows.models import Workflow
from tests.calibration.streams import REVIEWED, insert_past
from tests.factories import NOW
from tests.policies.test_two_managers import at_once

pytestmark = pytest.mark.django_db(transaction=True)


def test_it_works(workflow: Workflow) -> None:
    insert_past(workflow, [replace(REVIEWED, label="lead", answer="lead", p=0.8)] * 600)

    def ask() -> CalibrationRun:
        return run_calibration(workflow=workflow, trigger=CalibrationRun.Trigger.ASKED, user=None, now=NOW)

    first, second = at_once(ask, ask)
    assert first == second
    assert (CalibrationRun.objects.count(), Certificate.objects.count()) == (1, 1)
    assert workflow.policies.filter(status="proposed").count() == 1
