from __future__ import annotations

from apps.items.models import Item
from tests.api.conftest import Caller

POST = "/workflows/leads/items"


def test_it_works(ivan: Caller) -> None:
    rows = [
        {"external_id": "a", "state": "x"},
        {"external_id": "b", "state": "y"},
        {"external_id": "a", "state": "x"},
    ]
    response = ivan.post(POST, {"items": rows})
    answer = response.json()
    assert (response.status_code, answer["created"], answer["existing"], answer["failed"]) == (200, 2, 1, [])
    assert [(each["index"], each["external_id"], each["created"]) for each in answer["items"]] == [
        (0, "a", True),
        (1, "b", True),
        (2, "a", False),
    ]


def test_good_rows_are_kept_and_bad_ones_named(ivan: Caller) -> None:
    ivan.post(POST, {"external_id": "taken", "state": "old"})
    rows = [
        {"external_id": 1, "state": "x"},
        7,
        {"external_id": "ok", "state": "x"},
        {"external_id": "n", "state": "\x00"},
        {"external_id": "taken", "state": "new"},
    ]
    answer = ivan.post(POST, {"items": rows}).json()
    assert [(each["index"], each["path"]) for each in answer["failed"]] == [
        (0, "items[0].external_id"),
        (1, "items[1]"),
        (3, "items[3].state"),
        (4, "items[4].state"),
    ]
    assert [each["index"] for each in answer["items"]] == [2]
    assert set(Item.objects.values_list("external_id", flat=True)) == {"taken", "ok"}


def test_too_many(ivan: Caller) -> None:
    rows = [{"external_id": str(n), "state": "x"} for n in range(1001)]
    response = ivan.post(POST, {"items": rows})
    assert (response.status_code, response.json()["error"]["fields"][0]["path"]) == (413, "items")
    assert not Item.objects.exists()


def test_a_full_batch_is_taken(ivan: Caller) -> None:
    rows = [{"external_id": str(n), "state": "x"} for n in range(1000)]
    assert ivan.post(POST, {"items": rows}).json()["created"] == 1000


def test_a_batch_that_is_none(ivan: Caller) -> None:
    bodies = [{"items": []}, {"items": {}}, {"items": None}, {"items": [], "external_id": "x"}]
    assert [ivan.post(POST, body).status_code for body in bodies] == [422] * 4
    assert [ivan.post(POST, text).status_code for text in ("[]", '"x"', "null", "7")] == [422] * 4
