from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta

import pytest

from apps.accounts.models import User
from apps.calibration.models import Incident
from apps.calibration.watching.incidents import close_incident
from apps.calibration.watching.warnings import watch_warnings
from apps.workflows.models import Workflow
from tests.calibration.streams import AUDITED, REVIEWED, Past, insert_past
from tests.calibration.watching.watched import autonomy, change_rules, mixed
from tests.factories import NOW

pytestmark = pytest.mark.django_db

LATELY, BEFORE = NOW - timedelta(days=3), NOW - timedelta(days=30)


def spread(low: float, high: float, count: int, **more: object) -> list[Past]:
    """Waiting items with probabilities spread evenly."""
    step = (high - low) / count
    return [replace(REVIEWED, answer="", p=low + step * index, **more) for index in range(count)]  # type: ignore[arg-type]  # by name


def warned(workflow: Workflow, past: Sequence[Past]) -> list[Incident]:
    insert_past(workflow, past)
    return watch_warnings(workflow=workflow, now=NOW)


def test_it_works(workflow: Workflow) -> None:
    """More of it overridden than before."""
    otherwise = replace(REVIEWED, answer="lead")
    before = [*[replace(REVIEWED, at=BEFORE)] * 190, *[replace(otherwise, at=BEFORE)] * 10]
    lately = [*[replace(REVIEWED, at=LATELY)] * 40, *[replace(otherwise, at=LATELY)] * 20]
    (incident,) = warned(workflow, before + lately)
    assert (incident.kind, incident.level, incident.label) == ("override_rate", "warning", "")
    assert incident.sentence == (
        "People change more of what the model says: 20 of 60 reviews in the last 14 days, 10 of 200 before. "
        "It says nothing of automatic items."
    )


def test_as_many_overrides_as_before_are_no_warning(workflow: Workflow) -> None:
    week = [REVIEWED] * 19 + [replace(REVIEWED, answer="lead")]
    past = [replace(each, at=at) for each in week for at in [BEFORE] * 10 + [LATELY] * 3]
    assert warned(workflow, past) == []


def test_with_199_reviews_before_nothing_is_said(workflow: Workflow) -> None:
    lately = [replace(REVIEWED, answer="lead", at=LATELY)] * 60
    assert warned(workflow, [replace(REVIEWED, at=BEFORE)] * 199 + lately) == []


def test_recent_error_above_the_target(workflow: Workflow) -> None:
    (incident,) = warned(workflow, mixed(54, 6, at=LATELY))
    assert (incident.kind, incident.label) == ("recent_error", "spam")
    assert incident.numbers["error"]["value"] == pytest.approx(0.1)
    assert autonomy(workflow)["spam"] == "audited"


@pytest.mark.parametrize("past", [mixed(44, 5, at=LATELY), mixed(54, 6, at=BEFORE), mixed(57, 3, at=LATELY)])
def test_too_few_too_old_or_at_the_target_is_no_warning(workflow: Workflow, past: list[Past]) -> None:
    assert warned(workflow, past) == []


def test_probabilities_that_shifted(workflow: Workflow) -> None:
    (incident,) = warned(workflow, spread(0.3, 0.9, 300, at=BEFORE) + spread(0.35, 0.95, 300, at=LATELY))
    assert incident.kind == "confidence_mix"
    assert (incident.numbers["items_before"], incident.numbers["items_recent"]) == (300, 300)


def test_a_strong_shift_has_twice_as_much_checked(workflow: Workflow) -> None:
    (incident,) = warned(workflow, spread(0.3, 0.9, 300, at=BEFORE) + spread(0.6, 0.9, 300, at=LATELY))
    policy = workflow.policies.get(status="active")
    assert (policy.rules["audit_rate"], policy.activated_by) == (0.2, None)
    assert incident.policy_after == policy
    assert incident.sentence.endswith(" Automatic items are checked twice as often for 14 days.")
    assert autonomy(workflow)["spam"] == "audited"


def test_two_strong_shifts_double_once(workflow: Workflow) -> None:
    lately = spread(0.6, 0.9, 300, at=LATELY, label="lead")
    opened = warned(workflow, spread(0.3, 0.9, 300, at=BEFORE) + lately)
    assert {each.kind for each in opened} == {"confidence_mix", "label_mix"}
    assert workflow.policies.get(status="active").rules["audit_rate"] == 0.2


def test_doubled_is_never_more_than_all(workflow: Workflow) -> None:
    change_rules(workflow, workflow.policies.get(status="active").rules | {"audit_rate": 0.7})
    warned(workflow, spread(0.3, 0.9, 300, at=BEFORE) + spread(0.6, 0.9, 300, at=LATELY))
    assert workflow.policies.get(status="active").rules["audit_rate"] == 1.0


def test_199_items_on_a_side_are_too_few(workflow: Workflow) -> None:
    assert warned(workflow, spread(0.3, 0.9, 300, at=BEFORE) + spread(0.6, 0.9, 199, at=LATELY)) == []


def test_one_probability_for_everything_is_no_shift(workflow: Workflow) -> None:
    assert warned(workflow, [replace(REVIEWED, at=at) for at in [BEFORE] * 250 + [LATELY] * 250]) == []


def test_labels_in_another_mix(workflow: Workflow) -> None:
    before = [replace(AUDITED, answer="", at=BEFORE, label=label) for label in ("spam", "lead") * 150]
    lately = [
        replace(each, at=LATELY, label="spam") if index % 3 else replace(each, at=LATELY)
        for index, each in enumerate(before)
    ]
    (incident,) = warned(workflow, before + lately)
    assert incident.kind == "label_mix"
    assert incident.numbers["labels"] == {"lead": [150, 50], "spam": [150, 250]}


def test_open_or_lately_closed_it_is_not_opened_again(workflow: Workflow, mara: User) -> None:
    (incident,) = warned(workflow, mixed(54, 6, at=LATELY))
    assert watch_warnings(workflow=workflow, now=NOW) == []
    close_incident(incident=incident, user=mara, note="Looked at them: a new product.", now=NOW)
    assert watch_warnings(workflow=workflow, now=NOW + timedelta(days=1)) == []
    insert_past(workflow, mixed(54, 6, at=NOW + timedelta(days=15)), prefix="later")
    later = watch_warnings(workflow=workflow, now=NOW + timedelta(days=16))
    assert "recent_error" in {each.kind for each in later}
