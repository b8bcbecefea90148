"""Whether bytes are a mail at all: what a mail program would show as one is."""

from __future__ import annotations

import re

from apps.pipeline import limits


class NotMail(Exception):
    """Reads on from the file's name: "is no mail: begins as a ZIP archive"."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


_BEGINNINGS: tuple[tuple[bytes, str], ...] = (
    (b"PK\x03\x04", "a ZIP archive"),
    (b"PK\x05\x06", "a ZIP archive"),
    (b"MZ", "a Windows program"),
    (b"\x7fELF", "a Linux program"),
    (b"%PDF", "a PDF"),
    (b"\x89PNG", "a PNG image"),
    (b"\xff\xd8\xff", "a JPEG image"),
    (b"GIF8", "a GIF image"),
    (b"RIFF", "a WebP image or a sound"),
    (b"\x1f\x8b", "a gzip archive"),
    (b"BZh", "a bzip2 archive"),
    (b"7z\xbc\xaf", "a 7-Zip archive"),
    (b"Rar!", "a RAR archive"),
    (b"\xd0\xcf\x11\xe0", "an Outlook message or an old Office file (save it as .eml)"),
    (b"!BDN", "an Outlook mailbox (.pst)"),
    (b"{\\rtf", "an RTF text"),
    (b"<?xml", "an XML file"),
    (b"<!DOCTYPE", "a web page"),
    (b"<html", "a web page"),
)
_FIELD = re.compile(rb"^[!-9;-~]{1,200}[ \t]*:", re.MULTILINE)
_LOOKED_AT = 64 * 1024
_MARKS = (
    (b"\xef\xbb\xbf", "utf-8"),
    (b"\xff\xfe", "utf-16-le"),
    (b"\xfe\xff", "utf-16-be"),
)


def check_is_mail(raw: bytes) -> None:
    """Raises NotMail."""
    if len(raw) > limits.MAX_MAIL_BYTES:
        raise NotMail(f"has {len(raw):,} bytes; the limit is {limits.MAX_MAIL_BYTES:,}")
    start = raw[:_LOOKED_AT]
    if not start.strip():
        raise NotMail("is empty")
    for beginning, what in _BEGINNINGS:
        if start[: len(beginning)].lower() == beginning.lower():
            raise NotMail(f"is no mail: begins as {what}")
    if start.count(0) * 10 > len(start):
        raise NotMail("is no mail: holds binary data")
    if not _FIELD.search(start):
        raise NotMail("is no mail: has no line like “From: …” or “Subject: …”")


def unwrapped(raw: bytes) -> tuple[bytes, list[str]]:
    """What programs put around a mail, taken off: byte order marks, an mbox line, blank lines; with the repairs."""
    repairs = []
    for mark, charset in _MARKS:
        if raw.startswith(mark):
            if charset != "utf-8":
                raw = raw[2:].decode(charset, "replace").encode("utf-8")
                repairs.append(f"The whole file was {charset.upper()}, which mail never is; it was converted")
            else:
                raw = raw[3:]
            break
    if b"\n" not in raw and b"\r" in raw:
        raw = raw.replace(b"\r", b"\n")
        repairs.append("Lines ended by CR alone; they were converted")
    if raw[:1] in b"\r\n":
        raw = raw.lstrip(b"\r\n")
        repairs.append("Empty lines before the first header were passed over")
    if raw.startswith((b"From ", b">From ")):
        raw = raw[raw.find(b"\n") + 1 :] if b"\n" in raw else raw
    return raw, repairs
