"""Failures on demand: the stand-in replies as a hosted model in trouble would, for tests and rehearsals.

A fault is named `<status>/<code>` for Workers AI's error body (429/3040; 200/5012 says so in a success),
`<status>/html` for the page of some proxy, else by a word. `@SECONDS` after it is the Retry-After of an
error and the time a slow reply takes: `429/3040@7`, `slow@30`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

HTML_PAGE = b"<!doctype html><html><head><title>%d</title></head><body><h1>Error %d</h1></body></html>"
DEFAULT_SLOW_S = 30.0
LONGEST_S = 3600.0

_QUOTA = (
    "AiError: you have used up your daily free allocation of 10,000 neurons, "
    "please upgrade to Cloudflare's Workers Paid plan if you would like to continue usage."
)
_INVALID = {
    "type": "invalid_request",
    "message": "Invalid request",
    "details": {"formErrors": [], "fieldErrors": {"questions": ["Must have at most 64 items"]}},
}
# Those that begin with AiError come from the model's side and carry its request id; the edge's do not.
ERRORS: dict[tuple[int, int], str] = {
    (400, 3003): "AiError: Incomplete request: Request is missing headers or body",
    (400, 5004): "AiError: Invalid data: Invalid data type for base64 input",
    (400, 5006): "AiError: Bad input: Error: '/model' failed test ^\\s*(clef|clef-flash)\\s*$ patttern",
    (400, 5007): "AiError: No such model or task",
    (400, 6003): "AiError: Invalid JSON body",
    (400, 7000): "No route for that URI",
    (400, 7003): "Could not route to that path, perhaps your object identifier is invalid?",
    (401, 10000): "Authentication error",
    (403, 3023): "AiError: Service unavailable for account",
    (403, 3041): "AiError: The account is not allowed to access this model",
    (403, 5016): "AiError: User needs to agree to the model's terms and conditions",
    (403, 5018): "AiError: The account is not allowed to access this private model",
    (403, 5035): "AiError: This model needs the Workers Paid plan",
    (404, 3042): "AiError: Invalid model ID: The model name is invalid",
    (405, 5005): "AiError: The model does not support LoRa inference",
    (405, 5019): "AiError: Request trying to use deprecated SDK version",
    (408, 3007): "AiError: Request timeout",
    (408, 3008): "AiError: Request was aborted",
    (413, 3006): "AiError: Request is too large",
    (
        413,
        5021,
    ): "AiError: The estimated number of input tokens (131250) exceeds the context window of 65,536",
    (422, 5012): f"AiError: AiError: {json.dumps({'error': _INVALID})}",
    (429, 3036): _QUOTA,
    (429, 3040): "Capacity temporarily exceeded, please try again.",
    (429, 4006): _QUOTA,
    (500, 3043): "AiError: Internal server error",
    (529, 5012): "AiError: Clef inference failed",
    (200, 5012): "AiError: Clef inference failed",
    (200, 3040): "Capacity temporarily exceeded, please try again.",
}
PAGES = (200, 500, 502, 503, 504, 520, 521, 522, 523, 524)

_ECHO = {
    "loc": ["body", "questions", "x", "noul", "instructions"],
    "msg": "Field required",
    "type": "missing",
}
# How other servers of /v1/systemone say no.
FOREIGN: dict[str, tuple[int, dict[str, Any], str]] = {
    "validation-echo": (
        422,
        {"detail": [{**_ECHO, "input": {"type": "noul", "text": "what you sent, repeated"}}]},
        "422 whose body repeats what was sent",
    ),
    "too-many-tokens": (
        400,
        {"detail": {"error_type": "max_tokens_exceeded"}},
        "400 max_tokens_exceeded without a message",
    ),
    "no-such-model": (400, {"error": 'model "nope" not found'}, "400 of a server without that model"),
    "overloaded": (
        503,
        {"detail": {"error_type": "overloaded", "message": "The queue is full"}},
        "503 of a server whose queue is full",
    ),
}
TRANSPORT = {
    "drop": "the connection closes without a reply",
    "reset": "the connection is reset without a reply",
    "short": "the body is shorter than its Content-Length",
    "slow": f"nothing comes for {DEFAULT_SLOW_S:.0f} s (slow@5: for 5 s), then an ordinary reply",
    "drip": f"the reply comes byte by byte for {DEFAULT_SLOW_S:.0f} s (drip@5: for 5 s)",
}


@dataclass(frozen=True, slots=True)
class Fault:
    """`seconds` is what stood after the @; None leaves Retry-After out and slowness at its default."""

    name: str
    seconds: float | None = None

    @property
    def slow_s(self) -> float:
        return DEFAULT_SLOW_S if self.seconds is None else self.seconds

    @property
    def headers(self) -> dict[str, str]:
        return {} if self.seconds is None else {"Retry-After": f"{self.seconds:g}"}


def read_fault(name: object) -> Fault | None:
    """The fault, or None for an ordinary answer. Raises ValueError for a name that means nothing."""
    if name is None:
        return None
    if isinstance(name, str) and (match := re.fullmatch(r"([a-z0-9/-]+)(?:@(\d{1,4}(?:\.\d{1,3})?))?", name)):
        seconds = float(match[2]) if match[2] else None
        is_known = match[1] in KNOWN or re.fullmatch(r"[2-5]\d\d/(\d{1,6}|html)", match[1])
        if is_known and (seconds or 0.0) <= LONGEST_S:
            return Fault(match[1], seconds)
    raise ValueError(
        "a fault is null, <status>/<code>, <status>/html or a word of --list-faults, "
        f"each with @SECONDS up to {LONGEST_S:.0f} if wanted"
    )


def message_of(status: int, code: int) -> str:
    return ERRORS.get((status, code), f"AiError: forced failure {status}/{code}")


def _cut(body: bytes) -> bytes:
    return body[: body.index(b'"answers":{') + len(b'"answers":{')]


def _with_answers(change: Callable[[dict[str, Any], str], object]) -> Callable[[bytes], bytes]:
    """A reply whose answers `change` has spoiled; it gets the id of the richest answer to spoil too."""

    def spoil(body: bytes) -> bytes:
        document = json.loads(body)
        answers = document.get("result", document)["answers"]
        change(answers, max(answers, key=lambda id_: len(answers[id_].get("probabilities", ()))))
        return json.dumps(document, separators=(",", ":")).encode()

    return spoil


def _set_p(answer: dict[str, Any], p: float) -> None:
    probabilities = answer.get("probabilities")
    if probabilities is None:
        answer["noul"] = p
    else:
        probabilities[next(iter(probabilities))] = p


def _drop_option(answer: dict[str, Any]) -> None:
    probabilities = answer.get("probabilities", answer)
    probabilities.pop("noul" if probabilities is answer else next(iter(probabilities)))


def _rename_option(answer: dict[str, Any]) -> None:
    probabilities = answer.get("probabilities", answer)
    old = "noul" if probabilities is answer else next(iter(probabilities))
    probabilities["nobody-asked-for-this"] = probabilities.pop(old)


def _swap_type(answer: dict[str, Any]) -> None:
    answer["type"] = "choice" if answer["type"] == "noul" else "noul"


def _drop_answers(body: bytes) -> bytes:
    document = json.loads(body)
    document.get("result", document).pop("answers")
    return json.dumps(document, separators=(",", ":")).encode()


BROKEN: dict[str, tuple[str, Callable[[bytes], bytes]]] = {
    "cut": ("the JSON ends in the middle", _cut),
    "empty": ("the body is empty", lambda _: b""),
    "nan": ("a probability is NaN", _with_answers(lambda all_, id_: _set_p(all_[id_], float("nan")))),
    "out-of-range": ("a probability is 1.5", _with_answers(lambda all_, id_: _set_p(all_[id_], 1.5))),
    "no-answers": ("there are no answers at all", _drop_answers),
    "answer-missing": ("one question has no answer", _with_answers(lambda all_, id_: all_.pop(id_))),
    "answer-extra": (
        "one answer nobody asked for, which does no harm",
        _with_answers(lambda all_, _: all_.update({"nobody-asked": {"type": "noul", "noul": 0.5}})),
    ),
    "wrong-type": ("an answer is of another type", _with_answers(lambda all_, id_: _swap_type(all_[id_]))),
    "unknown-type": (
        "an answer is of a type nobody knows",
        _with_answers(lambda all_, id_: all_[id_].update(type="box")),
    ),
    "option-missing": ("an option has no probability", _with_answers(lambda a, id_: _drop_option(a[id_]))),
    "option-unknown": ("an option is another one", _with_answers(lambda a, id_: _rename_option(a[id_]))),
}

_CODES = {f"{status}/{code}": message[:70] for (status, code), message in ERRORS.items()}
_HTML = {f"{status}/html": "a page of a proxy in place of JSON" for status in PAGES}
_OTHERS = {name: says for name, (_, _, says) in FOREIGN.items()}
_SPOILT = {name: says for name, (says, _) in BROKEN.items()}
KNOWN: dict[str, str] = {**_CODES, **_HTML, **_OTHERS, **_SPOILT, **TRANSPORT}
"""Every fault that has a name of its own, with what happens, for --list-faults."""


def spoil(fault: Fault, body: bytes) -> bytes:
    """An ordinary reply as this fault would have it."""
    return BROKEN[fault.name][1](body) if fault.name in BROKEN else body
