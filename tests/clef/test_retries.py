from __future__ import annotations

import httpx
import pytest

from apps.clef.errors import EndpointBusy, EndpointUnreachable, InvalidReply

from .asking import Asking, ok

BUSY = httpx.Response(429, json={"errors": [{"code": 3040, "message": "Capacity temporarily exceeded"}]})


def test_it_works() -> None:
    asking = Asking(BUSY, BUSY, ok())
    assert asking.decide().attempts == 3
    assert asking.pauses == [1.0, 2.0]


def test_the_budget_ends() -> None:
    asking = Asking(BUSY)
    assert asking.fail().attempts == 3
    assert len(asking.requests) == 3


def test_pauses_stop_growing_at_eight_seconds() -> None:
    asking = Asking(BUSY, max_attempts=8)
    asking.fail()
    assert asking.pauses == [1, 2, 4, 8, 8, 8, 8]


def test_what_the_server_asks_for_wins() -> None:
    asking = Asking(httpx.Response(429, headers={"retry-after": "7"}), ok())
    assert asking.decide().attempts == 2
    assert asking.pauses == [7.0]


def test_every_attempt_asks_the_same() -> None:
    asking = Asking(BUSY, ok())
    asking.decide()
    assert asking.requests[0].content == asking.requests[1].content


def test_a_deadline_that_cannot_be_kept_ends_it_at_once() -> None:
    asking = Asking(BUSY, timeout_s=10)
    assert asking.fail(deadline_s=5).attempts == 1
    assert asking.pauses == []


@pytest.mark.parametrize(
    "problem", [httpx.ConnectError("no name"), httpx.ReadTimeout("slow"), httpx.RemoteProtocolError("cut")]
)
def test_trouble_on_the_way_is_tried_again(problem: Exception) -> None:
    error = Asking(problem).fail()
    assert isinstance(error, EndpointUnreachable)
    assert (error.attempts, error.code, error.http_status) == (3, type(problem).__name__, None)


def test_trouble_on_the_way_keeps_no_hold_of_the_request() -> None:
    error = Asking(httpx.ConnectError("no name")).fail()
    assert error.__cause__ is None
    assert error.__context__ is None


def test_a_used_up_pool_is_busy() -> None:
    assert isinstance(Asking(httpx.PoolTimeout("full")).fail(), EndpointBusy)


def test_an_invalid_reply_is_tried_again() -> None:
    asking = Asking(httpx.Response(200, content=b"{"), ok())
    assert asking.decide().attempts == 2


def test_an_invalid_reply_says_where_it_came_from() -> None:
    error = Asking(httpx.Response(200, content=b"{", headers={"cf-ai-req-id": "r-1"})).fail()
    assert isinstance(error, InvalidReply)
    assert (error.attempts, error.http_status, error.request_id) == (3, 200, "r-1")
