"""Failures on demand: the stand-in replies as a hosted model in trouble would.

A fault is named `<status>/<code>` for an error body (429/3040, 401/10000, 200/5012), `<status>/html` for
a page of some proxy, or one of the broken replies below.
"""

from __future__ import annotations

import re

BROKEN = {
    "cut": "the JSON ends in the middle",
    "short": "the body is shorter than its Content-Length",
    "nan": "a probability is NaN",
    "drop": "the connection closes without a reply",
}
HTML_PAGE = b"<!doctype html><title>Bad gateway</title><h1>Bad gateway</h1>"
_MESSAGES = {
    "429/3040": "Capacity temporarily exceeded, please try again.",
    "429/3036": "You have used up your daily free allocation of 10,000 neurons.",
    "429/4006": "You have used up your daily free allocation of 10,000 neurons.",
    "401/10000": "Authentication error",
    "400/7000": "No route for that URI",
    "413/5021": "The estimated number of tokens exceeds 65,536",
    "529/5012": "AiError: Clef inference failed",
}


def check_fault(name: object) -> str | None:
    """The fault, or None for an ordinary answer. Raises ValueError for a name that means nothing."""
    if name is None:
        return None
    if isinstance(name, str) and (name in BROKEN or re.fullmatch(r"[2-5]\d\d/(\d{1,6}|html)", name)):
        return name
    raise ValueError("a fault is null, <status>/<code>, <status>/html or one of " + ", ".join(BROKEN))


def message_of(fault: str) -> str:
    return _MESSAGES.get(fault, f"AiError: forced failure {fault}")


def break_reply(fault: str, body: bytes) -> bytes:
    """An ordinary reply spoiled as `fault` says."""
    if fault == "cut":
        return body[: body.index(b'"answers":{') + len(b'"answers":{')]
    if fault == "nan":
        return re.sub(rb"\d\.\d+", b"NaN", body, count=1)
    return body
