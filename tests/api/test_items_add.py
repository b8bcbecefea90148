from __future__ import annotations

import json
from typing import Any

import pytest

from apps.accounts.models import User
from apps.items.models import Item
from apps.workflows.models import Workflow
from tests.api.conftest import Caller, caller_of
from tests.factories import make_task

POST = "/workflows/leads/items"


def fields(response: Any) -> dict[str, str]:
    return {each["path"]: each["message"] for each in response.json()["error"]["fields"]}


def test_it_works(ivan: Caller) -> None:
    sent = {"external_id": "m-1", "state": {"body": "Hi"}, "metadata": {"amount": 3}, "priority": 2}
    response = ivan.post(POST, sent | {"received_at": "2026-11-30T09:00:00+02:00"})
    item = Item.objects.get()
    assert response.status_code == 201
    assert response.json() == {
        "id": item.pk,
        "external_id": "m-1",
        "status": "received",
        "created": True,
        "url": f"http://testserver/api/v1/items/{item.pk}",
    }
    assert (item.metadata, item.priority, item.source) == ({"amount": 3}, 2, "api")
    assert item.received_at.isoformat() == "2026-11-30T07:00:00+00:00"


def test_the_same_again_is_the_first_item(ivan: Caller) -> None:
    first = ivan.post(POST, {"external_id": "m", "state": "x"}).json()
    again = ivan.post(POST, {"external_id": "m", "state": "x"})
    assert (again.status_code, again.json()) == (200, first | {"created": False})


def test_other_content_is_a_conflict_that_names_what_differs(ivan: Caller) -> None:
    ivan.post(POST, {"external_id": "m", "state": "x", "metadata": {"a": 1}})
    response = ivan.post(POST, {"external_id": "m", "state": "y", "metadata": {"a": 1}})
    assert (response.status_code, response.json()["error"]["code"]) == (409, "conflict")
    assert list(fields(response)) == ["state"]


@pytest.mark.parametrize(
    ("wrong", "path"),
    [
        ({"external_id": 7}, "external_id"),
        ({"external_id": ""}, "external_id"),
        ({"external_id": "x" * 201}, "external_id"),
        ({"external_id": "a\x00"}, "external_id"),
        ({"external_id": None}, "external_id"),
        ({"state": 7}, "state"),
        ({"state": None}, "state"),
        ({"state": "  "}, "state"),
        ({"state": "x" * (1024 * 1024 + 1)}, "state"),
        ({"state": {"a": ["ok", "nul\x00"]}}, "state.a[1]"),
        ({"state": {"a": "\ud800"}}, "state.a"),
        ({"metadata": []}, "metadata"),
        ({"metadata": "x"}, "metadata"),
        ({"metadata": {f"k{n}": n for n in range(101)}}, "metadata"),
        ({"priority": "1"}, "priority"),
        ({"priority": 1.5}, "priority"),
        ({"priority": True}, "priority"),
        ({"priority": 10**12}, "priority"),
        ({"received_at": "2026-11-30T09:00:00"}, "received_at"),
        ({"received_at": "yesterday"}, "received_at"),
        ({"received_at": 1764493200}, "received_at"),
        ({"received_at": "2026-02-30T09:00:00Z"}, "received_at"),
        ({"received_at": "0001-01-01T00:00:00+14:00"}, "received_at"),
        ({"images": ["data:image/png;base64,AA=="]}, "images[0]"),
        ({"colour": "red"}, "colour"),
    ],
)
def test_what_is_wrong_is_named(ivan: Caller, wrong: dict[str, Any], path: str) -> None:
    response = ivan.post(POST, json.dumps({"external_id": "m", "state": "x"} | wrong))
    assert response.status_code == 422
    assert list(fields(response)) == [path]
    assert not Item.objects.exists()


def test_missing_fields_are_named(ivan: Caller) -> None:
    assert fields(ivan.post(POST, {})) == {"external_id": "is missing", "state": "is missing"}


@pytest.mark.parametrize("number", ["NaN", "Infinity", "-Infinity", "1e999"])
def test_a_number_that_is_none_is_refused_with_its_path(ivan: Caller, number: str) -> None:
    response = ivan.post(POST, f'{{"external_id": "m", "state": {{"a": [{number}]}}}}')
    assert (response.status_code, list(fields(response))) == (422, ["state.a[0]"])


def test_markup_and_odd_directions_are_kept_as_they_are(ivan: Caller) -> None:
    state = "<script>alert(1)</script> \u202eabc\u2028 مرحبا"
    ivan.post(POST, {"external_id": state, "state": state})
    item = Item.objects.select_related("content").get()
    assert (item.external_id, item.content.state) == (state, state)


def test_a_hidden_item_does_not_tell_that_policy_settled_it(workflow: Workflow, ivan: Caller) -> None:
    ivan.post(POST, {"external_id": "m", "state": "x"})
    mine = Item.objects.get()
    task = make_task(workflow, kind="audit")
    Item.objects.filter(pk=task.item_id).update(external_id="a", content_hash=mine.content_hash)
    Item.objects.filter(pk=mine.pk).update(external_id="b")
    assert ivan.post(POST, {"external_id": "a", "state": "x"}).json()["status"] == "in_review"


def test_without_the_scope(workflow: Workflow, ivan_person: User) -> None:
    reader = caller_of(workflow, ivan_person, "read", "export")
    response = reader.post(POST, {"external_id": "m", "state": "x"})
    assert (response.status_code, response.json()["error"]["code"]) == (403, "missing_scope")
