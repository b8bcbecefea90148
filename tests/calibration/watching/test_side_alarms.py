"""A hold's sides are watched as labels are."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from apps.accounts.models import User
from apps.calibration.models import Certificate, Incident
from apps.calibration.sides import look_at_holds
from apps.calibration.watching.side_alarms import watch_side_alarms, watch_side_warnings
from apps.outbox.models import Event
from apps.workflows.models import Workflow
from tests.calibration.test_sides import CHECKED, HELD, HOLD, UNCHECKED, Doubt, insert, run
from tests.conftest import SignIn
from tests.factories import NOW, RULES, make_workflow

pytestmark = [pytest.mark.django_db, pytest.mark.slow]

SURE = [CHECKED] * 1_000 + [HELD] * 100
AFTER = NOW + timedelta(days=10)
WRONG = replace(CHECKED, answer="false")


@pytest.fixture
def workflow(db: None) -> Workflow:
    return make_workflow(rules=RULES | {"holds": [HOLD]})


@pytest.fixture
def certified(workflow: Workflow) -> Workflow:
    """Yes, from 90 % on."""
    insert(workflow, SURE)
    run(workflow)
    return workflow


def later(past: list[Doubt]) -> list[Doubt]:
    return [replace(each, at=NOW + timedelta(days=8, seconds=n)) for n, each in enumerate(past)]


def test_it_works(certified: Workflow) -> None:
    insert(certified, later([CHECKED, WRONG] * 20))
    (incident,) = watch_side_alarms(workflow=certified, now=AFTER)
    assert (incident.kind, incident.level, incident.label) == ("side_broken", "alarm", "money:true")
    assert Certificate.objects.get(question__key="money").ended_because == "alarm"
    assert incident.sentence.startswith("“money: yes” is no longer certified.")
    assert Event.objects.get(type="alarm.raised").data["label_name"] == "money: yes"


def test_the_hold_keeps_its_limits_and_more_is_checked(certified: Workflow) -> None:
    insert(certified, later([CHECKED, WRONG] * 20))
    watch_side_alarms(workflow=certified, now=AFTER)
    rules = certified.policies.get(status="active").rules
    assert (rules["holds"], rules["audit_rate"]) == ([HOLD], 0.2)


def test_it_is_raised_once(certified: Workflow) -> None:
    insert(certified, later([CHECKED, WRONG] * 20))
    watch_side_alarms(workflow=certified, now=AFTER)
    assert watch_side_alarms(workflow=certified, now=AFTER) == []


def test_answers_of_before_do_not_count_any_more(certified: Workflow) -> None:
    insert(certified, later([CHECKED, WRONG] * 20))
    watch_side_alarms(workflow=certified, now=AFTER)
    (found,) = look_at_holds(workflow=certified, now=AFTER + timedelta(days=1))
    assert (found.entries[0]["attempt"], found.entries[0]["rows"]) == (1, [])


def test_what_agrees_raises_nothing(certified: Workflow) -> None:
    insert(certified, later([CHECKED] * 99 + [WRONG]))
    assert watch_side_alarms(workflow=certified, now=AFTER) == []


def test_the_other_side_is_not_its_own(certified: Workflow) -> None:
    """What passed as a no says nothing of the yes."""
    insert(certified, later([replace(CHECKED, p=0.05)] * 40))
    assert watch_side_alarms(workflow=certified, now=AFTER) == []


def test_without_a_certificate_nothing_is_promised(workflow: Workflow) -> None:
    insert(workflow, [CHECKED, WRONG] * 20)
    assert watch_side_alarms(workflow=workflow, now=NOW) == []


def test_its_page_lists_what_passed(certified: Workflow, mara: User, signed_in: SignIn) -> None:
    insert(certified, later([CHECKED, WRONG] * 20 + [UNCHECKED] * 5 + [replace(UNCHECKED, p=0.05)]))
    (incident,) = watch_side_alarms(workflow=certified, now=AFTER)
    page = signed_in(mara).get(f"/w/leads/calibration/incidents/{incident.pk}/").content.decode()
    assert "45 items, 40 checked by people" in page
    assert "The hold keeps its limits" in page


def test_recent_error_warns(certified: Workflow) -> None:
    insert(certified, later([*[CHECKED] * 54, *[WRONG] * 6]))
    (incident,) = watch_side_warnings(workflow=certified, now=AFTER)
    assert (incident.kind, incident.label) == ("side_error", "money:true")


def test_more_overrides_of_a_side_warn(workflow: Workflow) -> None:
    no = replace(HELD, p=0.3, answer="false")
    before = [HELD] * 210 + [no] * 210
    insert(
        workflow,
        before + [replace(each, at=NOW - timedelta(days=2)) for each in [replace(HELD, answer="false")] * 30],
    )
    found = watch_side_warnings(workflow=workflow, now=NOW)
    assert ("side_overrides", "money:true") in [(each.kind, each.label) for each in found]
    assert ("side_overrides", "money:false") not in [(each.kind, each.label) for each in found]


def test_probabilities_of_yes_that_shifted_warn(workflow: Workflow) -> None:
    lately = [replace(UNCHECKED, p=0.99, at=NOW - timedelta(days=2))] * 300
    insert(workflow, [replace(UNCHECKED, p=0.91)] * 300 + lately)
    (incident,) = watch_side_warnings(workflow=workflow, now=NOW)
    assert (incident.kind, incident.label, incident.level) == ("side_mix", "money", Incident.Level.WARNING)
