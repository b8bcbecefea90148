"""The API's JSON bodies, with its own answers to those that cannot be read."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest

from apps.api.errors import ApiError, too_large
from apps.core import bodies
from apps.pipeline.limits import MAX_API_BODY_BYTES


def read_json(request: HttpRequest) -> Any:
    """The body as JSON. Raises ApiError: 415, 413, 411, or 400 with the position of what cannot be read."""
    if request.content_type != "application/json":
        raise ApiError(415, "unsupported_media_type", "Send JSON, with Content-Type: application/json.")
    charset = (request.content_params or {}).get("charset", "utf-8").lower()
    if charset not in ("utf-8", "utf8", "us-ascii"):
        raise ApiError(415, "unsupported_media_type", "JSON is sent as UTF-8; another charset is not read.")
    if request.headers.get("Content-Encoding", "identity").lower() != "identity":
        raise ApiError(
            415, "unsupported_media_type", "Compressed bodies are not read: leave out Content-Encoding."
        )
    try:
        return parse_json(bodies.read_body(request, limit=MAX_API_BODY_BYTES))
    except bodies.NoLength as error:
        raise ApiError(411, "length_required", str(error)) from None
    except bodies.TooLarge as error:
        raise too_large(f"{error} Send smaller batches.") from None


def parse_json(raw: bytes) -> Any:
    """As `bodies.parse_json` reads it. Raises ApiError: 400."""
    try:
        return bodies.parse_json(raw)
    except bodies.NotJson as error:
        why = str(error)
        end = "" if why.endswith("?") else "."
        raise ApiError(400, error.code, f"{why[0].upper()}{why[1:]}{end}") from None
