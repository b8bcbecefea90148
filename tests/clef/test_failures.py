from __future__ import annotations

import json
import logging
import pickle
from typing import Any

import httpx
import pytest

from apps.clef.errors import (
    ClefError,
    EndpointBusy,
    EndpointFailed,
    EndpointMisconfigured,
    InvalidReply,
    QuotaExhausted,
    RequestRefused,
    RequestTooLarge,
)
from apps.clef.failures import WORKERS_AI, clean_message, retry_after_s, without_echo
from apps.clef.types import EndpointKind

from .asking import SECRET_TEXT, Asking

UUID = "0b9ee7e0-6f5c-4f0a-9a55-1a2b3c4d5e6f"
NESTED = {
    "error": {
        "type": "invalid_request",
        "message": "Invalid request",
        "details": {"fieldErrors": {"questions": ["Must have at most 64 items"]}},
    }
}
DAILY = "you have used up your daily free allocation of 10,000 neurons"
ECHO = {"loc": ["body", "questions", "x", "noul", "instructions"], "msg": "Field required", "type": "missing"}


def envelope(status: int, code: int, message: str, result: Any = None) -> httpx.Response:
    errors = [{"code": code, "message": message}]
    return httpx.Response(status, json={"result": result, "success": False, "errors": errors, "messages": []})


FAILURES: dict[str, tuple[EndpointKind, httpx.Response, type[ClefError], str | None, str, int]] = {
    # name: kind, reply, error, code, reason, attempts
    "E1": (
        "workers-ai", envelope(401, 10000, "Authentication error"),
        EndpointMisconfigured, "10000", "config", 1,
    ),
    "E2": (
        "workers-ai",
        envelope(400, 5006, rf"AiError: Bad input: Error: '/model' failed test ^\s*(clef)\s*$ ({UUID})", {}),
        EndpointMisconfigured, "5006", "config", 1,
    ),
    "E3": (
        "workers-ai", envelope(422, 5012, f"AiError: AiError: {json.dumps(NESTED)} ({UUID})"),
        RequestRefused, "5012", "bug", 1,
    ),
    "E4": (
        "workers-ai", envelope(400, 7000, "No route for that URI"),
        EndpointMisconfigured, "7000", "config", 1,
    ),
    "E5": (
        "workers-ai", envelope(429, 3040, "Capacity temporarily exceeded, please try again."),
        EndpointBusy, "3040", "busy", 3,
    ),
    "E6": ("workers-ai", envelope(429, 4006, DAILY), QuotaExhausted, "4006", "quota", 1),
    "E6 by the documented code": ("workers-ai", envelope(429, 3036, "x"), QuotaExhausted, "3036", "quota", 1),
    "E6 by its words": ("workers-ai", envelope(429, 9999, DAILY), QuotaExhausted, "9999", "quota", 1),
    "E7": (
        "workers-ai", envelope(413, 5021, "estimated 131,300 tokens exceed 65,536"),
        RequestTooLarge, "5021", "too_large", 1,
    ),
    "E8": ("workers-ai", envelope(529, 5012, "Clef inference failed"), EndpointFailed, "5012", "server", 2),
    "E9": ("workers-ai", envelope(200, 5012, "Clef inference failed"), EndpointFailed, "5012", "server", 2),
    "E9 as a refusal": (
        "workers-ai", envelope(200, 5012, f"AiError: {json.dumps(NESTED)}"), RequestRefused, "5012", "bug", 1,
    ),
    "E9 without a known code": ("workers-ai", envelope(200, 1, "?"), InvalidReply, "1", "invalid_reply", 3),
    "E10 502": (
        "workers-ai", httpx.Response(502, html="<h1>Bad gateway</h1>"), EndpointFailed, None, "server", 3,
    ),
    "E10 520": ("systemone", httpx.Response(520, html="<h1>?</h1>"), EndpointFailed, None, "server", 3),
    "E14": (
        "systemone", httpx.Response(422, json={"detail": [{**ECHO, "input": {"state": SECRET_TEXT}}]}),
        RequestRefused, "missing", "bug", 1,
    ),
    "E15": (
        "systemone", httpx.Response(400, json={"detail": {"error_type": "max_tokens_exceeded"}}),
        RequestTooLarge, "max_tokens_exceeded", "too_large", 1,
    ),
    "E16": (
        "systemone", httpx.Response(400, json={"error": 'model "nope" not found'}),
        EndpointMisconfigured, None, "config", 1,
    ),
    "no credit": ("systemone", httpx.Response(402), QuotaExhausted, None, "quota", 1),
    "queue full": ("systemone", httpx.Response(503), EndpointBusy, None, "busy", 3),
    "overloaded": ("systemone", httpx.Response(529), EndpointBusy, None, "busy", 3),
    "cannot answer": ("systemone", httpx.Response(501), EndpointMisconfigured, None, "config", 1),
    "500 that is a refusal": (
        "systemone", httpx.Response(500, json={"detail": "validation failed"}),
        RequestRefused, None, "bug", 1,
    ),
    "status in the body": (
        "systemone", httpx.Response(200, json={"error": {"code": 429, "message": "slow down"}}),
        EndpointBusy, "429", "busy", 3,
    ),
    "redirect": (
        "systemone", httpx.Response(302, headers={"location": "https://elsewhere.test"}),
        EndpointMisconfigured, None, "config", 1,
    ),
    "unknown 4xx": ("workers-ai", envelope(418, 1, "?"), RequestRefused, "1", "bad_input", 1),
    "unknown 5xx": ("workers-ai", envelope(599, 1, "?"), EndpointFailed, "1", "server", 3),
}  # fmt: skip


