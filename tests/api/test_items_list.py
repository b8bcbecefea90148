from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from pytest_django.fixtures import DjangoAssertNumQueries

from apps.accounts.models import User
from apps.reviews.models import Label, ReviewTask
from apps.workflows.models import Workflow
from tests.api.conftest import Caller
from tests.factories import NOW, make_item, make_route, make_task

GET = "/workflows/leads/items"


def ids(response: Any) -> list[str]:
    return [each["external_id"] for each in response.json()["items"]]


def label(task: ReviewTask, value: str) -> None:
    question = task.question_set.questions.get(key="intent")
    Label.objects.create(
        workflow=task.workflow,
        item=task.item,
        question=question,
        question_set=task.question_set,
        value=value,
        source="review",
        blind=False,
        pi=1.0,
        created_at=NOW,
    )


def test_it_works(workflow: Workflow, ivan: Caller) -> None:
    make_item(workflow, "waits", wait_reason="busy")
    task = make_task(workflow, label="spam", p=0.7)
    answer = ivan.get(GET).json()
    assert answer["next"] is None
    newest, oldest = answer["items"]
    assert newest["route"] == {"outcome": "review", "label": "spam", "p": 0.7}
    assert (newest["id"], newest["status"], newest["label"]) == (task.item_id, "in_review", None)
    assert (oldest["route"], oldest["wait_reason"], oldest["hidden"]) == (None, "busy", None)
    assert oldest["received_at"] == "2026-11-30T09:00:00Z"


def test_pages_hold_each_item_once(workflow: Workflow, ivan: Caller) -> None:
    for n in range(5):
        make_item(workflow, f"i{n}")
    first = ivan.get(GET, limit=2)
    make_item(workflow, "late")
    second = ivan.get(GET, limit=2, cursor=first.json()["next"])
    third = ivan.get(GET, limit=2, cursor=second.json()["next"])
    assert [ids(page) for page in (first, second, third)] == [["i4", "i3"], ["i2", "i1"], ["i0"]]
    assert third.json()["next"] is None


def test_filters(workflow: Workflow, ivan: Caller) -> None:
    make_item(workflow, "fresh")
    sent = make_task(workflow, label="spam").item.external_id
    settled = make_item(workflow, "done", status="settled", settled_by="policy", settled_at=NOW)
    make_route(settled, "lead", 0.95, outcome="automatic")
    assert ids(ivan.get(GET, status="received")) == ["fresh"]
    assert ids(ivan.get(GET, route="automatic")) == ["done"]
    assert ids(ivan.get(GET, label="spam")) == [sent]
    assert ids(ivan.get(GET, label="spam", route="automatic")) == []


def test_the_settled_label_counts_before_the_models(workflow: Workflow, ivan: Caller) -> None:
    task = make_task(workflow, label="spam")
    label(task, "lead")
    assert ids(ivan.get(GET, label="spam")) == []
    assert ivan.get(GET, label="lead").json()["items"][0]["label"] == "lead"


def test_since(workflow: Workflow, ivan: Caller) -> None:
    make_item(workflow, "old", created_at=NOW - timedelta(days=2))
    make_item(workflow, "new")
    assert ids(ivan.get(GET, since="2026-11-30T09:00:00Z")) == ["new"]
    assert ids(ivan.get(GET, since="2026-11-30")) == ["new"]


@pytest.mark.parametrize(
    ("params", "path"),
    [
        ({"status": "done"}, "status"),
        ({"route": "people"}, "route"),
        ({"limit": "0"}, "limit"),
        ({"limit": "201"}, "limit"),
        ({"limit": "x"}, "limit"),
        ({"label": "x" * 200}, "label"),
        ({"since": "yesterday"}, "since"),
        ({"since": "2026-11-30T09:00:00"}, "since"),
        ({"since": "0001-01-01"}, "since"),
        ({"cursor": "x"}, "cursor"),
        ({"cursor": "WzFd:1abc:def"}, "cursor"),
        ({"statuss": "settled"}, "statuss"),
        ({"status": ["settled", "received"]}, "status"),
    ],
)
def test_a_wrong_parameter_is_named(ivan: Caller, params: dict[str, Any], path: str) -> None:
    response = ivan.get(GET, **params)
    assert response.status_code == 422
    assert [each["path"] for each in response.json()["error"]["fields"]] == [path]


def test_a_cursor_belongs_to_its_query(workflow: Workflow, ivan: Caller) -> None:
    make_item(workflow, "a")
    make_item(workflow, "b")
    cursor = ivan.get(GET, limit=1).json()["next"]
    response = ivan.get(GET, limit=1, cursor=cursor, status="received")
    assert (response.status_code, response.json()["error"]["fields"][0]["path"]) == (422, "cursor")


def test_a_hidden_item_tells_nothing(workflow: Workflow, ivan: Caller) -> None:
    task = make_task(workflow, kind="audit", label="spam", p=0.97)
    row = ivan.get(GET).json()["items"][0]
    assert (row["hidden"], row["status"], row["settled_by"], row["settled_at"]) == (
        "blind",
        "in_review",
        None,
        None,
    )
    assert (row["route"], row["label"], row["audit_open"]) == (None, None, False)
    for params in ({"label": "spam"}, {"route": "automatic"}, {"status": "settled"}):
        assert ids(ivan.get(GET, **params)) == []
    assert ids(ivan.get(GET, status="in_review")) == [task.item.external_id]


def test_a_page_of_many_asks_no_more_of_the_database(
    workflow: Workflow, ivan: Caller, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    for _ in range(20):
        make_task(workflow)
    with django_assert_max_num_queries(8):
        ivan.get(GET)


def test_other_workflows_stay_out(other_workflow: Workflow, ivan: Caller, rosa: User) -> None:
    make_item(other_workflow, "theirs")
    assert ids(ivan.get(GET)) == []
