from __future__ import annotations

from itertools import repeat
from typing import Any

import httpx
import pytest

from apps.clef.client import ClefClient
from apps.clef.errors import (
    ClefError,
    EndpointBusy,
    EndpointFailed,
    EndpointMisconfigured,
    EndpointUnreachable,
    InvalidReply,
    QuotaExhausted,
    RequestRefused,
)
from apps.clef.failures import WORKERS_AI
from apps.clef.local.server import StandIn
from apps.clef.types import EndpointSettings, ModelReply, ModelRequest, NoulQuestion

REQUEST = ModelRequest("text", (NoulQuestion("urgent", "Is it?"),))


def decide(standin: StandIn, kind: Any = "workers-ai", max_attempts: int = 1) -> ModelReply:
    base_url = standin.workers_ai_url if kind == "workers-ai" else standin.url
    settings = EndpointSettings(kind, base_url, "clef", "t", "0af9", max_attempts=max_attempts)
    with ClefClient(settings, sleep=lambda _: None) as client:
        return client.decide(REQUEST)


def test_it_works() -> None:
    with StandIn(faults=["429/3040", None]) as standin:
        assert decide(standin, max_attempts=3).attempts == 2


@pytest.mark.parametrize("kind", ["workers-ai", "systemone"])
@pytest.mark.parametrize(
    ("fault", "expected"),
    [
        ("429/3040", EndpointBusy),
        ("429/4006", QuotaExhausted),
        ("429/3036", QuotaExhausted),
        ("401/10000", EndpointMisconfigured),
        ("502/html", EndpointFailed),
        ("200/html", InvalidReply),
        ("cut", InvalidReply),
        ("nan", InvalidReply),
        ("short", EndpointUnreachable),
        ("drop", EndpointUnreachable),
    ],
)
def test_a_fault_is_met_as_the_named_error(kind: Any, fault: str, expected: type[ClefError]) -> None:
    with StandIn(faults=repeat(fault)) as standin, pytest.raises(expected):
        decide(standin, kind)


@pytest.mark.parametrize(("status", "code"), WORKERS_AI)
def test_every_documented_code_can_be_forced(status: int, code: int) -> None:
    with StandIn(faults=[f"{status}/{code}"]) as standin, pytest.raises(ClefError) as caught:
        decide(standin)
    assert (caught.value.http_status, caught.value.code) == (status, str(code))


def test_a_200_may_say_that_it_failed() -> None:
    with StandIn(faults=["200/5006"]) as standin, pytest.raises(RequestRefused):
        decide(standin)


def test_faults_are_set_while_it_runs(standin: StandIn, web: httpx.Client) -> None:
    reply = web.post("/faults", json={"faults": ["503/html"]})
    assert (reply.status_code, reply.json()) == (200, {"faults": 1})
    with pytest.raises(EndpointFailed):
        decide(standin)
    assert decide(standin).attempts == 1


def test_an_outage_lasts_until_it_is_ended(standin: StandIn, web: httpx.Client) -> None:
    web.post("/faults", json={"faults": ["429/3040"], "repeat": True})
    for _ in range(5):
        with pytest.raises(EndpointBusy):
            decide(standin)
    web.post("/faults", json={"faults": []})
    assert decide(standin).attempts == 1


@pytest.mark.parametrize(
    "body", [b"", b"[]", b'{"faults": ["what"]}', b'{"faults": 7}', b'{"faults": ["999/x"]}']
)
def test_a_fault_that_means_nothing_is_refused(web: httpx.Client, body: bytes) -> None:
    assert web.post("/faults", content=body).status_code == 422
