"""A mail, read: `parse_mail` takes what a mail program would open, says what it repaired, and asks nobody."""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass, field
from datetime import UTC, datetime

from apps.core.text import repaired
from apps.pipeline import limits
from apps.sources.images.enclosures import RawFile
from apps.sources.mail.headers import Address, Headers, read_date
from apps.sources.mail.quotes import Piece, split_text
from apps.sources.mail.signs import Signs, read_signs
from apps.sources.mail.sniffing import NotMail, check_is_mail, unwrapped
from apps.sources.mail.texts import Texts, read_texts
from apps.sources.mail.tree import Tree

__all__ = ["NotMail", "ParsedMail", "parse_mail"]
_MAX_HEADERS = 300
_MAX_HEADER_CHARACTERS = 4_000
_MAX_HEADERS_CHARACTERS = 256 * 1024
_MAX_REPAIRS = 20
_REFERENCE = re.compile(r"<([^<>\s]{1,500})>")
_FORWARD = re.compile(r"\s*(?:fwd?|wg|tr|i|rv|enc|doorst|הועבר|إعادة توجيه)\s?:", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class ParsedMail:
    """`message_id` without its brackets, "" when there is none; `references`: the thread from its root on.

    `pieces` joined are the whole text; `sha256` and `size` are of the bytes as they came. `date` is None unless it
    is a sane one; `date_text` is what the header says.
    """

    message_id: str
    subject: str
    sender: Address
    to: str
    reply_to: Address
    date: datetime | None
    date_text: str
    references: tuple[str, ...]
    headers: tuple[tuple[str, str], ...] = field(repr=False)
    pieces: tuple[Piece, ...] = field(repr=False)
    html: str = field(repr=False)
    files: tuple[RawFile, ...] = field(repr=False)
    signs: Signs
    sha256: str
    size: int
    repairs: tuple[str, ...]

    @property
    def external_id(self) -> str:
        """The Message-ID, or a hash where that is missing or too long; texts that name a hash begin "sha256:"."""
        if not self.message_id:
            return f"sha256:{self.sha256}"
        return short_id(self.message_id, limits.MAX_EXTERNAL_ID_CHARACTERS)

    @property
    def group(self) -> str:
        """The thread: its first mail's Message-ID."""
        root = self.references[0] if self.references else self.message_id
        return short_id(root, limits.MAX_GROUP_CHARACTERS) if root else f"sha256:{self.sha256}"


def short_id(text: str, limit: int) -> str:
    return text if len(text) <= limit else f"sha256:{hashlib.sha256(text.encode()).hexdigest()}"


def parse_mail(raw: bytes, *, now: datetime | None = None) -> ParsedMail:
    """Raises NotMail. Takes memory of about four times the mail's size at most, and seconds for the largest.

    `now` bounds the Date header: one more than a day later is none.
    """
    if len(raw) > limits.MAX_MAIL_BYTES:
        raise NotMail(f"has {len(raw):,} bytes; the limit is {limits.MAX_MAIL_BYTES:,}")
    data, repairs = unwrapped(raw)
    check_is_mail(data)
    tree = Tree(data)
    parts = list(tree.parts())
    headers = tree.messages[0]
    texts = read_texts(parts, tree)
    headers.charset = texts.charset
    subject = headers.text("subject")[:1000]
    is_forward = bool(_FORWARD.match(subject))
    text, was_cut = _whole_text(texts)
    if was_cut:
        texts.repairs.append(f"The text was cut to {limits.MAX_MAIL_TEXT_CHARACTERS:,} characters")
    message_id = _message_id(headers)
    listed = _listed(headers)
    found = [*repairs, *tree.repairs, *texts.repairs, *headers.repairs]
    date_text = headers.text("date")[:200]
    return ParsedMail(
        message_id=message_id,
        subject=subject,
        sender=_sender(headers),
        to=", ".join(map(str, headers.addresses("to")[:50]))[:2000],
        reply_to=next(iter(headers.addresses("reply-to")), Address("", "")),
        date=read_date(date_text, now or datetime.now(UTC)),
        date_text=date_text,
        references=_references(headers),
        headers=listed,
        pieces=split_text(text, is_forward=is_forward),
        html=texts.html,
        files=tuple(texts.files),
        signs=read_signs(headers, parts),
        sha256=hashlib.sha256(raw).hexdigest(),
        size=len(raw),
        # They name what the mail says, as it says it.
        repairs=tuple(repaired(sentence)[0] for sentence in dict.fromkeys(found))[:_MAX_REPAIRS],
    )


def _whole_text(texts: Texts) -> tuple[str, bool]:
    text = "\n\n".join(each for each in (texts.body.strip("\n"), texts.attached) if each.strip())
    limit = limits.MAX_MAIL_TEXT_CHARACTERS
    return text[:limit], len(text) > limit


def _sender(headers: Headers) -> Address:
    found = headers.addresses("from") or headers.addresses("sender")
    return found[0] if found else Address("", "")


def _message_id(headers: Headers) -> str:
    value = headers.text("message-id")
    found = _REFERENCE.search(value)
    return found[1] if found else value.strip().strip("<>").replace(" ", "")[:500]


def _references(headers: Headers) -> tuple[str, ...]:
    named = _REFERENCE.findall(headers.decoded(headers.raw("references")[:8000]))
    return tuple(named[:100] or _REFERENCE.findall(headers.decoded(headers.raw("in-reply-to")[:2000]))[:1])


def _listed(headers: Headers) -> tuple[tuple[str, str], ...]:
    listed: list[tuple[str, str]] = []
    room = _MAX_HEADERS_CHARACTERS
    for name, value in headers.fields[:_MAX_HEADERS]:
        text = headers.decoded(value)[:_MAX_HEADER_CHARACTERS]
        room -= len(text)
        if room < 0:
            headers.repairs.append("Not all headers were kept: there are too many")
            break
        listed.append((name, text))
    return tuple(listed)
