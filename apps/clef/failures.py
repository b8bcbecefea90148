"""From a failed reply to a named error: one table of what codes mean, and a reader of error bodies.

The table is Cloudflare's list of Workers AI errors with what was seen live beside it: one HTTP status
may mean "busy" or "no more today", and one code a refusal or a failure, so both are looked at.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any

from .errors import (
    ClefError,
    EndpointBusy,
    EndpointFailed,
    EndpointMisconfigured,
    InvalidReply,
    QuotaExhausted,
    Reason,
    RequestRefused,
    RequestTooLarge,
)
from .types import EndpointKind, State

MAX_MESSAGE = 300
MAX_RETRY_AFTER_S = 60.0
REQUEST_ID_HEADERS = ("cf-ai-req-id", "x-typesafe-request-id", "x-request-id", "x-inference-id", "cf-ray")


@dataclass(frozen=True, slots=True)
class Meaning:
    error: type[ClefError]
    reason: Reason | None = None
    retries: int | None = None


BUSY = Meaning(EndpointBusy)
CONFIG = Meaning(EndpointMisconfigured)
QUOTA = Meaning(QuotaExhausted)
SERVER = Meaning(EndpointFailed)
BUG = Meaning(RequestRefused, "bug")
BAD_INPUT = Meaning(RequestRefused, "bad_input")
TOO_LARGE = Meaning(RequestTooLarge)
IMAGES_UNREAD = Meaning(RequestRefused, "images_unread")
# No code says it: servers refuse a field they do not know, or say it in words.
_READS_NO_IMAGES = re.compile(
    r"\b(reads?|takes?|accepts?|supports?) no images?\b"
    r"|\b(does not|doesn't|do not|cannot|can't) (read|take|accept|support|process) (any )?(images?|multimodal|vision)\b"
    r"|\bimages?( inputs?)? (are|is) not supported\b",
    re.IGNORECASE,
)

WORKERS_AI: dict[tuple[int, int], Meaning] = {
    (400, 3003): BUG,
    (400, 5004): BAD_INPUT,
    (400, 5006): BUG,
    (400, 5007): CONFIG,
    (400, 6003): BUG,
    (400, 7000): CONFIG,
    (400, 7003): CONFIG,
    (401, 10000): CONFIG,
    (403, 3023): CONFIG,
    (403, 3041): CONFIG,
    (403, 5016): CONFIG,
    (403, 5018): CONFIG,
    (403, 5035): CONFIG,
    (404, 3042): CONFIG,
    (405, 5005): CONFIG,
    (405, 5019): CONFIG,
    (408, 3007): BUSY,
    (408, 3008): BUSY,
    (413, 3006): TOO_LARGE,
    (413, 5021): TOO_LARGE,
    (422, 5012): BUG,
    (429, 3040): BUSY,
    (429, 3036): QUOTA,
    (429, 4006): QUOTA,
    (500, 3043): SERVER,
    (529, 5012): Meaning(EndpointFailed, retries=1),  # seen once, on a huge input
}
# For a 200 that says `success: false`. 5012 stands twice above and the later meaning, a failed
# inference, is kept: it leaves the item waiting instead of turning an outage into human work.
WORKERS_AI_BY_CODE = {code: meaning for (_, code), meaning in WORKERS_AI.items()}
# Servers of /v1/systemone agree on statuses, not on codes; Workers AI falls back to these.
BY_STATUS = {
    400: BAD_INPUT,
    401: CONFIG,
    402: QUOTA,
    403: CONFIG,
    404: CONFIG,
    405: CONFIG,
    408: BUSY,
    413: TOO_LARGE,
    422: BUG,
    429: BUSY,
    501: CONFIG,
    503: BUSY,
    529: BUSY,
}


@dataclass(frozen=True, slots=True)
class Complaint:
    """What an error body says: `code` and `message` as the server has them, the message cleaned."""

    code: str | None = None
    message: str = ""
    request_id: str | None = None


def to_error(
    kind: EndpointKind, status: int, headers: Mapping[str, str], document: object, *, state: State
) -> ClefError:
    """The named error for a failed reply. `document` is its body as JSON, None when it is none."""
    complaint = read_complaint(document)
    meaning = _meaning(kind, status, complaint, str(document))
    told = without_echo(complaint.message, state) or "no reason was given"
    error = meaning.error(
        f"HTTP {status}: {told}",
        code=complaint.code,
        http_status=status,
        reason=meaning.reason,
        retry_after_s=retry_after_s(headers),
        request_id=request_id(headers) or complaint.request_id,
    )
    error.worthwhile_retries = meaning.retries
    return error


def _meaning(kind: EndpointKind, status: int, complaint: Complaint, raw: str) -> Meaning:
    code = int(complaint.code) if complaint.code and complaint.code.isdecimal() else None
    if "daily free allocation" in raw.lower():
        return QUOTA  # two codes are in circulation, the words are the same
    if complaint.code == "max_tokens_exceeded":
        return TOO_LARGE
    if (status == 200 or 400 <= status < 500) and _READS_NO_IMAGES.search(complaint.message):
        return IMAGES_UNREAD
    if 400 <= status < 500 and re.search(r"'/model'|\bmodel\b.{0,80}\bnot found\b", complaint.message):
        return CONFIG
    if kind == "workers-ai" and code is not None:
        if status == 200 and code == 5012 and "invalid_request" in raw:
            return BUG
        known = WORKERS_AI_BY_CODE.get(code) if status == 200 else WORKERS_AI.get((status, code))
        if known:
            return known
    if kind == "workers-ai" and status >= 500:
        return SERVER  # the edge or the origin, also where a plain server would mean a full queue
    if kind == "systemone" and status == 200 and code is not None and 400 <= code < 600:
        status = code  # OpenRouter puts the status it means into the body
    if status == 500 and "validation" in complaint.message.lower():
        return BUG
    return BY_STATUS.get(status) or _by_class(status)


def _by_class(status: int) -> Meaning:
    if status >= 500:
        return SERVER
    if status >= 400:
        return BAD_INPUT
    # A redirect is not followed: it would carry the secret and the state somewhere nobody configured.
    return CONFIG if status >= 300 else Meaning(InvalidReply)


def read_complaint(document: object) -> Complaint:
    """Reads the error bodies in use; takes code and message only, never an echoed `input`."""
    match document:
        case {"errors": [{"message": str(text), **rest}, *_]}:
            cleaned, found = clean_message(text)
            return Complaint(_to_code(rest.get("code")), cleaned, found)
        case {"detail": {**detail}}:
            return _complaint(detail.get("error_type"), detail.get("message"))
        case {"detail": [{"msg": str(text), **rest}, *_]}:
            loc = rest.get("loc")
            place = ".".join(str(part) for part in loc) if isinstance(loc, list) else ""
            return _complaint(rest.get("type"), f"{place}: {text}" if place else text)
        case {"error": {**error}}:
            return _complaint(error.get("code") or error.get("type"), error.get("message"))
        case {"error": str(text)} | {"detail": str(text)} | {"message": str(text)}:
            return _complaint(None, text)
    return Complaint()


def _complaint(code: object, text: object) -> Complaint:
    cleaned, found = clean_message(text) if isinstance(text, str) else ("", None)
    return Complaint(_to_code(code), cleaned, found)


def _to_code(code: object) -> str | None:
    return str(code)[:60] if isinstance(code, str | int) and not isinstance(code, bool) else None


def clean_message(text: str) -> tuple[str, str | None]:
    """A readable sentence and the request id that Workers AI appends to it in parentheses."""
    text = re.sub(r"^(AiError:\s*)+", "", text.strip())
    found = None
    if match := re.search(r"\s*\(([0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12})\)\s*$", text):
        text, found = text[: match.start()], match[1]
    if text.startswith("{"):
        text = _read_nested(text)
    # Validators of the pydantic kind print the refused value after this mark.
    text = re.split(r"\[?\b(?:type=\w+, )?input_value=", text)[0]
    text = "".join(char if char.isprintable() else " " for char in text)
    return text.strip()[:MAX_MESSAGE], found


def _read_nested(text: str) -> str:
    try:
        document = json.loads(text)
    except (ValueError, RecursionError):
        return "an error document that cannot be read"
    error = document.get("error")
    if not isinstance(error, dict):
        return "an error document without a message"
    said = str(error.get("message") or error.get("type") or "refused")
    match error.get("details"):
        case {"fieldErrors": dict(fields)}:
            for name, problems in fields.items():
                if isinstance(problems, list) and problems:
                    return f"{said} ({name}: {problems[0]})"
    return said


def without_echo(message: str, state: State, window: int = 12) -> str:
    """The message without any part that also stands in the state, whole or `window` long."""
    texts = [text for text in _texts(state) if len(text.strip()) >= 4]
    for text in texts:
        message = message.replace(text, "…")
    content = "\n".join(texts)
    kept, at = [], 0
    while at < len(message):
        size = window
        if len(message) - at < window or message[at : at + window] not in content:
            kept.append(message[at])
            at += 1
            continue
        while at + size < len(message) and message[at : at + size + 1] in content:
            size += 1
        kept.append("…")
        at += size
    return "".join(kept)


def _texts(state: State) -> Iterator[str]:
    # A stack and not a recursion: how deep a state is nested is up to whoever sent it.
    waiting: list[object] = [state]
    while waiting:
        part = waiting.pop()
        if isinstance(part, str):
            yield part
        elif isinstance(part, dict | list):
            waiting.extend(part.values() if isinstance(part, dict) else part)


def request_id(headers: Mapping[str, str]) -> str | None:
    """The id to quote to the vendor; `cf-ray` is only the edge's, used when no model was reached."""
    for name in REQUEST_ID_HEADERS:
        if value := headers.get(name):
            return value[:200] if value.isprintable() else None
    return None


def retry_after_s(headers: Mapping[str, str]) -> float | None:
    """Seconds the server asks to wait, from 0 to 60; None when it does not say."""
    seconds = None
    if re.fullmatch(r"\d{1,9}(\.\d{1,9})?", milliseconds := headers.get("retry-after-ms", "")):
        seconds = float(milliseconds) / 1000
    elif re.fullmatch(r"\d{1,9}(\.\d{1,9})?", value := headers.get("retry-after", "").strip()):
        seconds = float(value)
    elif (until := _to_instant(value)) is not None:
        # The server's own clock, when it sends it, so that ours need not agree with it.
        now = _to_instant(headers.get("date", "")) or datetime.now(UTC)
        seconds = (until - now).total_seconds()
    return None if seconds is None else min(max(seconds, 0.0), MAX_RETRY_AFTER_S)


def _to_instant(value: str) -> datetime | None:
    try:
        instant = parsedate_to_datetime(value)
    except ValueError:
        return None
    return instant if instant.tzinfo else instant.replace(tzinfo=UTC)


def parse_error_body(content: bytes) -> Any | None:
    """The body of a failed reply as JSON; None for HTML pages, empty and broken bodies."""
    try:
        return json.loads(content)
    except (ValueError, RecursionError):
        return None
