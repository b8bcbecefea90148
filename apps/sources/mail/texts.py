"""From the parts of a mail: the text people read, its HTML, and its files."""

from __future__ import annotations

import mimetypes
import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from apps.pipeline import limits
from apps.sources.images.enclosures import RawFile
from apps.sources.mail import calendars, html_text
from apps.sources.mail.charsets import codec_of, decode
from apps.sources.mail.headers import Headers
from apps.sources.mail.tree import Part, Tree

_MAX_TEXT_BYTES = limits.MAX_MAIL_TEXT_CHARACTERS
_READ_TYPES = {"text/plain", "text/html", "text/calendar", "text/enriched", "message/delivery-status"}
_STUB = re.compile(r"\bhtml\b|\bbrowser\b|web ?client|view (?:this|the) (?:e-?mail|message)", re.IGNORECASE)
_STUB_CHARACTERS = 400
_SHOWN_OF_ATTACHED = ("from", "to", "date", "subject")


@dataclass(slots=True)
class Texts:
    """`body` is the mail's own text, `attached` that of mails within it, each with its headers in front."""

    body: str = ""
    attached: str = ""
    html: str = ""
    files: list[RawFile] = field(default_factory=list)
    repairs: list[str] = field(default_factory=list)
    charset: str = ""


@dataclass(slots=True)
class _Section:
    """One thing to read: a text, an HTML page, or both as alternatives of each other."""

    message: int
    alternative: int
    plain: str = ""
    html: str = ""
    calendar: list[str] = field(default_factory=list)

    @property
    def text(self) -> str:
        text = self.plain
        if self.html:
            is_stub = len(text) < _STUB_CHARACTERS and _STUB.search(text)
            if not text.strip() or is_stub:
                text = html_text.to_text(self.html) or text
        event = "\n".join(self.calendar)
        return "\n\n".join(each for each in (text.rstrip(), event) if each.strip())


def read_texts(parts: Sequence[Part], tree: Tree) -> Texts:
    texts = Texts()
    sections: list[_Section] = []
    for part in parts:
        if _is_file(part, sections):
            texts.files.append(_to_file(part, texts))
            continue
        section = _section_for(part, sections)
        _read(part, section, texts)
        if part.content_type == "text/calendar":
            texts.files.append(_to_file(part, texts))
    own = [section for section in sections if section.message == 0]
    texts.html = "\n".join(section.html for section in own if section.html)[: limits.MAX_MAIL_TEXT_CHARACTERS]
    if any(
        len(section.html) > html_text.MAX_HTML_CHARACTERS and not section.plain.strip() for section in own
    ):
        texts.repairs.append(
            f"The text was made from the first {html_text.MAX_HTML_CHARACTERS:,} characters of the HTML"
        )
    texts.body = "\n\n".join(filter(None, (section.text for section in own)))
    texts.attached = _attached(sections, tree.messages)
    for headers in tree.messages:
        texts.repairs += headers.repairs
    return texts


def _is_file(part: Part, sections: Sequence[_Section]) -> bool:
    if not part.within:
        return not part.content_type.startswith("text/")
    if part.content_type.startswith("text/") and part.content_type not in _READ_TYPES | {
        "text/x-patch",
        "text/x-diff",
    }:
        return (
            part.disposition == "attachment"
            or bool(part.mime.get_filename())
            or part.content_type != "text/rfc822-headers"
        )
    if part.content_type.startswith("text/") or part.content_type in _READ_TYPES:
        if part.content_type == "text/calendar":
            return part.disposition == "attachment" and any(section.calendar for section in sections)
        return part.disposition == "attachment" or (bool(part.mime.get_filename()) and bool(sections))
    return True


def _section_for(part: Part, sections: list[_Section]) -> _Section:
    last = sections[-1] if sections else None
    if last is not None and last.message == part.message and part.alternative:
        same = next((each for each in reversed(sections) if each.alternative == part.alternative), None)
        if same is not None and same.message == part.message:
            return same
    sections.append(_Section(part.message, part.alternative))
    return sections[-1]


def _read(part: Part, section: _Section, texts: Texts) -> None:
    data = part.data
    if len(data) > _MAX_TEXT_BYTES:
        texts.repairs.append(f"A text of {len(data):,} bytes was cut to the first {_MAX_TEXT_BYTES:,}")
        data = data[:_MAX_TEXT_BYTES]
    declared = part.charset or (_declared_in(data) if part.content_type == "text/html" else "")
    found = decode(data, declared, otherwise=texts.charset)
    if found.repair and found.repair not in texts.repairs:
        texts.repairs.append(found.repair)
    # For headers that declare nothing: what the text says of itself, even where it is wrong about itself.
    texts.charset = texts.charset or (
        declared if codec_of(declared) not in {None, "ascii"} else found.charset
    )
    text = found.text.replace("\r\n", "\n").replace("\r", "\n")
    if part.content_type == "text/html":
        section.html = f"{section.html}\n{text}" if section.html else text
    elif part.content_type == "text/calendar":
        section.calendar = section.calendar or calendars.to_lines(text)
    else:
        if part.content_type == "text/enriched":
            text = re.sub(r"<[^<>]{0,200}>", "", text.replace("<<", "<"))
        elif str(part.mime.get_param("format", "")).lower() == "flowed":
            text = _unflowed(text, is_delsp=str(part.mime.get_param("delsp", "")).lower() == "yes")
        section.plain = f"{section.plain}\n\n{text}" if section.plain else text


def _declared_in(data: bytes) -> str:
    found = re.search(rb"<meta[^<>]{0,200}charset\s*=\s*[\"']?([\w.:-]{1,40})", data[:8192], re.IGNORECASE)
    return found[1].decode("ascii", "replace") if found else ""


def _unflowed(text: str, *, is_delsp: bool) -> str:
    """RFC 3676: a line that ends with a blank goes on in the next one of the same quote depth."""
    lines: list[str] = []
    goes_on = -1
    for line in text.split("\n"):
        bare = line.lstrip(">")
        depth = len(line) - len(bare)
        content = bare.removeprefix(" ")
        if goes_on == depth and content.rstrip("\r") != "-- ":
            lines[-1] = f"{lines[-1][:-1] if is_delsp else lines[-1]}{content}"
        else:
            lines.append(f"{'>' * depth} {content}" if depth else content)
        goes_on = depth if content.endswith(" ") and content != "-- " else -1
    return "\n".join(lines)


def _to_file(part: Part, texts: Texts) -> RawFile:
    headers = Headers(charset=texts.charset)
    name = headers.decoded(str(part.mime.get_filename("") or ""))[:255]
    content_type = part.content_type[:120]
    if content_type == "application/octet-stream" and name:
        content_type = mimetypes.guess_type(name)[0] or content_type
    content_id = headers.decoded(part.headers.raw("content-id")).strip().strip("<>")[:255]
    is_inline = part.disposition == "inline" or (bool(content_id) and "multipart/related" in part.within)
    return RawFile(name, content_type, part.data, content_id, is_inline and part.disposition != "attachment")


def _attached(sections: Sequence[_Section], messages: Sequence[Headers]) -> str:
    """What stands in mails within the mail: a bounce's original, a mail forwarded as a file."""
    blocks = []
    for number, headers in enumerate(messages[1:], start=1):
        shown = [f"{name.title()}: {headers.text(name)}" for name in _SHOWN_OF_ATTACHED if headers.raw(name)]
        texts = [section.text for section in sections if section.message == number]
        block = "\n\n".join(filter(None, ["\n".join(shown), *texts]))
        if block:
            blocks.append(f"> {block}".replace("\n", "\n> "))
    return "\n\n".join(blocks)
