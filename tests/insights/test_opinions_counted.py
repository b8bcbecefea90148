"""Answers of several people, of adjudicators and to questions nobody asked: where each counts, and where not."""

from __future__ import annotations

import json
from typing import Any

import pytest
from django.db import connection

from apps.accounts.models import User
from apps.calibration.counting.days import refresh
from apps.calibration.quality import Quality, quality
from apps.reviews.exports import LabelQuery, export_labels
from apps.reviews.models import Answer, ReviewRules, ReviewTask
from apps.reviews.services import SubmittedAnswer
from apps.workflows.models import Question, Workflow
from tests.conftest import SignIn
from tests.factories import NOW, make_task
from tests.insights.answered import answer, cannot_tell, send
from tests.insights.test_metrics import metrics, of, values

SPAM = SubmittedAnswer("spam")


def routing_quality(workflow: Workflow) -> Quality:
    question = Question.objects.get(question_set__workflow=workflow, is_routing=True)
    return quality(workflow=workflow, question=question, now=NOW)


def exported(workflow: Workflow, format: str = "jsonl") -> list[dict[str, Any]]:
    lines = b"".join(export_labels(workflow=workflow, query=LabelQuery(), format=format)).split(b"\n")
    return [json.loads(line) for line in lines if line]


def counted(workflow: Workflow) -> list[tuple[str, int, int, int]]:
    """Kind of task, reviews, usable answers and those of items, as the counts of days have them."""
    refresh(workflow)
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT kind, sum(reviews), sum(answers), sum(first) FROM calibration_reviewcount GROUP BY 1 ORDER BY 1"
        )
        return [(kind, int(reviews), int(answers), int(first)) for kind, reviews, answers, first in cursor]


def differ(workflow: Workflow, rosa: User, ravi: User, mara: User) -> ReviewTask:
    """Two who differ, and who decides between them."""
    ReviewRules.objects.create(workflow=workflow, consensus="unanimous", created_at=NOW)
    task = make_task(workflow, reviews_wanted=2)
    answer(rosa, task, "lead")
    answer(ravi, task, "spam")
    answer(mara, task, "spam")
    return task


def test_it_works(workflow: Workflow, rosa: User, ravi: User, mara: User) -> None:
    differ(workflow, rosa, ravi, mara)
    assert counted(workflow) == [("shadow", 3, 2, 1)]
    assert of(workflow, "override_rate_blind") == (1, 1)
    people = routing_quality(workflow).people
    assert (people.items, people.agreement.value) == (1, 0.0)


def test_an_answer_nobody_asked_for_is_in_no_rate(workflow: Workflow, rosa: User) -> None:
    task = make_task(workflow, asked=["money"])
    send(rosa, task, {"intent": SPAM, "money": SubmittedAnswer("false")})
    assert counted(workflow) == [("routine", 1, 0, 0)]
    assert values(workflow, "override_rate_visible", "reviews") == [None, 1]
    assert routing_quality(workflow).items == 0


def test_blindness_by_rule_is_no_drawn_blindness(workflow: Workflow, rosa: User, ravi: User) -> None:
    by_rule, by_chance = make_task(workflow, reviews_wanted=2), make_task(workflow, reviews_wanted=2)
    ReviewTask.objects.filter(pk=by_chance.pk).update(blind_pi=0.1)
    for task in (by_rule, by_chance):
        answer(rosa, task, "spam")
        answer(ravi, task, "spam")
    assert counted(workflow) == [("routine", 2, 2, 1), ("shadow", 2, 2, 1)]
    assert metrics(workflow).anchoring.blind.denominator == 1
    assert routing_quality(workflow).following.anchoring.blind.denominator == 2


def test_an_export_tells_opinions_and_what_was_said(
    workflow: Workflow, rosa: User, ravi: User, mara: User
) -> None:
    differ(workflow, rosa, ravi, mara)
    send(rosa, make_task(workflow), {"intent": SubmittedAnswer(None, none_of_these=True, said="Press")})
    send(rosa, make_task(workflow), {"intent": SPAM, "money": SubmittedAnswer("true")})
    told = [
        [row[key] for key in ("value", "source", "opinions", "said", "is_asked")]
        for row in exported(workflow)
    ]
    assert told == [
        ["spam", "adjudication", 3, "", True],
        ["other", "review", 1, "Press", True],
        ["spam", "review", 1, "", True],
        ["true", "review", 1, "", False],
    ]


def test_a_label_is_exported_with_the_answer_that_says_it(
    workflow: Workflow, rosa: User, ravi: User, mara: User
) -> None:
    task = make_task(workflow, reviews_wanted=3)
    for person, value in ((rosa, "spam"), (ravi, "spam"), (mara, "lead")):
        answer(person, task, value)
    [row] = exported(workflow)
    assert (row["value"], row["answer"], row["reviewer"], row["opinions"]) == ("spam", "accept", "mara", 3)


def test_votes_are_of_those_who_answered_on_their_own(
    workflow: Workflow, rosa: User, ravi: User, mara: User
) -> None:
    differ(workflow, rosa, ravi, mara)
    [record] = exported(workflow, "systemone")
    assert (record["soft_labels"]["intent"]["spam"], record["answers"]) == (0.5, {"intent": "spam"})


def test_the_story_tells_who_could_not_and_who_decided(
    workflow: Workflow, rosa: User, mara: User, signed_in: SignIn
) -> None:
    task = make_task(workflow)
    cannot_tell(rosa, task, said="Not for us")
    answer(mara, task, "lead")
    page = signed_in(mara).get(f"/w/leads/items/{task.item_id}/").content.decode()
    for told in ("Cannot tell", "Not for us", "Decided between others", "adjudication by <bdi>mara</bdi>"):
        assert told in page, told


@pytest.mark.usefixtures("ravi")
def test_cannot_tell_is_neither_agreement_nor_override(workflow: Workflow, mara: User) -> None:
    cannot_tell(mara, make_task(workflow))
    assert Answer.objects.get().value is None
    assert values(workflow, "override_rate_visible", "answers_cannot_tell") == [None, 1]
