"""WhatsApp's address: the handshake, the signature, what becomes of posts; pictures from a server beside the test."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any

import pytest
from PIL import Image

from apps.items.models import Attachment, Item
from apps.sources.models import Delivery
from apps.sources.webhooks.working import MOST_ATTEMPTS, work_off_deliveries
from apps.workflows.models import Workflow
from tests.factories import NOW
from tests.sources.webhooks.conftest import VERIFY_TOKEN, Meta, chat, make_whatsapp, said

HELLO = said("text", {"body": "Hello"})
PHOTO = said("image", {"id": "777", "mime_type": "image/png", "caption": "Broken"}, id="wamid.photo")
HANDSHAKE = {"hub.mode": "subscribe", "hub.verify_token": VERIFY_TOKEN, "hub.challenge": "1158201444"}


def work_off() -> Delivery:
    work_off_deliveries(now=lambda: NOW)
    return Delivery.objects.latest("pk")


def test_it_works(meta: Meta) -> None:
    response = meta.post(chat(HELLO, statuses=[{}]))
    delivery = work_off()
    item = Item.objects.get()
    assert (response.status_code, delivery.status, delivery.note) == (200, "done", "Left out: statuses (1).")
    assert (item.external_id, item.source, item.group_key) == (
        "wamid.1",
        "whatsapp",
        "whatsapp:106540352242922:16505551234",
    )


def test_the_handshake_echoes_the_challenge(meta: Meta) -> None:
    response = meta.client.get(meta.url, HANDSHAKE)
    assert (response.status_code, response.content) == (200, b"1158201444")
    assert response.headers["Content-Type"] == "text/plain; charset=utf-8"


@pytest.mark.parametrize(
    ("wrong", "status"),
    [
        ({"hub.verify_token": "guess"}, 403),
        ({"hub.verify_token": "é"}, 403),
        ({"hub.mode": "unsubscribe"}, 403),
        ({"hub.challenge": ""}, 400),
        ({"hub.challenge": "x" * 300}, 400),
    ],
)
def test_a_handshake_of_others_is_refused(meta: Meta, wrong: dict[str, str], status: int) -> None:
    response = meta.client.get(meta.url, HANDSHAKE | wrong)
    assert (response.status_code, VERIFY_TOKEN in response.content.decode()) == (status, False)


def test_another_secret_is_refused(meta: Meta) -> None:
    response = meta.post(chat(HELLO), secret="guess")
    assert (response.status_code, response.json()["error"]["fields"][0]["path"]) == (
        401,
        "x-hub-signature-256",
    )
    assert not Delivery.objects.exists()


@pytest.mark.parametrize("header", ["", "sha256=", "sha1=abc", "é", "sha256=" + "0" * 64])
def test_a_wrong_signature_is_refused(meta: Meta, header: str) -> None:
    assert meta.raw(b"{}", {"X-Hub-Signature-256": header}).status_code == 401


def test_the_same_post_again_is_the_same_delivery(meta: Meta) -> None:
    assert [meta.post(chat(HELLO)).json()["replay"] for _ in range(3)] == [False, True, True]


def test_the_same_message_in_another_post_doubles_nothing(meta: Meta) -> None:
    meta.post(chat(HELLO))
    meta.post(chat(said("text", {"body": "More"}, id="wamid.2"), HELLO, contacts=[]))
    assert (work_off().status, Item.objects.count()) == ("done", 2)


def test_characters_that_cannot_be_stored_are_replaced(meta: Meta) -> None:
    meta.post(json.dumps(chat(said("text", {"body": "a\x00b\ud800"}))).encode())
    assert work_off().status == "done"
    assert Item.objects.get().title.startswith("a\ufffdb\ufffd")


@pytest.mark.parametrize("body", [b"", b"[]", b"{}", b"[" * 100_000, b'{"object": "page"}', b"\xff"])
def test_what_is_not_whatsapps_is_refused_with_a_reason(meta: Meta, body: bytes) -> None:
    assert meta.post(body).status_code == 200
    delivery = work_off()
    assert (delivery.status, delivery.note.startswith("Not taken: ")) == ("refused", True)


class Graph(ThreadingHTTPServer):
    """Meta's Graph API, as far as pictures go; `answers` is what it says next, by path."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), GraphHandler)
        drawn = io.BytesIO()
        Image.new("RGB", (90, 80), "blue").save(drawn, "PNG")
        self.base = f"http://127.0.0.1:{self.server_address[1]}/v23.0"
        self.answers: dict[str, tuple[int, bytes]] = {"/file": (200, drawn.getvalue())}
        self.named(f"{self.base.removesuffix('/v23.0')}/file")
        self.asked: list[tuple[str, str | None]] = []

    def named(self, url: str) -> None:
        self.answers["/v23.0/777"] = (200, json.dumps({"url": url, "mime_type": "image/png"}).encode())


class GraphHandler(BaseHTTPRequestHandler):
    server: Graph

    def do_GET(self) -> None:
        self.server.asked.append((self.path, self.headers["Authorization"]))
        status, content = self.server.answers[self.path]
        self.send_response(status)
        if 300 <= status < 400:
            self.send_header("Location", "http://127.0.0.1:9/elsewhere")
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_: Any) -> None:
        """Quiet."""


