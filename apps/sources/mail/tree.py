"""The parts of a mail, found by hand with limits on how many and how deep.

The standard parser recurses once a level (1,000 nested parts end it), keeps every line as an object (12 MB of short
lines take 500 MB), and compares each line with every open boundary. Here a part is a pair of positions.
"""

from __future__ import annotations

import binascii
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from email.message import Message

from apps.core.text import repaired
from apps.pipeline import limits
from apps.sources.mail.headers import Headers, from_base64, read_headers

_GUESSED_BOUNDARY = re.compile(rb"(?:\A|\n)--([^\s][^\r\n]{0,200})\r?\nContent-", re.IGNORECASE)
_MAX_BOUNDARY = 250
_OTHER_ENCODINGS = {
    "quoted printable": "quoted-printable",
    "quotedprintable": "quoted-printable",
    "qp": "quoted-printable",
    "base-64": "base64",
    "7-bit": "7bit",
    "8-bit": "8bit",
    "7bits": "7bit",
    "8bits": "8bit",
}


@dataclass(frozen=True, slots=True)
class Part:
    """A part that holds no others. `within`: the types of those around it, outermost first; `message` counts the
    attached mails it stands in, `alternative` the multipart/alternative it belongs to (0: none)."""

    headers: Headers
    mime: Message
    content_type: str
    data: bytes = field(repr=False)
    within: tuple[str, ...] = ()
    message: int = 0
    alternative: int = 0

    @property
    def charset(self) -> str:
        found = self.mime.get_param("charset", "")
        return found[2] if isinstance(found, tuple) else str(found or "")

    @property
    def disposition(self) -> str:
        return str(self.mime.get_content_disposition() or "")


@dataclass(slots=True)
class Tree:
    """One reading; `repairs` and `messages` (headers of attached mails, the mail itself first) grow with it."""

    data: bytes
    repairs: list[str] = field(default_factory=list)
    messages: list[Headers] = field(default_factory=list)
    _count: int = 0
    _alternatives: int = 0

    def parts(self) -> Iterator[Part]:
        headers, body = read_headers(self.data, 0, len(self.data))
        self.messages.append(headers)
        yield from self._parts(headers, body, len(self.data), (), 0, 0)

    def _parts(
        self, headers: Headers, start: int, end: int, within: tuple[str, ...], message: int, alternative: int
    ) -> Iterator[Part]:
        if self._count >= limits.MAX_MAIL_PARTS:
            self._repair(f"Only the first {limits.MAX_MAIL_PARTS} parts were read")
            return
        mime = headers.mime
        content_type = repaired(mime.get_content_type())[0]
        if within[-1:] == ("multipart/digest",) and "content-type" not in mime:
            content_type = "message/rfc822"
        opens = content_type.startswith("multipart/") or content_type in {"message/rfc822", "message/global"}
        if opens and len(within) >= limits.MAX_MAIL_DEPTH:
            self._repair(f"Parts nested deeper than {limits.MAX_MAIL_DEPTH} levels were not opened")
            opens, content_type = False, "application/octet-stream"
        if opens and content_type.startswith("multipart/"):
            pieces = self._pieces(mime, start, end)
            if pieces is not None:
                if content_type == "multipart/alternative":
                    self._alternatives += 1
                    alternative = self._alternatives
                for piece_start, piece_end in pieces:
                    inner, body = read_headers(self.data, piece_start, piece_end)
                    yield from self._parts(
                        inner, body, piece_end, (*within, content_type), message, alternative
                    )
                return
            content_type = "text/plain"
        elif opens and not _is_encoded(mime):
            inner, body = read_headers(self.data, start, end)
            self.messages.append(inner)
            number = len(self.messages) - 1
            yield from self._parts(inner, body, end, (*within, content_type), number, 0)
            return
        self._count += 1
        self._take_over(headers)
        yield Part(headers, mime, content_type, self._content(mime, start, end), within, message, alternative)

    def _pieces(self, mime: Message, start: int, end: int) -> list[tuple[int, int]] | None:
        """Where the parts stand; None when there are none to be found."""
        if not self.data[start : start + 4096].strip() and not self.data[start:end].strip():
            return []
        boundary = _boundary(mime)
        pieces = self._between(boundary, start, end) if boundary else None
        if pieces is not None:
            return pieces
        guessed = _GUESSED_BOUNDARY.search(self.data, start, end)
        what = "was not found in it" if boundary else "was missing"
        if guessed is None:
            self._repair(f"The boundary of a multipart {what}; it was read as text")
            return None
        self._repair(f"The boundary of a multipart {what}; it was guessed")
        return self._between(guessed[1].rstrip(), start, end)

    def _between(self, boundary: bytes, start: int, end: int) -> list[tuple[int, int]] | None:
        pieces = []
        opened: int | None = None
        for line_start, line_end, closes in _delimiters(self.data, boundary, start, end):
            if opened is not None:
                pieces.append((opened, max(opened, line_start)))
            opened = None if closes else line_end
            if closes or len(pieces) > limits.MAX_MAIL_PARTS:
                return pieces
        if opened is None:
            return None
        self._repair("The end of a multipart was missing; the mail may be cut off")
        return [*pieces, (opened, end)]

    def _content(self, mime: Message, start: int, end: int) -> bytes:
        data = self.data[start:end]
        encoding = _transfer_encoding(mime)
        if encoding == "base64":
            return from_base64(data)
        if encoding == "quoted-printable":
            return binascii.a2b_qp(data)
        if encoding in {"x-uuencode", "uuencode", "uue", "x-uue"}:
            return _from_uuencode(data)
        if encoding not in {"", "7bit", "8bit", "binary"}:
            self._repair(f"The transfer encoding {encoding[:40]} is unknown; the part was read as it stands")
        return data

    def _take_over(self, headers: Headers) -> None:
        for each in headers.repairs:
            self._repair(each)

    def _repair(self, sentence: str) -> None:
        if sentence not in self.repairs:
            self.repairs.append(sentence)


