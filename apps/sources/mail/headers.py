"""Headers of a mail or of one of its parts, read so that nothing in them can fail, nor take long.

Fields are cut out by hand, with limits: the standard parser keeps a header of any size and then needs quadratic time
for it. What it reads well and quickly, parameters of MIME fields, is left to it.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from email.errors import MessageError
from email.message import EmailMessage, Message
from email.policy import compat32, default
from email.utils import parsedate_to_datetime

from apps.core.text import repaired
from apps.sources.mail.charsets import decode, name_of

MAX_BLOCK_BYTES = 2 * 1024 * 1024
MAX_FIELDS = 500
MAX_FIELD_CHARACTERS = 8 * 1024
_MAX_MIME_CHARACTERS = 2 * 1024
_FIELD = re.compile(rb"([!-9;-~]{1,200})[ \t]*:")
_WORD = re.compile(r"=\?([^?\s]{1,60})\?([qQbB])\?(.{0,800}?)\?=(?=$|[\s\"),;<>=(@]|[^!-~])", re.DOTALL)
_BETWEEN_WORDS = re.compile(r"\?=\s+=\?")
_MAX_ADDRESSES = 200
_WIDEST_ZONE = timedelta(hours=14)
_PARTING = re.compile(r"\\.|[\"<>(),;:]")
_CLOSING = {'"': '"', "<": ">", "(": ")"}
_BRACKETED = re.compile(r"([^<]*)<([^<>]*)>?")
_COMMENT = re.compile(r"\(([^()]*)\)")
_MIME_FIELDS = {
    "content-type",
    "content-disposition",
    "content-transfer-encoding",
    "content-id",
    "mime-version",
}


@dataclass(frozen=True, slots=True)
class Address:
    name: str
    address: str

    def __str__(self) -> str:
        if self.name and self.address:
            return f"{self.name} <{self.address}>"
        return self.name or self.address

    @property
    def domain(self) -> str:
        return self.address.rpartition("@")[2].lower() if "@" in self.address else ""


@dataclass(slots=True)
class Headers:
    """`fields`: (name, value as it came, with bytes that are no ASCII as surrogate escapes), in their order."""

    fields: list[tuple[str, str]] = field(default_factory=list)
    repairs: list[str] = field(default_factory=list)
    charset: str = ""

    def raw(self, name: str) -> str:
        """The first of this name, unfolded; "" when there is none."""
        return next(self.each_raw(name), "")

    def each_raw(self, name: str) -> Iterator[str]:
        return (_unfolded(value) for known, value in self.fields if known.lower() == name)

    def text(self, name: str) -> str:
        return self.decoded(self.raw(name))

    def decoded(self, value: str) -> str:
        """Encoded words and bytes that are no ASCII as text, on one line."""
        text, more = decode_words(value, self.charset)
        self.repairs += [each for each in more if each not in self.repairs]
        return " ".join(text.split())

    def addresses(self, name: str) -> list[Address]:
        """Never fails: what cannot be parsed is an address with that name alone."""
        found = []
        for value in self.each_raw(name):
            found += self._addresses_in(value)
        return found

    def _addresses_in(self, value: str) -> list[Address]:
        # Decoded after parting: a decoded comma would part.
        found = []
        for each in _parted(value)[:_MAX_ADDRESSES]:
            bracketed = _BRACKETED.match(each)
            if bracketed:
                name, address = bracketed[1], bracketed[2]
            elif "@" in each:
                comment = _COMMENT.search(each)
                name = comment[1] if comment else ""
                address = _COMMENT.sub("", each)
            else:
                name, address = each, ""
            name = _unquoted(self.decoded(_unquoted(name)))
            found.append(Address(name[:300], _address(self.decoded(address))))
        return [each for each in found if each.name or each.address]

    @property
    def mime(self) -> Message:
        """Only the MIME fields, for the standard library's reading of their parameters."""
        message = EmailMessage(policy=default)
        self._fill(message)
        try:
            # The parser of parameters raises on some broken ones; reading them once tells.
            message.get_content_type()
            message.get_filename()
            message.get_param("charset")
        except (MessageError, ValueError, IndexError, TypeError, AttributeError, RecursionError, LookupError):
            old: Message = Message(policy=compat32)
            self._fill(old)
            return old
        return message

    def _fill(self, message: Message) -> None:
        for name, value in self.fields:
            if name.lower() in _MIME_FIELDS and name.lower() not in message:
                message.set_raw(name, value[:_MAX_MIME_CHARACTERS])


def _parted(value: str) -> list[str]:
    """By commas and semicolons that stand in no quotes, brackets or comments; the name of a group is taken off."""
    parts, start, closing = [], 0, ""
    for found in _PARTING.finditer(value):
        mark = found[0]
        if closing:
            closing = "" if mark == closing else closing
        elif mark in _CLOSING:
            closing = _CLOSING[mark]
        elif mark in {",", ";"}:
            parts.append(value[start : found.start()])
            start = found.end()
        elif mark == ":" and "@" not in value[start : found.start()]:
            start = found.end()
    return [part.strip() for part in (*parts, value[start:]) if part.strip()]


def _unquoted(text: str) -> str:
    text = text.strip()
    if len(text) > 1 and text[0] == text[-1] and text[0] in "\"'":
        text = text[1:-1]
    return re.sub(r"\\(.)", r"\1", text).strip()


