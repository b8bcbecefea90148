"""Posting to a source: who is let in, what is kept, how it is answered."""

from __future__ import annotations

import io
import time
import uuid
from typing import Any

import pytest
from django.test import Client

from apps.pipeline.limits import MAX_API_BODY_BYTES
from apps.sources.models import Delivery
from tests.sources.webhooks.conftest import OLD_SECRET, SECRET, Sender, signed

BODY = b'{"external_id": "a-1", "state": "Hello"}'


def test_it_works(webhook: Sender) -> None:
    response = webhook.post(BODY)
    delivery = Delivery.objects.get()
    assert (response.status_code, response.json()) == (200, {"delivery": delivery.pk, "replay": False})
    assert (delivery.message_id, bytes(delivery.body), delivery.status) == ("msg_1", BODY, "pending")


def test_a_replay_is_the_same_delivery(webhook: Sender) -> None:
    first = webhook.post(BODY).json()
    again = webhook.post(BODY)
    assert (again.status_code, again.json()) == (200, {"delivery": first["delivery"], "replay": True})
    assert Delivery.objects.count() == 1


def test_a_secret_is_replaced_without_losing_posts(webhook: Sender, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOOK_SECRET", f"{SECRET} {OLD_SECRET}")
    assert webhook.post(BODY, id="new").status_code == 200
    assert webhook.post(BODY, id="old", secret=OLD_SECRET).status_code == 200


def test_one_of_several_signatures_is_enough(webhook: Sender) -> None:
    headers = signed(BODY)
    headers["webhook-signature"] = f"v1a,xyz nonsense {headers['webhook-signature']}"
    assert webhook.raw(BODY, headers).status_code == 200


@pytest.mark.parametrize("header", ["webhook-id", "webhook-timestamp", "webhook-signature"])
def test_a_missing_header_is_named(webhook: Sender, header: str) -> None:
    headers = signed(BODY)
    del headers[header]
    response = webhook.raw(BODY, headers)
    assert (response.status_code, response.json()["error"]["fields"]) == (
        401,
        [{"path": header, "message": "is missing"}],
    )
    assert not Delivery.objects.exists()


@pytest.mark.parametrize(
    ("header", "value"),
    [
        ("webhook-signature", "v1,AAAA"),
        ("webhook-signature", "v1"),
        ("webhook-signature", "v1,é"),
        ("webhook-signature", ", , ,"),
        ("webhook-id", "msg_2"),
        ("webhook-id", "x" * 301),
        ("webhook-id", "é"),
        ("webhook-timestamp", "nan"),
        ("webhook-timestamp", "9" * 12),
        ("webhook-timestamp", "-1"),
    ],
)
def test_a_wrong_header_is_refused(webhook: Sender, header: str, value: str) -> None:
    response = webhook.raw(BODY, signed(BODY) | {header: value})
    error = response.json()["error"]
    assert (response.status_code, error["code"], set(error)) == (
        401,
        "not_signed",
        {"code", "message", "fields"},
    )
    assert not Delivery.objects.exists()


def test_a_signature_over_other_bytes_is_refused(webhook: Sender) -> None:
    assert webhook.raw(BODY + b" ", signed(BODY)).status_code == 401


def test_another_secret_is_refused(webhook: Sender) -> None:
    assert webhook.post(BODY, secret=OLD_SECRET).status_code == 401


@pytest.mark.parametrize(("skew_s", "status"), [(-290, 200), (290, 200), (-310, 401), (310, 401)])
def test_a_clock_may_be_five_minutes_off(webhook: Sender, skew_s: int, status: int) -> None:
    assert webhook.post(BODY, at=time.time() + skew_s).status_code == status


def test_bytes_that_are_no_text_are_refused(webhook: Sender) -> None:
    response = webhook.raw(b"\xff\xfe", signed(b"{}"))
    assert (response.status_code, "not UTF-8" in response.json()["error"]["message"]) == (401, True)


def test_a_secret_that_is_not_set_asks_to_come_again(
    webhook: Sender, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOOK_SECRET", "")
    response = webhook.post(BODY)
    assert (response.status_code, response.headers["Retry-After"]) == (503, "30")
    assert "HOOK_SECRET" not in response.content.decode()


def test_a_secret_comes_from_a_file(webhook: Sender, monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> None:
    (tmp_path / "secret").write_text(f"{SECRET}\n")
    monkeypatch.delenv("HOOK_SECRET")
    monkeypatch.setenv("HOOK_SECRET_FILE", str(tmp_path / "secret"))
    assert webhook.post(BODY).status_code == 200


def test_a_paused_source_keeps_what_comes(webhook: Sender) -> None:
    webhook.source.is_paused = True
    webhook.source.save()
    assert (webhook.post(BODY).status_code, Delivery.objects.count()) == (200, 1)


@pytest.mark.django_db
def test_an_unknown_address_is_404_unread() -> None:
    response = Client().post(f"/hooks/{uuid.uuid4()}/", BODY, content_type="application/json")
    assert (response.status_code, response.json()["error"]["code"]) == (404, "not_found")


def test_a_mailbox_has_no_address(webhook: Sender) -> None:
    webhook.source.kind = "imap"
    webhook.source.save()
    assert webhook.post(BODY).status_code == 404


@pytest.mark.parametrize("method", ["GET", "PUT", "DELETE", "HEAD", "OPTIONS"])
def test_other_methods_are_405(webhook: Sender, method: str) -> None:
    response = webhook.client.generic(method, webhook.url)
    assert (response.status_code, response.headers["Allow"]) == (405, "POST")


class Endless(io.RawIOBase):
    """A body that never ends; counts what was read of it."""

    taken = 0

    def read(self, size: int = -1, /) -> bytes:
        self.taken += size
        return b"x" * size


def test_an_announced_size_over_the_limit_is_refused_unread(webhook: Sender) -> None:
    body = Endless()
    length = str(MAX_API_BODY_BYTES + 1)
    response = webhook.client.generic(
        "POST", webhook.url, b"{}", CONTENT_LENGTH=length, **{"wsgi.input": body}
    )
    assert (response.status_code, body.taken) == (413, 0)


def test_a_chunked_body_is_read_to_the_limit_only(webhook: Sender) -> None:
    body = Endless()
    chunked = {"HTTP_TRANSFER_ENCODING": "chunked", "CONTENT_LENGTH": "", "wsgi.input_terminated": True}
    response = webhook.client.generic("POST", webhook.url, b"{}", **chunked, **{"wsgi.input": body})
    assert response.status_code == 413
    assert body.taken < MAX_API_BODY_BYTES + 1024 * 1024
