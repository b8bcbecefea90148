"""Several who act at once, over connections of their own."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest
from django.db import connection

from apps.calibration.models import Incident
from apps.calibration.watching.watching import watch_alarms
from apps.outbox.models import Event
from apps.policies.errors import BasedOnAnother
from apps.policies.services import activate, create_draft
from apps.workflows.models import Workflow
from tests.calibration.streams import insert_past
from tests.calibration.watching.watched import autonomy, mixed
from tests.factories import NOW, RULES

pytestmark = pytest.mark.django_db(transaction=True)


def at_once(*each: Callable[[], object]) -> list[object]:
    def closing(do: Callable[[], object]) -> object:
        try:
            return do()
        except BasedOnAnother as refused:
            return refused
        finally:
            connection.close()

    with ThreadPoolExecutor(len(each)) as pool:
        return [future.result(timeout=60) for future in [pool.submit(closing, do) for do in each]]


def test_it_works(workflow: Workflow) -> None:
    """Four workers see the same checks: one alarm, one version, one event."""
    insert_past(workflow, mixed(80, 20))
    opened = at_once(*[lambda: watch_alarms(workflow=workflow, now=NOW)] * 4)
    assert sum(len(each) for each in opened if isinstance(each, list)) == 1
    assert (Incident.objects.count(), Event.objects.filter(type="alarm.raised").count()) == (1, 1)
    assert workflow.policies.count() == 2


def test_a_manager_who_activates_meanwhile_cannot_undo_it_unseen(workflow: Workflow) -> None:
    """Whoever is second: either the draft was based on another version, or the label is put back in it."""
    insert_past(workflow, mixed(80, 20))
    active = workflow.policies.get(status="active")
    draft = create_draft(
        workflow=workflow, rules=RULES | {"margin": 0.05, "audit_rate": 0.3}, based_on=active, user=None
    )
    at_once(
        lambda: watch_alarms(workflow=workflow, now=NOW),
        lambda: activate(policy=draft, user=None, now=NOW),
    )
    assert autonomy(workflow)["spam"] == "suggest"
