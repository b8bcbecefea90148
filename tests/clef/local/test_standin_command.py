from __future__ import annotations

import io
from collections.abc import Iterator
from typing import Any

import httpx
import pytest
from django.core.management import CommandError, call_command

from apps.clef.local.faults import KNOWN
from apps.clef.local.server import StandIn
from apps.workflows.models import Endpoint

ASK = {"model": "any", "state": "text", "questions": {"q": {"type": "noul", "instructions": "Is it?"}}}


@pytest.fixture
def running() -> Iterator[StandIn]:
    with StandIn() as server:
        yield server


def run(**options: Any) -> str:
    out = io.StringIO()
    call_command("standin", stdout=out, **options)
    return out.getvalue()


def status_of(standin: StandIn) -> int:
    return httpx.post(f"{standin.url}/v1/systemone", json=ASK).status_code


def test_it_works(running: StandIn) -> None:
    said = run(misbehave=["429/3040"], for_s=60.0, url=running.url)
    assert said == f"The stand-in at {running.url} answers every decision with 429/3040 for 60 s.\n"
    assert [status_of(running) for _ in range(3)] == [429, 429, 429]
    assert run(behave=True, url=running.url).endswith("behaves again.\n")
    assert status_of(running) == 200


def test_several_faults_take_turns(running: StandIn) -> None:
    run(misbehave=["429/3040", "502/html"], url=running.url)
    assert [status_of(running) for _ in range(3)] == [429, 502, 429]


@pytest.mark.django_db
@pytest.mark.parametrize("suffix", ["", "/", "/v1"])
def test_the_stand_in_of_the_workflows_is_found(running: StandIn, suffix: str) -> None:
    Endpoint.objects.create(
        name="Stand-in", kind="systemone", base_url=running.url + suffix, model="standin-ngram-1"
    )
    run(misbehave=["drop"])
    with pytest.raises(httpx.RemoteProtocolError):
        status_of(running)


@pytest.mark.django_db
def test_without_a_stand_in_it_says_so() -> None:
    with pytest.raises(CommandError, match="No workflow asks a stand-in"):
        run(misbehave=["drop"])


@pytest.mark.parametrize("for_s", [0.0, -1.0, 1e9, float("nan"), float("inf")])
def test_a_time_that_means_nothing_is_refused(running: StandIn, for_s: float) -> None:
    with pytest.raises(CommandError, match="more than 0"):
        run(misbehave=["drop"], for_s=for_s, url=running.url)


@pytest.mark.parametrize("url", ["http://127.0.0.1:9", "nowhere", "http://["])
def test_where_nothing_answers_it_says_so(url: str) -> None:
    with pytest.raises(CommandError, match=r"No stand-in answers|not an address"):
        run(behave=True, url=url)


def test_an_unknown_fault_is_refused(running: StandIn) -> None:
    with pytest.raises(CommandError, match="refuses that"):
        run(misbehave=["what"], url=running.url)


def test_it_lists_the_faults() -> None:
    assert [line.split()[0] for line in run(list_faults=True).splitlines()] == list(KNOWN)
