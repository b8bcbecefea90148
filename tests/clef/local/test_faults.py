"""Every way in which the stand-in misbehaves, met end to end by our own client over a real connection."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import httpx
import pytest

from apps.clef.client import ClefClient
from apps.clef.errors import ClefError, EndpointBusy, EndpointFailed
from apps.clef.failures import WORKERS_AI
from apps.clef.local.faults import ERRORS, KNOWN, Fault, read_fault
from apps.clef.local.misbehaving import Misbehaviour
from apps.clef.local.server import StandIn
from apps.clef.types import ChoiceQuestion, EndpointSettings, ModelReply, ModelRequest, NoulQuestion

SECRET = "the account number 4711-0815"
QUESTIONS = (NoulQuestion("urgent", "Is it?"), ChoiceQuestion("team", "Who?", {"a": "one", "b": "two"}))
RETRIED, FINAL = True, False
SPOILT = (
    *("cut", "empty", "nan", "out-of-range", "no-answers", "answer-missing"),
    *("wrong-type", "unknown-type", "option-missing", "option-unknown"),
)
# Reason, whether asking again may help, and HTTP status.
MET: dict[str, tuple[str, bool, int | None]] = {
    "400/3003": ("bug", FINAL, 400),
    "400/5004": ("bad_input", FINAL, 400),
    "400/5006": ("config", FINAL, 400),
    "400/5007": ("config", FINAL, 400),
    "400/6003": ("bug", FINAL, 400),
    "400/7000": ("config", FINAL, 400),
    "400/7003": ("config", FINAL, 400),
    "401/10000": ("config", FINAL, 401),
    **{f"403/{code}": ("config", FINAL, 403) for code in (3023, 3041, 5016, 5018, 5035)},
    "404/3042": ("config", FINAL, 404),
    "405/5005": ("config", FINAL, 405),
    "405/5019": ("config", FINAL, 405),
    "408/3007": ("busy", RETRIED, 408),
    "408/3008": ("busy", RETRIED, 408),
    "413/3006": ("too_large", FINAL, 413),
    "413/5021": ("too_large", FINAL, 413),
    "422/5012": ("bug", FINAL, 422),
    "429/3036": ("quota", FINAL, 429),
    "429/3040": ("busy", RETRIED, 429),
    "429/4006": ("quota", FINAL, 429),
    "500/3043": ("server", RETRIED, 500),
    "529/5012": ("server", RETRIED, 529),
    "200/5012": ("server", RETRIED, 200),
    "200/3040": ("busy", RETRIED, 200),
    "200/html": ("invalid_reply", RETRIED, 200),
    **{
        f"{status}/html": ("server", RETRIED, status)
        for status in (500, 502, 503, 504, 520, 521, 522, 523, 524)
    },
    "validation-echo": ("bug", FINAL, 422),
    "too-many-tokens": ("too_large", FINAL, 400),
    "no-such-model": ("config", FINAL, 400),
    "overloaded": ("server", RETRIED, 503),
    **dict.fromkeys(SPOILT, ("invalid_reply", RETRIED, 200)),
    "drop": ("unreachable", RETRIED, None),
    "reset": ("unreachable", RETRIED, None),
    "short": ("unreachable", RETRIED, None),
    "slow": ("unreachable", RETRIED, None),
    "drip": ("unreachable", RETRIED, None),
}
HARMLESS = {"answer-extra"}


def decide(standin: StandIn, kind: Any = "workers-ai", max_attempts: int = 1, **more: Any) -> ModelReply:
    base_url = standin.workers_ai_url if kind == "workers-ai" else standin.url
    settings = EndpointSettings(kind, base_url, "clef", "t", "0af9", max_attempts=max_attempts, **more)
    with ClefClient(settings, sleep=lambda _: None) as client:
        return client.decide(ModelRequest(SECRET, QUESTIONS))


def fail(standin: StandIn, fault: str, kind: Any = "workers-ai", **more: Any) -> ClefError:
    standin.misbehaviour.set([fault])
    with pytest.raises(ClefError) as caught:
        decide(standin, kind, timeout_s=0.3 if fault[:4] in ("slow", "drip") else 5.0, **more)
    return caught.value


def test_it_works() -> None:
    with StandIn(faults=["429/3040", None]) as standin:
        assert decide(standin, max_attempts=3).attempts == 2


def test_every_fault_and_every_documented_code_is_met_here() -> None:
    assert set(KNOWN) == set(MET) | HARMLESS
    assert {f"{status}/{code}" for status, code in WORKERS_AI} <= set(KNOWN)


@pytest.mark.parametrize("fault", MET)
def test_a_fault_is_met_by_its_name(standin: StandIn, fault: str) -> None:
    error = fail(standin, fault)
    assert (error.reason, error.retry, error.http_status) == MET[fault]
    assert SECRET not in str(error)


@pytest.mark.parametrize("fault", [name for name in MET if "/" not in name and name not in ("slow", "drip")])
def test_the_plain_face_misbehaves_too(standin: StandIn, fault: str) -> None:
    reason, retry, status = MET[fault]
    error = fail(standin, fault, "systemone")
    expected = ("busy" if fault == "overloaded" else reason, retry, status)
    assert (error.reason, error.retry, error.http_status) == expected


@pytest.mark.parametrize(
    ("fault", "reason"),
    [
        ("429/3040", "busy"),
        ("429/4006", "quota"),
        ("401/10000", "config"),
        ("502/html", "server"),
        ("503/html", "busy"),
        ("529/5012", "busy"),
    ],
)
def test_the_plain_face_has_the_same_statuses(standin: StandIn, fault: str, reason: str) -> None:
    assert fail(standin, fault, "systemone").reason == reason


def test_an_answer_nobody_asked_for_does_no_harm(standin: StandIn) -> None:
    standin.misbehaviour.set(["answer-extra"])
    reply = decide(standin)
    assert list(reply.answers) == ["urgent", "team"]
    assert reply.warnings


@pytest.mark.parametrize("fault", ["429/3040@7", "503/html@7", "overloaded@7"])
def test_an_error_may_ask_to_wait(standin: StandIn, fault: str) -> None:
    assert fail(standin, fault).retry_after_s == 7
    assert fail(standin, fault.partition("@")[0]).retry_after_s is None


@pytest.mark.parametrize(("fault", "least_s"), [("slow@0.2", 0.2), ("drip@0.4", 0.3)])
def test_a_slow_reply_comes_in_the_end(standin: StandIn, fault: str, least_s: float) -> None:
    standin.misbehaviour.set([fault])
    assert least_s <= decide(standin).latency_s < 5


@pytest.mark.parametrize(("status", "code"), ERRORS)
def test_an_error_is_shaped_as_recorded(standin: StandIn, status: int, code: int) -> None:
    standin.misbehaviour.set([f"{status}/{code}"])
    body = {"model": "clef", "state": "x", "questions": {"q": {"type": "noul", "instructions": "?"}}}
    url = f"{standin.workers_ai_url}/accounts/0af9/ai/run/@cf/cloudflare/clef"
    reply = httpx.post(url, json=body, headers={"authorization": "Bearer t"})
    document, error = reply.json(), reply.json()["errors"][0]
    assert (reply.status_code, document["success"], error["code"]) == (status, False, code)
    is_of_the_model = error["message"].startswith("AiError")
    assert error["message"].endswith(f"({reply.headers.get('cf-ai-req-id')})") is is_of_the_model
    assert "retry-after" not in reply.headers


def test_the_client_reads_the_nested_message_and_the_id(standin: StandIn) -> None:
    error = fail(standin, "422/5012")
    assert error.message == "HTTP 422: Invalid request (questions: Must have at most 64 items)"
    assert error.request_id


def test_faults_are_set_while_it_runs(standin: StandIn, web: httpx.Client) -> None:
    assert web.post("/faults", json={"faults": ["503/html"]}).status_code == 200
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


def test_an_outage_ends_by_itself_when_its_time_is_over() -> None:
    now = [100.0]
    misbehaviour = Misbehaviour(clock=lambda: now[0])
    misbehaviour.set(["drop", None], for_s=60)
    assert [misbehaviour.next() for _ in range(3)] == [Fault("drop"), None, Fault("drop")]
    now[0] = 160.0
    assert misbehaviour.next() is None


@pytest.mark.parametrize(
    "body",
    [
        *(b"", b"[]", b'{"faults": ["what"]}', b'{"faults": 7}', b'{"faults": ["999/x"]}', b"[" * 9999),
        *(b'{"faults": ["slow@-1"]}', b'{"faults": ["slow@9999"]}', b'{"faults": [], "for_seconds": 0}'),
        b'{"faults": ["drop"], "for_seconds": true}',
    ],
)
def test_a_fault_that_means_nothing_is_refused(web: httpx.Client, body: bytes) -> None:
    assert web.post("/faults", content=body).status_code == 422


def test_a_code_nobody_documents_can_be_forced(standin: StandIn) -> None:
    assert read_fault("418/77") == Fault("418/77")
    assert fail(standin, "418/77").code == "77"


def test_the_list_says_what_each_does(web: httpx.Client) -> None:
    assert web.get("/faults").json() == {"known": KNOWN}
    assert all(KNOWN.values())


@pytest.mark.slow
def test_the_program_lists_them_and_refuses_others() -> None:
    program = [sys.executable, "-m", "apps.clef.local.server"]
    listed = subprocess.run([*program, "--list-faults"], capture_output=True, text=True, check=True)
    assert [line.split()[0] for line in listed.stdout.splitlines()] == list(KNOWN)
    refused = subprocess.run([*program, "--port", "0", "--faults", "what"], capture_output=True, text=True)
    assert (refused.returncode, "a fault is" in refused.stderr) == (2, True)
