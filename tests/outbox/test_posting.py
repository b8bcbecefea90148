"""One try over real sockets, with receivers that are slow, endless or lead elsewhere."""

from __future__ import annotations

import time
import uuid

import pytest
from standardwebhooks import Webhook

from apps.outbox.events import MOST_BYTES
from apps.outbox.models import Event, Subscription
from apps.outbox.posting import SEND_S, Outcome, post_event
from apps.workflows.models import Workflow
from tests.factories import NOW
from tests.outbox.receiver import OLD_SECRET, SECRET, raw_server, receiving


def event(**data: object) -> Event:
    return Event(public_id=uuid.uuid4(), type="alarm.raised", data=data, created_at=NOW)


def post(url: str, *, allow_private: bool = True, **data: object) -> Outcome:
    subscription = Subscription(workflow=Workflow(), address=url, secret_variable="HOOK_SECRET")
    return post_event(event(**data), subscription, allow_private=allow_private)


def test_it_works() -> None:
    with receiving() as receiver:
        assert post(receiver.url, text="Spam: too many errors · خطأ") == Outcome(True, http_status=204)
    ((headers, body),) = receiver.received
    verified = Webhook(SECRET).verify(body, headers)
    assert verified["type"] == "alarm.raised"
    assert verified["timestamp"] == "2026-11-30T09:00:00Z"
    assert verified["data"] == {"text": "Spam: too many errors · خطأ"}


def test_while_a_secret_is_replaced_both_verify(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOOK_SECRET", f"{SECRET} {OLD_SECRET}")
    with receiving() as receiver:
        assert post(receiver.url).is_sent
    ((headers, body),) = receiver.received
    for each in (SECRET, OLD_SECRET):
        assert Webhook(each).verify(body, headers)["type"] == "alarm.raised"


@pytest.mark.parametrize(
    "secret", ["", "whsec_", "whsec_c2hvcnQ=", "whsec_not*base64*at*all*but*long", "hunter2"]
)
def test_without_a_secret_nothing_leaves(secret: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOOK_SECRET", secret)
    with receiving() as receiver:
        outcome = post(receiver.url)
    assert not outcome.is_sent
    assert "HOOK_SECRET" in outcome.error
    assert receiver.received == []


def test_a_redirect_inside_is_not_followed() -> None:
    with receiving() as inside, receiving(lambda number: 302, Location=inside.url) as receiver:
        outcome = post(receiver.url)
    assert (outcome.is_sent, outcome.http_status) == (False, 302)
    assert inside.received == []


@pytest.mark.parametrize(
    ("asked", "waited"), [("120", 120), ("999999999", 86_400), ("tomorrow", 0), ("-1", 0)]
)
def test_who_asks_for_time_gets_it(asked: str, waited: int) -> None:
    with receiving(lambda number: 429, Retry_After=asked) as receiver:
        assert post(receiver.url).retry_after_s == waited


def test_an_endless_reply_is_not_read() -> None:
    begun = time.monotonic()
    with raw_server(b"HTTP/1.1 200 OK\r\n\r\n", drip=b"x" * 65_536, every_s=0) as url:
        assert post(url).is_sent
        assert time.monotonic() - begun < 2


@pytest.mark.slow
@pytest.mark.parametrize("drip", [b"x", b"X-Slow: 1\r\n"])
def test_a_reply_by_drops_ends_in_time(drip: bytes) -> None:
    """Each drop comes soon enough; the whole would take for ever."""
    begun = time.monotonic()
    with raw_server(b"HTTP/1.1 200 OK\r\n", drip=drip, every_s=0.2) as url:
        outcome = post(url)
    assert outcome.error == "No answer within 10 s."
    assert SEND_S - 1 < time.monotonic() - begun < SEND_S + 3


@pytest.mark.parametrize("answer", [b"", b"SSH-2.0-OpenSSH\r\n", b"HTTP/1.1 200 OK\r\nX: " + b"y" * 200_000])
def test_what_is_no_http_is_an_error_of_ours_to_tell(answer: bytes) -> None:
    with raw_server(answer) as url:
        outcome = post(url)
    assert not outcome.is_sent
    assert outcome.error.startswith("The connection failed (")


def test_nobody_listens() -> None:
    assert post("http://127.0.0.1:9/").error == "The connection failed (ConnectionRefusedError)."


def test_too_large_is_final() -> None:
    with receiving() as receiver:
        outcome = post(receiver.url, text="x" * MOST_BYTES)
    assert outcome.is_final
    assert receiver.received == []


@pytest.mark.parametrize("url", ["https://127.0.0.1:9/", "https://localhost:9/"])
def test_a_private_address_is_not_even_connected_to(url: str) -> None:
    outcome = post(url, allow_private=False)
    assert "private network" in outcome.error


def test_plain_http_is_for_private_networks() -> None:
    assert "https://" in post("http://example.org/", allow_private=False).error
