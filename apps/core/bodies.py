"""Bodies from outside: bounded while they are read, and only JSON that means one thing."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any, Protocol

from django.http import HttpRequest

PIECE_BYTES = 64 * 1024


class TooLarge(Exception):
    """The body has more than `limit` bytes."""

    def __init__(self, limit: int) -> None:
        super().__init__(f"The body is over the limit of {limit:,} bytes.")


class NoLength(Exception):
    """A body in pieces, behind a server that does not say where it ends."""

    def __init__(self) -> None:
        super().__init__("This server needs Content-Length.")


class NotJson(Exception):
    """Says what is wrong and where, to stand inside a sentence. `code` is for programs and stays."""

    def __init__(self, code: str, why: str) -> None:
        super().__init__(why)
        self.code = code


class _Stream(Protocol):
    def read(self, size: int, /) -> bytes: ...


def read_body(request: HttpRequest, *, limit: int) -> bytes:
    """At most `limit` bytes and one are ever read. Raises TooLarge, NoLength."""
    # Django reads only what Content-Length announces, so a chunked body is taken from the server itself,
    # which says whether it ends it.
    stream: _Stream = request
    if "chunked" in request.headers.get("Transfer-Encoding", "").lower():
        if not request.META.get("wsgi.input_terminated"):
            raise NoLength
        stream = request.META["wsgi.input"]
    elif _announced(request) > limit:
        raise TooLarge(limit)
    pieces, size = [], 0
    while piece := stream.read(PIECE_BYTES):
        size += len(piece)
        if size > limit:
            raise TooLarge(limit)
        pieces.append(piece)
    return b"".join(pieces)


def parse_json(raw: bytes) -> Any:
    """Stricter than Python: valid UTF-8, no name twice in an object. Raises NotJson.

    NaN and Infinity are for the check of the field.
    """
    try:
        return json.loads(raw.decode("utf-8-sig"), object_pairs_hook=_to_object)
    except UnicodeDecodeError as error:
        raise NotJson("invalid_utf8", f"not UTF-8: byte {error.start} cannot be read") from None
    except json.JSONDecodeError as error:
        where = f"line {error.lineno}, column {error.colno} (character {error.pos})"
        raise NotJson("invalid_json", f"not JSON: {error.msg} at {where}") from None
    except RecursionError:
        raise NotJson("invalid_json", "nested too deep to be read") from None
    except ValueError:
        # Python refuses to read integers of thousands of digits, which take it quadratic time.
        raise NotJson("invalid_json", "holds a number with too many digits") from None


def _to_object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) < len(pairs):
        twice, _ = Counter(name for name, _ in pairs).most_common(1)[0]
        raise NotJson(
            "duplicate_key", f"the name {twice[:200]!r} stands twice in one object: which one counts?"
        )
    return made


def _announced(request: HttpRequest) -> int:
    length = str(request.META.get("CONTENT_LENGTH") or "")
    # What is no number is no length, as for Django, which then reads nothing.
    return int(length) if length.isdecimal() and len(length) < 20 else 0
