"""The alarm of all labels together, for those that are too rare for one of their own."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from apps.calibration.models import Incident
from apps.calibration.watching.watching import watch_alarms
from apps.workflows.models import Workflow
from tests.calibration.streams import AUDITED, UNCHECKED, Past, insert_past
from tests.calibration.watching.watched import autonomy, change_rules, in_order, standings
from tests.factories import NOW, RULES

pytestmark = pytest.mark.django_db

ACTING: dict[str, Any] = RULES | {
    "labels": {
        label: {"threshold": 0.8, "autonomy": "audited", "target_error": 0.05}
        for label in ("lead", "customer", "spam")
    }
}
FEW_OF_EACH = [
    replace(AUDITED, label=label, answer="other" if wrong else label)
    for wrong in (False, False, False, True) * 9
    for label in ("spam", "lead")
]


@pytest.fixture
def broken(workflow: Workflow) -> Incident:
    """Spam and lead are both wrong too often, neither often enough to tell; customer is never checked."""
    change_rules(workflow, ACTING)
    insert_past(workflow, in_order(FEW_OF_EACH) + [replace(UNCHECKED, label="customer")] * 3)
    (incident,) = watch_alarms(workflow=workflow, now=NOW)
    return incident


def test_it_works(workflow: Workflow, broken: Incident) -> None:
    assert (broken.kind, broken.level, broken.label) == ("broken_target", "alarm", "")
    assert broken.numbers["demoted"] == ["customer"]
    assert autonomy(workflow) == {"lead": "audited", "customer": "suggest", "spam": "audited"}


def test_the_others_are_checked_twice_as_often_for_14_days(workflow: Workflow, broken: Incident) -> None:
    rules = workflow.policies.get(status="active").rules
    assert (rules["audit_rate"], rules["automatic_audit_rate"]) == (0.2, 0.04)
    assert watch_alarms(workflow=workflow, now=NOW + timedelta(days=13)) == []
    assert workflow.policies.get(status="active").rules == rules
    watch_alarms(workflow=workflow, now=NOW + timedelta(days=14))
    rules = workflow.policies.get(status="active").rules
    assert (rules["audit_rate"], rules["automatic_audit_rate"]) == (0.1, 0.02)
    assert autonomy(workflow)["customer"] == "suggest"


def test_a_rate_that_a_manager_chose_meanwhile_stays(workflow: Workflow, broken: Incident) -> None:
    rules = workflow.policies.get(status="active").rules
    change_rules(workflow, rules | {"audit_rate": 0.5})
    watch_alarms(workflow=workflow, now=NOW + timedelta(days=15))
    assert workflow.policies.get(status="active").rules["audit_rate"] == 0.5


def test_neither_label_alone_had_reached_it(workflow: Workflow, broken: Incident) -> None:
    assert all(each.raised_at is None for each in standings(workflow).values())


def test_the_target_is_weighted_by_volume(workflow: Workflow) -> None:
    strict = ACTING["labels"] | {"lead": ACTING["labels"]["lead"] | {"target_error": 0.04}}
    change_rules(workflow, ACTING | {"labels": strict})
    many = [replace(UNCHECKED, label="lead")] * (36 * 3 - 36)
    insert_past(workflow, in_order(FEW_OF_EACH) + many)
    incident = next(each for each in watch_alarms(workflow=workflow, now=NOW) if not each.label)
    assert incident.numbers["target"] == pytest.approx((36 * 0.05 + 108 * 0.04) / 144)


def test_a_label_whose_checks_are_older_than_4_weeks_goes_back_as_well(workflow: Workflow) -> None:
    change_rules(workflow, ACTING)
    old: list[Past] = [replace(AUDITED, label="customer", answer="customer", at=NOW - timedelta(days=29))]
    insert_past(workflow, old + in_order(FEW_OF_EACH))
    (incident,) = watch_alarms(workflow=workflow, now=NOW)
    assert incident.numbers["demoted"] == ["customer"]
