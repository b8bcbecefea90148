from __future__ import annotations

import base64
from email.message import EmailMessage
from typing import Any

import pytest

from apps.items.models import Item, Mail
from tests.api.conftest import Caller
from tests.sources.pictures import drawn

POST = "/workflows/leads/items"


def message(text: str = "The photo is attached.\n", *, message_id: str = "<m1@example.org>") -> EmailMessage:
    mail = EmailMessage()
    mail["From"] = "Ana <ana@example.org>"
    mail["To"] = "sales@example.com"
    mail["Subject"] = "Größe 42"
    mail["Date"] = "Mon, 30 Nov 2026 09:00:00 +0000"
    mail["Message-ID"] = message_id
    mail.set_content(text)
    return mail


def in_base64(mail: EmailMessage) -> dict[str, str]:
    return {"base64": base64.b64encode(mail.as_bytes()).decode()}


def fields(response: Any) -> dict[str, str]:
    return {each["path"]: each["message"] for each in response.json()["error"]["fields"]}


def test_it_works(ivan: Caller) -> None:
    mail = message()
    mail.add_attachment(drawn(), maintype="image", subtype="png", filename="photo.png")
    response = ivan.post(POST, {"mail": in_base64(mail)})
    assert response.status_code == 201
    assert response.json()["external_id"] == "m1@example.org"
    story = ivan.get(f"/items/{response.json()['id']}").json()
    assert story["title"] == "Größe 42"
    assert ["From", "Ana <ana@example.org>"] in story["mail"]["headers"]
    assert [part["kind"] for part in story["mail"]["parts"]] == ["body"]
    assert story["attachments"][0]["image"]["width"] == 80
    assert story["metadata"]["from"] == "ana@example.org"
    assert story["received_at"].startswith("2026-11-30T09:00:00")


def test_a_mail_may_come_as_text(ivan: Caller) -> None:
    assert ivan.post(POST, {"mail": message().as_string()}).status_code == 201
    assert Mail.objects.get().parts[0]["text"].startswith("The photo is attached.")


def test_what_the_caller_says_beside_it_wins(ivan: Caller) -> None:
    beside = {"external_id": "mine", "group": "order 7", "priority": 3, "metadata": {"from": "x", "tier": 1}}
    ivan.post(POST, beside | {"mail": in_base64(message())})
    item = Item.objects.get()
    assert (item.external_id, item.group_key, item.priority) == ("mine", "order 7", 3)
    assert (item.metadata["from"], item.metadata["tier"], item.metadata["subject"]) == ("x", 1, "Größe 42")


def test_the_same_mail_again_is_the_first_item(ivan: Caller) -> None:
    first = ivan.post(POST, {"mail": in_base64(message())}).json()
    again = ivan.post(POST, {"mail": in_base64(message())})
    assert (again.status_code, again.json()) == (200, first | {"created": False})


def test_another_mail_with_its_message_id_is_a_conflict(ivan: Caller) -> None:
    ivan.post(POST, {"mail": in_base64(message())})
    assert ivan.post(POST, {"mail": in_base64(message("Forged\n"))}).status_code == 409


@pytest.mark.parametrize(
    ("sent", "path", "why"),
    [
        ({"mail": 7}, "mail", "must be a text"),
        ({"mail": {"base64": 7}}, "mail", "must be a text"),
        ({"mail": {"base64": "AA==", "x": 1}}, "mail", "must be a text"),
        ({"mail": {"base64": "%"}}, "mail", "is not base64"),
        ({"mail": ""}, "mail", "is "),
        ({"mail": {"base64": base64.b64encode(b"PK\x03\x04" + bytes(99)).decode()}}, "mail", "is no mail"),
        ({"mail": "From: a@b\n\nx", "state": "x"}, "state", "cannot stand beside mail"),
        ({"mail": "From: a@b\n\nx", "images": []}, "images", "cannot stand beside mail"),
    ],
)
def test_what_is_no_mail_is_said(ivan: Caller, sent: dict[str, Any], path: str, why: str) -> None:
    response = ivan.post(POST, sent)
    assert response.status_code == 422
    assert fields(response)[path].startswith(why)
    assert not Item.objects.exists()


def test_a_batch_of_mails_names_the_row(ivan: Caller) -> None:
    rows = [{"mail": in_base64(message())}, {"mail": 7}, {"external_id": "x", "state": "x"}]
    told = ivan.post(POST, {"items": rows}).json()
    assert (told["created"], [each["path"] for each in told["failed"]]) == (2, ["items[1].mail"])


def test_surrogates_in_a_mail_break_nothing(ivan: Caller) -> None:
    assert ivan.post(POST, {"mail": "From: a@b.example\n\n\ud800 x\x00"}).status_code == 201
