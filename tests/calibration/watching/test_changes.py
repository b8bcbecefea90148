from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from apps.calibration.models import CalibrationRun, Certificate
from apps.calibration.running import run_calibration
from apps.calibration.watching.watching import watch_alarms
from apps.workflows.models import Question, QuestionSet, Workflow
from tests.calibration.streams import AUDITED, REVIEWED, insert_past
from tests.calibration.watching.watched import autonomy, change_rules
from tests.factories import INTENT, NOW, RULES

pytestmark = pytest.mark.django_db

HOUR_AGO = NOW - timedelta(hours=1)


def ask_otherwise(workflow: Workflow) -> QuestionSet:
    workflow.question_sets.update(is_current=False, first_used_at=NOW)
    questions = QuestionSet.objects.create(workflow=workflow, version=2, is_current=True)
    Question.objects.create(
        question_set=questions,
        key="intent",
        position=0,
        kind="choice",
        is_routing=True,
        instructions="What is this message about?",
        options=INTENT,
        none_of_these="other",
    )
    return questions


def other_model_answers(workflow: Workflow) -> None:
    insert_past(workflow, [replace(AUDITED, at=HOUR_AGO, model="standin-ngram-2")], prefix="other")


def certify(workflow: Workflow) -> Certificate:
    insert_past(workflow, [replace(REVIEWED, p=0.9)] * 600, prefix="past")
    run_calibration(
        workflow=workflow, trigger=CalibrationRun.Trigger.ASKED, user=None, now=NOW - timedelta(days=3)
    )
    return Certificate.objects.get(workflow=workflow, label="spam", outcome="certified")


def test_it_works(workflow: Workflow) -> None:
    insert_past(workflow, [replace(AUDITED, at=HOUR_AGO - timedelta(hours=1))])
    other_model_answers(workflow)
    (incident,) = watch_alarms(workflow=workflow, now=NOW)
    assert (incident.kind, incident.level, incident.label) == ("changed", "alarm", "")
    assert autonomy(workflow)["spam"] == "shadow"
    assert incident.sentence == (
        "The model that answers is standin-ngram-2 now and was standin-ngram-1. "
        "Back with people, who answer without seeing the model’s, until certified: “Spam”."
    )


def test_it_is_raised_once(workflow: Workflow) -> None:
    insert_past(workflow, [replace(AUDITED, at=HOUR_AGO - timedelta(hours=1))])
    other_model_answers(workflow)
    watch_alarms(workflow=workflow, now=NOW)
    change_rules(workflow, RULES)
    assert watch_alarms(workflow=workflow, now=NOW + timedelta(minutes=1)) == []
    assert autonomy(workflow)["spam"] == "audited"


def test_one_model_is_no_change(workflow: Workflow) -> None:
    insert_past(workflow, [replace(AUDITED, at=HOUR_AGO)] * 3)
    assert watch_alarms(workflow=workflow, now=NOW) == []


def test_a_certificate_of_another_model_ends(workflow: Workflow) -> None:
    certificate = certify(workflow)
    other_model_answers(workflow)
    (incident,) = watch_alarms(workflow=workflow, now=NOW)
    certificate.refresh_from_db()
    assert (certificate.ended_because, incident.numbers["demoted"]) == ("changed", ["spam"])
    assert incident.numbers["model_before"] == "standin-ngram-1"


def test_other_questions_go_to_shadow(workflow: Workflow) -> None:
    insert_past(workflow, [replace(AUDITED, at=HOUR_AGO)])
    ask_otherwise(workflow)
    (incident,) = watch_alarms(workflow=workflow, now=NOW)
    assert autonomy(workflow)["spam"] == "shadow"
    assert (incident.numbers["questions_before"], incident.numbers["questions"]) == (1, 2)


def test_a_certificate_for_other_questions_ends(workflow: Workflow) -> None:
    certificate = certify(workflow)
    ask_otherwise(workflow)
    watch_alarms(workflow=workflow, now=NOW)
    certificate.refresh_from_db()
    assert certificate.ended_because == "changed"


def test_labels_that_people_decide_stay_where_they_are(workflow: Workflow) -> None:
    labels = RULES["labels"] | {"spam": RULES["labels"]["spam"] | {"autonomy": "suggest"}}
    change_rules(workflow, RULES | {"labels": labels})
    insert_past(workflow, [replace(AUDITED, at=HOUR_AGO - timedelta(hours=1))])
    other_model_answers(workflow)
    assert watch_alarms(workflow=workflow, now=NOW) == []
    assert autonomy(workflow)["spam"] == "suggest"
