from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from apps.reviews.models import Label, ReviewTask
from apps.workflows.models import Workflow
from tests.api.conftest import Caller
from tests.factories import NOW, make_task

GET = "/workflows/leads/labels"


def make_label(workflow: Workflow, value: str | None = "spam", **more: Any) -> Label:
    task = make_task(workflow)
    ReviewTask.objects.filter(pk=task.pk).update(status="done", closed_at=NOW, reviews_done=1)
    values: dict[str, Any] = {"source": "review", "blind": False, "pi": 0.5, "created_at": NOW} | more
    question = task.question_set.questions.get(key="intent")
    return Label.objects.create(
        workflow=workflow,
        item=task.item,
        question=question,
        question_set=task.question_set,
        value=value,
        **values,
    )


def test_it_works(workflow: Workflow, ivan: Caller) -> None:
    label = make_label(workflow)
    answer = ivan.get(GET).json()
    assert answer["next"] is None
    assert answer["items"] == [
        {
            "id": label.pk,
            "item_id": label.item_id,
            "external_id": label.item.external_id,
            "question": "intent",
            "value": "spam",
            "source": "review",
            "blind": False,
            "inclusion_probability": 0.5,
            "is_asked": True,
            "reviewer": None,
            "question_set_version": 1,
            "created_at": "2026-11-30T09:00:00Z",
            "taken_back_at": None,
        }
    ]


def test_pages_hold_each_label_once(workflow: Workflow, ivan: Caller) -> None:
    made = [make_label(workflow).pk for _ in range(3)]
    first = ivan.get(GET, limit=2).json()
    second = ivan.get(GET, limit=2, cursor=first["next"]).json()
    assert [[row["id"] for row in page["items"]] for page in (first, second)] == [made[:2], made[2:]]
    assert second["next"] is None


def test_only_those_in_force_and_since(workflow: Workflow, ivan: Caller) -> None:
    make_label(workflow, taken_back_at=NOW)
    make_label(workflow, created_at=NOW - timedelta(hours=1))
    wanted = make_label(workflow, None)
    rows = ivan.get(GET, since="2026-11-30T09:00:00Z").json()["items"]
    assert [(row["id"], row["value"]) for row in rows] == [(wanted.pk, None)]


def test_a_label_that_a_blind_task_must_not_know(workflow: Workflow, ivan: Caller) -> None:
    label = make_label(workflow)
    ReviewTask.objects.filter(item=label.item).update(
        status="open", closed_at=None, blind=True, reviews_done=0
    )
    assert ivan.get(GET).json()["items"] == []


@pytest.mark.parametrize("params", [{"cursor": "x"}, {"since": "x"}, {"limit": "500"}, {"value": "spam"}])
def test_a_wrong_parameter_is_named(ivan: Caller, params: dict[str, str]) -> None:
    response = ivan.get(GET, **params)
    assert response.status_code == 422
    assert [each["path"] for each in response.json()["error"]["fields"]] == list(params)