def _address(text: str) -> str:
    return text.strip().strip("<>").replace(" ", "")[:320]


def _unfolded(value: str) -> str:
    return re.sub(r"\r?\n[ \t]?", " ", value).strip()


def read_headers(data: bytes, start: int, end: int) -> tuple[Headers, int]:
    """The headers that begin at `start`, and where the body after them begins."""
    headers = Headers()
    at, stop = start, start + MAX_BLOCK_BYTES
    lines: list[bytes] = []
    name = ""
    seen = 0

    def keep() -> None:
        if name:
            _keep(headers, name, b"".join(lines))

    while at < end:
        line_end = data.find(b"\n", at, end)
        line_end = end if line_end < 0 else line_end + 1
        line = data[at : min(line_end, at + MAX_FIELD_CHARACTERS * 4)]
        if not line.strip(b"\r\n"):
            at = line_end
            break
        if line[:1] in b" \t" and name:
            if sum(map(len, lines)) < MAX_FIELD_CHARACTERS * 4:
                lines.append(line)
        elif found := _FIELD.match(line):
            keep()
            name, lines, seen = found[1].decode("ascii"), [line[found.end() :]], seen + 1
        elif not _is_passed_over(line, seen):
            headers.repairs.append("The empty line between headers and text was missing")
            break
        at = line_end
        if at < end and (at >= stop or seen > MAX_FIELDS):
            headers.repairs.append("Headers beyond the limit were passed over")
            at = _after_headers(data, at, end)
            break
    keep()
    return headers, at


def _is_passed_over(line: bytes, seen: int) -> bool:
    """Lines of mbox files amid headers, a stray continuation at the start, a field without a name."""
    return line.startswith((b"From ", b">From ", b":")) or (not seen and line[:1] in b" \t")


def _keep(headers: Headers, name: str, value: bytes) -> None:
    text = value.decode("ascii", "surrogateescape").strip()
    if len(text) > MAX_FIELD_CHARACTERS:
        headers.repairs.append(
            f"The header {name[:40]} was longer than {MAX_FIELD_CHARACTERS:,} characters; cut"
        )
        text = text[:MAX_FIELD_CHARACTERS]
    headers.fields.append((name, text))


def _after_headers(data: bytes, at: int, end: int) -> int:
    found = re.compile(rb"\n\r?\n").search(data, max(0, at - 1), end)
    return found.end() if found else end


def decode_words(value: str, charset: str = "") -> tuple[str, list[str]]:
    """RFC 2047 as senders write it, and bytes that are no ASCII; `charset` is the mail's own, for the latter."""
    repairs: list[str] = []
    pieces: list[str] = []
    pending: list[tuple[str, bytes]] = []

    def flush() -> None:
        # Letters may be cut in two between neighbouring words: their bytes are joined first.
        if pending:
            found = decode(b"".join(data for _, data in pending), pending[0][0])
            repairs.extend(_of_header(found.repair))
            pieces.append(found.text)
            pending.clear()

    at = 0
    value = _BETWEEN_WORDS.sub("?==?", value)
    for found in _WORD.finditer(value):
        if found.start() > at:
            flush()
            pieces.append(_plain(value[at : found.start()], charset, repairs))
        name, data = found[1].partition("*")[0], _word_bytes(found[2], found[3])
        if pending and pending[0][0].lower() != name.lower():
            flush()
        pending.append((name, data))
        at = found.end()
    flush()
    pieces.append(_plain(value[at:], charset, repairs))
    return repaired("".join(pieces))[0], repairs


def _word_bytes(kind: str, text: str) -> bytes:
    data = text.encode("utf-8", "surrogateescape")
    if kind in "qQ":
        return binascii.a2b_qp(data.replace(b"_", b" "), header=False)
    return from_base64(data)


def from_base64(data: bytes) -> bytes:
    """Characters that do not belong are passed over, a missing end is filled up."""
    try:
        return base64.b64decode(data)
    except binascii.Error:
        letters = re.sub(rb"[^A-Za-z0-9+/]", b"", data)
        if len(letters) % 4 == 1:
            letters = letters[:-1]
        return base64.b64decode(letters + b"=" * (-len(letters) % 4))


def _plain(text: str, charset: str, repairs: list[str]) -> str:
    if text.isascii():
        return text
    found = decode(text.encode("utf-8", "surrogateescape"), otherwise=charset)
    if found.charset != "utf-8":
        repairs.append(f"Headers held letters in no declared charset; {name_of(found.charset)} was guessed")
    return found.text


def _of_header(repair: str) -> list[str]:
    return [f"In a header: {repair[0].lower()}{repair[1:]}"] if repair else []


def read_date(text: str, now: datetime) -> datetime | None:
    """None unless it is a time between 1970 and a day after `now`."""
    try:
        found = parsedate_to_datetime(text)
        found = found if found.tzinfo else found.replace(tzinfo=UTC)
        if abs(found.utcoffset() or timedelta()) > _WIDEST_ZONE:  # no such place, and no database keeps it
            found = found.astimezone(UTC)
        found.astimezone(UTC)
    except (ValueError, TypeError, IndexError, OverflowError):
        return None
    return found if datetime(1970, 1, 1, tzinfo=UTC) <= found <= now + timedelta(days=1) else None
