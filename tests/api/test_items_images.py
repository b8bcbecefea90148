from __future__ import annotations

import base64
from itertools import count
from typing import Any

import pytest
from django.utils import timezone

from apps.accounts.models import User
from apps.api.intake import take_batch
from apps.items.models import Attachment, Image, Item
from apps.workflows.models import Workflow
from tests.api.conftest import Caller
from tests.factories import make_decision
from tests.sources.pictures import drawn

POST = "/workflows/leads/items"


def data_url(colour: str = "red", kind: str = "PNG") -> str:
    return f"data:image/{kind.lower()};base64,{base64.b64encode(drawn(kind, colour=colour)).decode()}"


def fields(response: Any) -> dict[str, str]:
    return {each["path"]: each["message"] for each in response.json()["error"]["fields"]}


def test_it_works(ivan: Caller) -> None:
    as_object = {"content_type": "image/jpeg", "base64": data_url("blue", "JPEG").partition(",")[2]}
    sent = {
        "external_id": "m",
        "state": {"note": "two"},
        "images": [data_url(), as_object | {"name": "b.jpg"}],
    }
    response = ivan.post(POST, sent | {"group": "order 7"})
    assert response.status_code == 201
    story = ivan.get(f"/items/{response.json()['id']}").json()
    assert story["group"] == "order 7"
    first, second = story["attachments"]
    assert (first["name"], second["name"], first["is_for_model"]) == ("image 1", "b.jpg", True)
    kept = Image.objects.get(content_type="image/jpeg")
    assert second["image"] == {
        "sha256": kept.sha256,
        "content_type": "image/jpeg",
        "width": 80,
        "height": 80,
        "size": kept.size,
    }


def test_pictures_alone_are_an_item(ivan: Caller) -> None:
    response = ivan.post(POST, {"external_id": "m", "images": [data_url()]})
    assert response.status_code == 201
    assert Item.objects.get().title == "image 1"


def test_the_same_again_is_the_first_item(ivan: Caller) -> None:
    sent = {"external_id": "m", "images": [data_url()]}
    first = ivan.post(POST, sent).json()
    again = ivan.post(POST, sent)
    assert (again.status_code, again.json()) == (200, first | {"created": False})


def test_other_pictures_are_a_conflict(ivan: Caller) -> None:
    ivan.post(POST, {"external_id": "m", "state": "x", "images": [data_url()]})
    response = ivan.post(POST, {"external_id": "m", "state": "x", "images": [data_url("blue")]})
    assert (response.status_code, list(fields(response))) == (409, ["images"])


def test_the_same_picture_is_kept_once(ivan: Caller) -> None:
    for name in ("a", "b"):
        ivan.post(POST, {"external_id": name, "images": [data_url()]})
    assert (Image.objects.count(), Attachment.objects.count()) == (1, 2)


def test_one_bad_picture_refuses_the_item_by_its_place(ivan: Caller) -> None:
    svg = "data:image/png;base64," + base64.b64encode(b"<svg/>").decode()
    response = ivan.post(POST, {"external_id": "m", "state": "x", "images": [data_url(), svg]})
    assert response.status_code == 422
    assert fields(response) == {"images[1]": "is an SVG drawing: only PNG, JPEG and WebP are kept"}
    assert not Item.objects.exists()
    assert not Image.objects.exists()


def test_five_pictures_are_too_many(ivan: Caller) -> None:
    response = ivan.post(POST, {"external_id": "m", "images": [data_url()] * 5})
    assert fields(response) == {"images": "has 5 images; the limit is 4"}


@pytest.mark.parametrize(
    ("sent", "missing"),
    [
        ({}, {"external_id", "state"}),
        ({"external_id": "m"}, {"state"}),
        ({"external_id": "m", "images": []}, {"state"}),
        ({"images": [data_url()]}, {"external_id"}),
    ],
)
def test_what_is_needed_is_said(ivan: Caller, sent: dict[str, Any], missing: set[str]) -> None:
    response = ivan.post(POST, sent)
    assert (response.status_code, set(fields(response))) == (422, missing)


def test_a_batch_keeps_its_good_rows(ivan: Caller) -> None:
    rows = [
        {"external_id": "a", "images": [data_url()]},
        {"external_id": "b", "images": [data_url(), "data:,"]},
        {"external_id": "c", "state": "x"},
    ]
    told = ivan.post(POST, {"items": rows}).json()
    assert (told["created"], [each["path"] for each in told["failed"]]) == (2, ["items[1].images[1]"])


def test_a_batch_is_not_looked_at_for_ever(workflow: Workflow, ivan_person: User) -> None:
    rows = [{"external_id": f"{n}", "images": [data_url()]} for n in range(4)]
    rows.append({"external_id": "text", "state": "no picture, no wait"})
    ticks = count(0, 9)
    told = take_batch(
        workflow=workflow,
        user=ivan_person,
        body={"items": rows},
        address=str,
        now=timezone.now(),
        clock=lambda: next(ticks),
    )
    assert [each.index for each in told.failed] == [2, 3]
    assert told.failed[0].message == "was not looked at, the call took too long: send it again"
    assert told.created == 3


def test_a_decision_tells_what_was_sent_of_its_pictures(ivan: Caller) -> None:
    item_id = ivan.post(POST, {"external_id": "m", "images": [data_url()]}).json()["id"]
    decision = make_decision(Item.objects.get(pk=item_id))
    assert ivan.get(f"/items/{item_id}").json()["decisions"][0]["images"] == decision.images == []