def test_it_works() -> None:
    error = Asking(envelope(429, 3040, "Capacity temporarily exceeded")).fail()
    assert (error.retry, error.scope, error.reason, error.code) == (True, "endpoint", "busy", "3040")


@pytest.mark.parametrize("name", FAILURES)
def test_every_recorded_failure_has_its_name(name: str) -> None:
    kind, reply, expected, code, reason, attempts = FAILURES[name]
    error = Asking(reply, kind=kind).fail()
    assert type(error) is expected
    assert (error.code, error.reason, error.attempts) == (code, reason, attempts)
    assert error.http_status == reply.status_code


@pytest.mark.parametrize(("status", "code"), WORKERS_AI)
def test_every_documented_code_is_told_apart(status: int, code: int) -> None:
    error = Asking(envelope(status, code, "as documented")).fail()
    assert type(error) is WORKERS_AI[status, code].error
    assert error.retry == (status in (408, 500, 529) or code == 3040)


@pytest.mark.parametrize("name", FAILURES)
def test_no_failure_repeats_the_state(name: str, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    kind, reply, *_ = FAILURES[name]
    error = Asking(reply, kind=kind).fail()
    for part in ("4711-0815", "Dear sirs"):
        assert part not in f"{error!r} {vars(error)} {caplog.text}"


@pytest.mark.parametrize(
    "message",
    [
        f"cannot read '{SECRET_TEXT}'",
        f"cannot read {SECRET_TEXT[:30]}...",
        f"x input_value={SECRET_TEXT[:6]}",
    ],
)
def test_a_message_that_echoes_the_state_is_cut(message: str) -> None:
    told = Asking(envelope(422, 5012, message)).fail().message
    assert "Dear" not in told
    assert "4711" not in told


def test_an_echo_is_found_in_nested_states() -> None:
    state = {"a": [{"b": "a private sentence"}, "word"]}
    assert without_echo("refused: a private sentence, word!", state) == "refused: …, …!"


@pytest.mark.parametrize(
    ("raw", "cleaned", "found"),
    [
        (f"AiError: AiError: Bad input ({UUID})", "Bad input", UUID),
        (
            f"AiError: {json.dumps(NESTED)} ({UUID})",
            "Invalid request (questions: Must have at most 64 items)",
            UUID,
        ),
        ('AiError: {"error":{"message":"cut sh', "an error document that cannot be read", None),
        ('{"error": "text"}', "an error document without a message", None),
        ("two\nlines\x00", "two lines", None),
        ("x" * 1000, "x" * 300, None),
    ],
)
def test_messages_are_cleaned(raw: str, cleaned: str, found: str | None) -> None:
    assert clean_message(raw) == (cleaned, found)


def test_the_id_in_a_message_is_the_request_id_when_no_header_has_one() -> None:
    assert Asking(envelope(400, 5006, f"AiError: Bad input ({UUID})")).fail().request_id == UUID


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"<html>",
        b"[1]",
        b"{",
        b"[" * 100_000,
        b"\xff",
        b'{"errors":[3]}',
        b'{"errors":[]}',
        b'{"detail":[]}',
        b'{"detail":[{"msg":"m","loc":7}]}',
        b'{"error":{"code":[],"message":1}}',
    ],
)
def test_strange_error_bodies_still_make_a_named_error(body: bytes) -> None:
    error = Asking(httpx.Response(500, content=body)).fail()
    assert type(error) is EndpointFailed


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"retry-after": "7"}, 7.0),
        ({"retry-after": "0"}, 0.0),
        ({"retry-after": "3600"}, 60.0),
        ({"retry-after-ms": "250", "retry-after": "9"}, 0.25),
        ({"retry-after": "Mon, 30 Nov 2026 10:00:09 GMT", "date": "Mon, 30 Nov 2026 10:00:00 GMT"}, 9.0),
        ({"retry-after": "Mon, 30 Nov 2020 10:00:00 GMT"}, 0.0),
        ({"retry-after": "soon"}, None),
        ({"retry-after": "-5"}, None),
        ({}, None),
    ],
)
def test_retry_after_is_seconds_or_a_date(headers: dict[str, str], seconds: float | None) -> None:
    assert retry_after_s(headers) == seconds


def test_an_error_survives_the_way_between_processes() -> None:
    error = Asking(envelope(413, 5021, "too long")).fail()
    copy = pickle.loads(pickle.dumps(error))  # noqa: S301 - our own bytes
    assert vars(copy) == vars(error)
