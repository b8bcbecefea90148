from __future__ import annotations

import uuid
from typing import Any

import pytest

from apps.accounts.models import User
from apps.reviews.leases import take_next_task
from apps.reviews.models import ReviewRules, ReviewTask
from apps.reviews.services import SubmittedAnswer, submit_review
from apps.workflows.models import Workflow
from tests.api.conftest import Caller, caller_of
from tests.factories import NOW, make_item, make_route, make_task
from tests.insights.answered import answer as given
from tests.insights.answered import cannot_tell


def answer(user: User, task: ReviewTask, value: str) -> None:
    lease = take_next_task(user=user, workflow=task.workflow)
    assert lease is not None
    answers = {"intent": SubmittedAnswer(value)}
    submit_review(user=user, lease_token=lease.token, answers=answers, seconds=3.5, note="sure", now=NOW)


def story(caller: Caller, item_id: int) -> dict[str, Any]:
    response = caller.get(f"/items/{item_id}")
    assert response.status_code == 200
    told: dict[str, Any] = response.json()
    return told


def test_it_works(workflow: Workflow, ivan: Caller, rosa: User) -> None:
    task = make_task(workflow, label="spam", p=0.7)
    answer(rosa, task, "lead")
    told = story(ivan, task.item_id)
    assert (told["status"], told["settled_by"], told["hidden"]) == ("settled", "people", None)
    assert told["state"] == "Hello"
    assert told["decisions"][0]["answers"]["intent"]["probabilities"]["spam"] == 0.7
    assert told["reviews"][0]["reviewer"] == "rosa"
    assert told["reviews"][0]["answers"][0] == {
        "question": "intent",
        "kind": "correct",
        "value": "lead",
        "model_value": "spam",
        "said": "",
        "is_asked": True,
    }
    assert (told["label"]["value"], told["label"]["inclusion_probability"]) == ("lead", 1.0)
    assert (told["action_runs"][0]["status"], told["action_runs"][0]["settings"]) == (
        "pending",
        {"tag": "lead"},
    )
    assert told["policy_version"] == 1
    assert [each["version"] for each in told["question_sets"]] == [1]


def test_reasons_come_with_their_sentence(workflow: Workflow, ivan: Caller) -> None:
    route = story(ivan, make_task(workflow, label="spam", p=0.7).item_id)["route"]
    assert route["reasons"][0]["code"] == "low_confidence"
    assert route["reasons"][0]["numbers"]["threshold"] == 0.9
    assert route["sentences"] == [
        "Held because the model gave Spam 70 % and this workflow asks for at least 90 %."
    ]


def test_before_anything_was_decided(workflow: Workflow, ivan: Caller) -> None:
    told = story(ivan, make_item(workflow).pk)
    assert (told["route"], told["decisions"], told["label"], told["policy_version"]) == (None, [], None, None)


def test_an_earlier_route_is_told_too(workflow: Workflow, ivan: Caller) -> None:
    item = make_item(workflow, status="in_review")
    old = make_route(item, "lead", 0.6, superseded_at=NOW)
    values = {"pk": None, "label": "spam", "superseded_at": None}
    for name, value in values.items():
        setattr(old, name, value)
    old.save()
    told = story(ivan, item.pk)
    assert told["route"]["label"] == "spam"
    assert [each["label"] for each in told["superseded_routes"]] == ["lead"]


def test_a_hidden_item_tells_nothing(workflow: Workflow, ivan: Caller) -> None:
    task = make_task(workflow, kind="audit", label="spam", p=0.97)
    response = ivan.get(f"/items/{task.item_id}")
    told = response.json()
    assert (told["hidden"], told["status"], told["tasks"][0]["kind"]) == ("blind", "in_review", None)
    for name in ("decisions", "superseded_routes", "reviews", "labels", "action_runs"):
        assert told[name] == []
    assert (told["route"], told["label"], told["policy_version"], told["settled_by"]) == (
        None,
        None,
        None,
        None,
    )
    assert b"0.97" not in response.content
    assert b'"audit"' not in response.content


def test_who_has_answered_sees(workflow: Workflow, ivan_person: User) -> None:
    task = make_task(workflow, reviews_wanted=2)
    answer(ivan_person, task, "lead")
    told = story(caller_of(workflow, ivan_person), task.item_id)
    assert (told["hidden"], len(told["reviews"])) == (None, 1)


def test_what_several_people_did_is_told(workflow: Workflow, ivan: Caller, rosa: User, mara: User) -> None:
    task = make_task(workflow)
    cannot_tell(rosa, task, said="Not for us")
    given(mara, task, "lead")
    told = story(ivan, task.item_id)
    [shown] = told["tasks"]
    assert (shown["stage"], shown["reviews_wanted"], shown["reviews_needed"]) == ("adjudication", 1, 2)
    assert [event["kind"] for event in shown["events"]] == ["more_opinions", "saw_answers"]
    assert [each["answers"][0]["said"] for each in told["reviews"]] == ["Not for us", ""]
    assert [each["is_adjudication"] for each in told["reviews"]] == [False, True]
    assert told["label"]["source"] == "adjudication"


def test_who_may_yet_be_asked_does_not_see_that_others_differ(
    workflow: Workflow, ivan: Caller, rosa: User, mara: User
) -> None:
    ReviewRules.objects.create(workflow=workflow, consensus="unanimous", created_at=NOW)
    task = make_task(workflow, reviews_wanted=2)
    given(rosa, task, "lead")
    given(mara, task, "spam")
    [shown] = story(ivan, task.item_id)["tasks"]
    assert (shown["stage"], shown["events"]) == (None, [])


@pytest.mark.usefixtures("rosa")
def test_another_workflows_item_is_not_there(other_workflow: Workflow, ivan: Caller) -> None:
    assert ivan.get(f"/items/{make_item(other_workflow, uuid.uuid4().hex).pk}").status_code == 404
