"""Bodies from outside: bounded before they are read, and only JSON that means one thing."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any, Protocol

from django.http import HttpRequest

from apps.api.errors import ApiError, too_large
from apps.pipeline.limits import MAX_API_BODY_BYTES

PIECE_BYTES = 64 * 1024


class _Stream(Protocol):
    def read(self, size: int, /) -> bytes: ...


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
    return parse_json(_read(request))


def parse_json(raw: bytes) -> Any:
    """Stricter than Python: valid UTF-8, no name twice in an object. NaN and Infinity are for the field's check."""
    try:
        return json.loads(raw.decode("utf-8-sig"), object_pairs_hook=_to_object)
    except UnicodeDecodeError as error:
        raise ApiError(400, "invalid_utf8", f"Not UTF-8: byte {error.start} cannot be read.") from None
    except json.JSONDecodeError as error:
        where = f"line {error.lineno}, column {error.colno} (character {error.pos})"
        raise ApiError(400, "invalid_json", f"Not JSON: {error.msg} at {where}.") from None
    except RecursionError:
        raise ApiError(400, "invalid_json", "Nested too deep to be read.") from None
    except ValueError:
        # Python refuses to read integers of thousands of digits, which take it quadratic time.
        raise ApiError(400, "invalid_json", "Holds a number with too many digits.") from None


def _to_object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) < len(pairs):
        twice, _ = Counter(name for name, _ in pairs).most_common(1)[0]
        raise ApiError(
            400, "duplicate_key", f"The name {twice[:200]!r} stands twice in one object: which one counts?"
        )
    return made


def _read(request: HttpRequest) -> bytes:
    # Django reads only what Content-Length announces, so a chunked body is taken from the server itself,
    # which says whether it ends it; either way never more than the limit and a byte.
    stream: _Stream = request
    if "chunked" in request.headers.get("Transfer-Encoding", "").lower():
        if not request.META.get("wsgi.input_terminated"):
            raise ApiError(411, "length_required", "This server needs Content-Length.")
        stream = request.META["wsgi.input"]
    elif _announced(request) > MAX_API_BODY_BYTES:
        raise _body_too_large()
    pieces, size = [], 0
    while piece := stream.read(PIECE_BYTES):
        size += len(piece)
        if size > MAX_API_BODY_BYTES:
            raise _body_too_large()
        pieces.append(piece)
    return b"".join(pieces)


def _announced(request: HttpRequest) -> int:
    length = str(request.META.get("CONTENT_LENGTH") or "")
    # What is no number is no length, as for Django, which then reads nothing.
    return int(length) if length.isdecimal() and len(length) < 20 else 0


def _body_too_large() -> ApiError:
    return too_large(f"The body is over the limit of {MAX_API_BODY_BYTES:,} bytes. Send smaller batches.")