def _boundary(mime: Message) -> bytes:
    found = mime.get_param("boundary", "")
    text = str(found[2] if isinstance(found, tuple) else found or "").rstrip()
    return text.encode("utf-8", "surrogateescape")[:_MAX_BOUNDARY]


def _delimiters(data: bytes, boundary: bytes, start: int, end: int) -> Iterator[tuple[int, int, bool]]:
    """(end of the text before, start of the text after, whether it is the last) of each delimiter line."""
    line = re.compile(rb"--" + re.escape(boundary) + rb"(--)?[ \t]*(?:\r?\n|\r?\Z)")
    first = line.match(data, start, end)
    if first:
        yield start, first.end(), bool(first[1])
    later = re.compile(rb"\n" + line.pattern)
    at = first.end() - 1 if first else start
    while found := later.search(data, at, end):
        before = found.start()
        before -= before > start and data[before - 1 : before] == b"\r"
        yield before, found.end(), bool(found[1])
        # The line end just read may begin the next delimiter.
        at = max(found.end() - 1, found.start() + 1)


def _transfer_encoding(mime: Message) -> str:
    value = str(mime.get("content-transfer-encoding", "")).partition(";")[0].strip().lower()
    return _OTHER_ENCODINGS.get(value, value)


def _is_encoded(mime: Message) -> bool:
    return _transfer_encoding(mime) in {"base64", "quoted-printable"}


def _from_uuencode(data: bytes) -> bytes:
    begin = re.search(rb"^begin [0-7]{3,4} [^\n]*\n", data, re.MULTILINE)
    if begin is None:
        return data
    decoded = bytearray()
    for found in re.compile(rb"([^\r\n]*)\r?\n?").finditer(data, begin.end()):
        if not found[0] or found[1].strip() in {b"end", b"`"}:
            break
        try:
            decoded += binascii.a2b_uu(found[1])
        except binascii.Error:
            break
    return bytes(decoded)
