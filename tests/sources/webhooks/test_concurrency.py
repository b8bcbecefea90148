"""Real connections at once: a replay is one delivery, a delivery has one worker, a body may be slow or end early."""

from __future__ import annotations

import json
import socket
import time
from concurrent.futures import ThreadPoolExecutor
from http.client import HTTPConnection

import pytest
from django.db import connection
from pytest_django.live_server_helper import LiveServer

from apps.items.models import Item
from apps.sources.models import Delivery
from apps.sources.webhooks.working import work_off_deliveries
from tests.factories import NOW, make_workflow
from tests.sources.webhooks.conftest import Sender, make_webhook, signed

BODY = b'{"external_id": "a-1", "state": "Hello"}'
pytestmark = [pytest.mark.slow, pytest.mark.django_db(transaction=True)]


@pytest.fixture
def sender() -> Sender:
    return Sender(make_webhook(make_workflow()))


def test_it_works(live_server: LiveServer, sender: Sender) -> None:
    """A hundred posts of the same message, twenty at once."""
    headers = signed(BODY)

    def post(_: int) -> tuple[int, int, bool]:
        client = HTTPConnection(live_server.thread.host, live_server.thread.port, timeout=60)
        client.request("POST", sender.url, BODY, headers)
        response = client.getresponse()
        answer = json.loads(response.read())
        client.close()
        return response.status, answer["delivery"], answer["replay"]

    with ThreadPoolExecutor(20) as pool:
        answers = list(pool.map(post, range(100)))
    assert {status for status, _, _ in answers} == {200}
    assert len({delivery for _, delivery, _ in answers}) == 1
    assert sum(not is_replay for _, _, is_replay in answers) == 1
    assert Delivery.objects.count() == 1


def test_workers_at_once_take_each_delivery_once(sender: Sender) -> None:
    for number in range(20):
        sender.post({"external_id": f"a-{number}", "state": "x"}, id=f"msg_{number}")

    def work(_: int) -> int:
        try:
            return work_off_deliveries(now=lambda: NOW)
        finally:
            connection.close()

    with ThreadPoolExecutor(4) as pool:
        assert sum(pool.map(work, range(4))) == 20
    assert set(Delivery.objects.values_list("status", "items", "attempts")) == {("done", 1, 1)}
    assert Item.objects.count() == 20


def open_post(live_server: LiveServer, sender: Sender) -> socket.socket:
    lines = [f"{name}: {value}" for name, value in signed(BODY).items()]
    head = [f"POST {sender.url} HTTP/1.1", "Host: localhost", f"Content-Length: {len(BODY)}", *lines, "", ""]
    post = socket.create_connection((live_server.thread.host, live_server.thread.port), timeout=20)
    post.sendall("\r\n".join(head).encode())
    return post


def test_a_slow_body_is_taken(live_server: LiveServer, sender: Sender) -> None:
    with open_post(live_server, sender) as post:
        for start in range(0, len(BODY), 10):
            post.sendall(BODY[start : start + 10])
            time.sleep(0.05)
        assert post.recv(64).startswith(b"HTTP/1.1 200")
    assert Delivery.objects.count() == 1


def test_a_body_that_ends_early_is_not(live_server: LiveServer, sender: Sender) -> None:
    with open_post(live_server, sender) as post:
        post.sendall(BODY[:-5])
        post.shutdown(socket.SHUT_WR)
        assert post.recv(64).split()[1] in (b"400", b"401")
    assert Delivery.objects.count() == 0
