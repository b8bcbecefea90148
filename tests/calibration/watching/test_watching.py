from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta

import pytest

from apps.calibration.models import Incident
from apps.calibration.watching.incidents import accepted_before, open_incidents
from apps.calibration.watching.watching import follow, watch_alarms
from apps.outbox.models import Event
from apps.policies.selectors import active_policy
from apps.stats.alarms import alarm_path
from apps.workflows.models import Workflow
from tests.calibration.streams import AUDITED, REVIEWED, UNCHECKED, Past, insert_past
from tests.calibration.watching.watched import autonomy, change_rules, in_order, mixed, standings
from tests.factories import NOW, RULES, make_policy

pytestmark = pytest.mark.django_db


def raised(workflow: Workflow, past: Sequence[Past]) -> list[Incident]:
    insert_past(workflow, past)
    return watch_alarms(workflow=workflow, now=NOW)


def test_it_works(workflow: Workflow) -> None:
    (incident,) = raised(workflow, mixed(80, 20))
    assert (incident.kind, incident.level, incident.label) == ("broken_target", "alarm", "spam")
    assert autonomy(workflow) == {"lead": "suggest", "customer": "suggest", "spam": "suggest"}
    policy = active_policy(workflow)
    assert policy is not None
    assert (policy.version, policy.activated_by, incident.policy_after) == (2, None, policy)
    assert policy.note == "Alarm: the target of “Spam” is broken."
    assert incident.sentence.startswith("“Spam” went back to people. ")
    assert "where the target is 5 %." in incident.sentence


def test_it_is_raised_by_the_very_check_that_reaches_the_limit(workflow: Workflow) -> None:
    (incident,) = raised(workflow, mixed(80, 20))
    errors = [0, 0, 0, 0, 1] * 20
    path = alarm_path(errors, 0.05)
    reached = next(index for index, statistic in enumerate(path) if statistic >= 1_000)
    assert incident.numbers["checks"] == reached + 1
    assert incident.numbers["statistic"] == pytest.approx(path[reached])
    assert incident.numbers["wrong"] == sum(errors[: reached + 1])


def test_a_target_that_holds_is_left_alone(workflow: Workflow) -> None:
    assert raised(workflow, mixed(190, 10)) == []
    assert autonomy(workflow)["spam"] == "audited"


def test_items_that_nobody_checked_say_nothing(workflow: Workflow) -> None:
    insert_past(workflow, [UNCHECKED] * 500 + [replace(REVIEWED, answer="lead")] * 100)
    assert standings(workflow)["spam"].checks == 0


@pytest.mark.parametrize(
    "past",
    [
        replace(AUDITED, answer="lead", p=0.79),
        replace(AUDITED, answer="lead", model="an-older-model", at=NOW - timedelta(days=30)),
        replace(AUDITED, answer="lead", is_open=False),
        replace(AUDITED, answer="lead", source="import"),
        replace(AUDITED, answer=""),
    ],
)
def test_what_does_not_speak_of_the_rule_in_force_is_left_out(workflow: Workflow, past: Past) -> None:
    assert raised(workflow, [*[past] * 100, AUDITED]) == []
    assert standings(workflow)["spam"].checks == 1


def test_of_a_thread_one_check_counts(workflow: Workflow) -> None:
    assert raised(workflow, [replace(AUDITED, answer="lead", group="thread")] * 100) == []


def test_an_answer_that_was_taken_back_is_out_again(workflow: Workflow) -> None:
    insert_past(workflow, mixed(80, 20))
    workflow.labels.exclude(value="spam").update(taken_back_at=NOW)
    assert watch_alarms(workflow=workflow, now=NOW) == []


def test_the_same_checks_raise_it_once(workflow: Workflow) -> None:
    raised(workflow, mixed(80, 20))
    change_rules(workflow, RULES)
    assert watch_alarms(workflow=workflow, now=NOW + timedelta(minutes=1)) == []
    assert autonomy(workflow)["spam"] == "audited"


def test_raised_again_it_is_another_incident(workflow: Workflow) -> None:
    (first,) = raised(workflow, mixed(80, 20))
    change_rules(workflow, RULES)
    later = NOW + timedelta(days=9)
    insert_past(workflow, mixed(80, 20, at=later - timedelta(days=1)), prefix="later")
    (second,) = watch_alarms(workflow=workflow, now=later)
    first.refresh_from_db()
    assert first.note == "It happened again: see the next one."
    assert list(open_incidents(workflow)) == [second]


def test_never_is_broken_by_the_first_one(workflow: Workflow) -> None:
    labels = RULES["labels"] | {"spam": RULES["labels"]["spam"] | {"target_error": 0.0}}
    change_rules(workflow, RULES | {"labels": labels})
    (incident,) = raised(workflow, mixed(30, 1))
    assert incident.numbers["wrong"] == 1
    assert autonomy(workflow)["spam"] == "suggest"


def test_it_is_told_in_the_same_transaction(workflow: Workflow) -> None:
    (incident,) = raised(workflow, mixed(80, 20))
    event = Event.objects.get(workflow=workflow, type="alarm.raised")
    assert event.data["incident"] == incident.pk
    assert event.data["text"] == incident.sentence
    assert (event.data["label"], event.data["label_name"], event.data["policy_version"]) == (
        "spam",
        "Spam",
        2,
    )


def test_rarer_checks_weigh_more(workflow: Workflow) -> None:
    insert_past(workflow, in_order(mixed(40, 10, pi=0.1) + mixed(40, 10, pi=0.4)))
    expected = alarm_path([0, 0, 0, 0, 1] * 20, 0.05, [1.0] * 50 + [0.25] * 50)
    found = standings(workflow)["spam"]
    assert found.statistic == pytest.approx(expected[found.checks - 1])


def test_accepted_items_of_the_week_before_are_listed(workflow: Workflow) -> None:
    week = [replace(UNCHECKED, at=NOW - timedelta(days=day)) for day in range(12)]
    (incident,) = raised(workflow, [*mixed(80, 20, at=NOW - timedelta(days=20)), *week])
    assert accepted_before(incident).count() == 7


def test_without_a_policy_nothing_is_watched(workflow: Workflow) -> None:
    insert_past(workflow, mixed(80, 20))
    workflow.policies.update(status="retired")
    assert watch_alarms(workflow=workflow, now=NOW) == []


def test_rules_that_fit_no_longer_are_told_of(workflow: Workflow) -> None:
    insert_past(workflow, mixed(80, 20))
    rules = RULES | {"labels": RULES["labels"] | {"gone": RULES["labels"]["lead"]}}
    change_rules(workflow, rules)
    (incident,) = watch_alarms(workflow=workflow, now=NOW)
    assert incident.policy_after is None
    assert (
        "could not be put back: the policy in force does not fit the questions any more" in incident.sentence
    )


def test_a_label_that_does_not_act_is_not_watched(workflow: Workflow) -> None:
    labels = RULES["labels"] | {"spam": RULES["labels"]["spam"] | {"autonomy": "suggest"}}
    workflow.policies.update(status="retired")
    make_policy(workflow, RULES | {"labels": labels}, version=2)
    assert raised(workflow, mixed(80, 20)) == []


def test_without_a_check_the_alarm_stands_at_its_start() -> None:
    standing = follow([], 0.05, 0.1)
    assert (standing.statistic, standing.checks, standing.error.value) == (1.0, 0, None)