@pytest.fixture
def graph(monkeypatch: pytest.MonkeyPatch) -> Iterator[Graph]:
    monkeypatch.setenv("META_TOKEN", "bearer of media")
    with Graph() as server:
        Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
        yield server
        server.shutdown()


@pytest.fixture
def seeing(workflow: Workflow, graph: Graph) -> Meta:
    return Meta(make_whatsapp(workflow, access_token_variable="META_TOKEN", graph_base=graph.base))


def test_a_picture_is_fetched_and_kept(seeing: Meta, graph: Graph) -> None:
    seeing.post(chat(PHOTO))
    assert work_off().status == "done"
    attachment = Attachment.objects.select_related("image").get()
    assert attachment.image is not None
    assert (attachment.image.width, attachment.is_for_model, attachment.note) == (90, True, "")
    bearer = "Bearer bearer of media"
    assert graph.asked == [("/v23.0/777", bearer), ("/file", bearer)]


def test_a_picture_is_fetched_once(seeing: Meta, graph: Graph) -> None:
    seeing.post(chat(PHOTO))
    work_off()
    seeing.post(chat(PHOTO, HELLO))
    work_off()
    assert (len(graph.asked), Item.objects.count()) == (2, 2)


def test_what_cannot_be_fetched_now_waits_alone(seeing: Meta, graph: Graph) -> None:
    good = graph.answers["/file"]
    graph.answers["/file"] = (503, b"")
    seeing.post(chat(HELLO, PHOTO))
    delivery = work_off()
    assert (delivery.status, delivery.items, delivery.next_try_at is None) == ("pending", 1, False)
    assert delivery.note == "The image could not be fetched: WhatsApp answered 503; tried again."
    graph.answers["/file"] = good
    Delivery.objects.update(next_try_at=None)
    delivery = work_off()
    assert (delivery.status, delivery.items, delivery.note) == ("done", 2, "")


def test_what_can_never_be_fetched_is_taken_without(seeing: Meta, graph: Graph) -> None:
    graph.answers["/v23.0/777"] = (503, b"")
    seeing.post(chat(PHOTO))
    Delivery.objects.update(attempts=MOST_ATTEMPTS - 1)
    assert work_off().status == "done"
    attachment = Attachment.objects.get()
    assert attachment.note == "image could not be fetched: WhatsApp answered 503"
    assert (attachment.image, attachment.size) == (None, 0)


@pytest.mark.parametrize(
    "url",
    [
        "http://127.0.0.1:9/file",
        "http://169.254.169.254/latest/meta-data/",
        "https://example.com/file",
        "https://fbsbx.com.example.com/file",
        "https://notfbsbx.com/file",
        "http://lookaside.fbsbx.com/file",
        "file:///etc/passwd",
        "https://lookaside.fbsbx.com@example.com/file",
    ],
)
def test_the_token_goes_to_nobody_but_meta(seeing: Meta, graph: Graph, url: str) -> None:
    graph.named(url)
    seeing.post(chat(PHOTO))
    assert work_off().status == "done"
    assert Attachment.objects.get().note == (
        "image could not be fetched: WhatsApp named an address that is not Meta's"
    )
    assert len(graph.asked) == 1


@pytest.mark.parametrize(
    ("status", "content", "why"),
    [
        (404, b"", "answered 404"),
        (200, b"x" * (17 * 1024 * 1024), "16,777,216 bytes"),
        (200, b"<svg/>", ""),
        (200, b"", ""),
    ],
)
def test_a_bad_picture_is_listed_with_the_reason(
    seeing: Meta, graph: Graph, status: int, content: bytes, why: str
) -> None:
    graph.answers["/file"] = (status, content)
    seeing.post(chat(PHOTO))
    assert work_off().status == "done"
    attachment = Attachment.objects.get()
    assert (attachment.image, bool(attachment.note), why in attachment.note) == (None, True, True)


@pytest.mark.parametrize("content", [b"{}", b"[]", b"no json", b'{"url": 7}', b'{"url": "https://["}'])
def test_an_answer_without_an_address_is_tried_again(seeing: Meta, graph: Graph, content: bytes) -> None:
    graph.answers["/v23.0/777"] = (200, content)
    seeing.post(chat(PHOTO))
    assert "could not be fetched" in work_off().note or Attachment.objects.get().note


def test_a_redirect_is_not_followed(seeing: Meta, graph: Graph) -> None:
    graph.answers["/file"] = (302, b"")
    seeing.post(chat(PHOTO))
    assert work_off().note == "The image could not be fetched: WhatsApp answered 302; tried again."


def test_an_id_that_is_a_path_is_not_asked_for(seeing: Meta, graph: Graph) -> None:
    seeing.post(chat(said("image", {"id": "../me", "mime_type": "image/png"})))
    assert (work_off().status, graph.asked) == ("done", [])


def test_other_files_are_listed_not_fetched(seeing: Meta, graph: Graph) -> None:
    word = {"id": "7", "filename": "a.doc", "mime_type": "application/msword"}
    seeing.post(chat(said("document", word)))
    assert (work_off().status, graph.asked) == ("done", [])
    attachment = Attachment.objects.get()
    assert (attachment.name, attachment.note) == ("a.doc", "not fetched: only pictures and PDF files are")


def test_without_a_token_pictures_are_listed(meta: Meta) -> None:
    meta.post(chat(PHOTO))
    assert work_off().status == "done"
    assert Attachment.objects.get().note == "not fetched: this source has no access token"
