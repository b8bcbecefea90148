from __future__ import annotations

from datetime import datetime, timedelta

import pytest

from apps.calibration.models import Incident
from apps.calibration.watching.rounds import look_at_every_workflow
from apps.calibration.watching.watching import watch, watch_alarms
from apps.config.settings import CELERY_BEAT_SCHEDULE
from apps.workflows.models import Workflow
from tests.calibration.streams import insert_past
from tests.calibration.watching.watched import mixed
from tests.factories import NOW

pytestmark = pytest.mark.django_db


def test_it_works(workflow: Workflow, other_workflow: Workflow) -> None:
    insert_past(other_workflow, mixed(80, 20))
    (incident,) = look_at_every_workflow(watch_alarms, now=lambda: NOW)
    assert incident.workflow == other_workflow


def test_a_workflow_in_trouble_keeps_no_other_back(workflow: Workflow, other_workflow: Workflow) -> None:
    def look(*, workflow: Workflow, now: datetime) -> list[Incident]:
        if workflow.slug == "leads":
            raise RuntimeError("broken")
        return watch_alarms(workflow=workflow, now=now)

    insert_past(other_workflow, mixed(80, 20))
    assert len(look_at_every_workflow(look, now=lambda: NOW)) == 1


def test_alarms_come_before_warnings(workflow: Workflow) -> None:
    """A label that went back to people is not warned about in the same breath."""
    insert_past(workflow, mixed(80, 20, at=NOW - timedelta(days=1)))
    assert [each.kind for each in watch(workflow=workflow, now=NOW)] == ["broken_target"]


def test_they_are_in_the_schedule() -> None:
    asked = {entry["task"]: entry["schedule"] for entry in CELERY_BEAT_SCHEDULE.values()}
    assert asked["apps.calibration.tasks.watch_alarms"] == 60.0
    assert asked["apps.calibration.tasks.watch_warnings"] == 3600.0
