"""What came in, as people read it: a mail with its parts, pictures, files, and what belongs to the same conversation.

Nothing here tells what a model or a colleague answered, so it is the same for everybody who may open the workflow.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from email.utils import getaddresses
from typing import Any

from django.db.models import Q
from django.db.models.fields.json import KeyTextTransform

from apps.items.models import Attachment, Item, ItemContent, Mail
from apps.reviews.body import FIRST, REST, Body, body_of
from apps.reviews.marking import search_phrases
from apps.routing.words import Phrase

EARLIER, LATER = 14, 5
"""How much of a conversation is listed around an item; with itself twenty lines."""
LONGEST_HEADER = 1_000
MOST_HEADERS = 300
SMALLEST_PICTURE = 48
"""Pixels a side; what is smaller is an icon or a tracker, listed but not shown large."""
_ADDRESS = re.compile(r"[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63}){1,10}")
_IN_BRACKETS = re.compile(r"(<[^<>\s]{1,320}>)")
_TOLD = ("from", "reply-to", "to", "cc", "date", "subject")
_NAMES = {"reply-to": "Reply to", "cc": "Copy to"}


@dataclass(frozen=True, slots=True)
class Header:
    """`warning` says what about it deserves a second look."""

    name: str
    value: str
    warning: str = ""

    @property
    def pieces(self) -> list[str]:
        """Names and addresses apart: beside an Arabic name an address would be torn by its direction."""
        return [piece.strip() for piece in _IN_BRACKETS.split(self.value) if piece.strip()]


@dataclass(frozen=True, slots=True)
class MailPart:
    """`kind`: body, quoted or signature. `is_read`: the text stands in what the model was given.

    `number`: which part of the mail it is, from 0.
    """

    number: int
    kind: str
    is_read: bool
    body: Body


@dataclass(frozen=True, slots=True)
class MailTold:
    headers: tuple[Header, ...]
    all_headers: tuple[Header, ...]
    parts: tuple[MailPart, ...]
    has_html: bool
    size: int


@dataclass(frozen=True, slots=True)
class Marks:
    """What is marked: words of rules, which read what the model reads, and what a person searched for."""

    rules: tuple[Phrase, ...]
    searched: tuple[Phrase, ...]

    @property
    def all(self) -> tuple[Phrase, ...]:
        return (*self.rules, *self.searched)

    def for_part(self, is_read: bool) -> tuple[Phrase, ...]:
        return self.all if is_read else self.searched


@dataclass(frozen=True, slots=True)
class ThreadLine:
    item_id: int
    title: str
    sender: str
    received_at: datetime
    is_this: bool


@dataclass(frozen=True, slots=True)
class Thread:
    """Oldest first. `has_more`: there are others before or after those listed."""

    key: str
    lines: tuple[ThreadLine, ...]
    has_more: bool


@dataclass(frozen=True, slots=True)
class CameIn:
    """`thread` is None for an item that belongs to nothing, or to a conversation of itself alone."""

    item: Item
    state: Any
    body: Body
    repairs: tuple[str, ...]
    mail: MailTold | None
    attachments: tuple[Attachment, ...]
    thread: Thread | None
    searched: str = ""

    @property
    def pictures(self) -> tuple[Attachment, ...]:
        return tuple(
            each
            for each in self.attachments
            if each.image is not None and min(each.image.width, each.image.height) >= SMALLEST_PICTURE
        )

    @property
    def is_picture_alone(self) -> bool:
        return self.state == "" and bool(self.pictures)


def came_in(
    item: Item,
    *,
    top_fields: Sequence[str] = (),
    phrases: Sequence[Phrase] = (),
    searched: str = "",
    most: int = FIRST,
    has_mail: bool = True,
    has_attachments: bool = True,
) -> CameIn:
    """At most three queries, none of which loads a picture or HTML; `item` comes with its content.

    `top_fields` of a JSON object come first; `phrases` of rules and what was searched for are marked; about `most`
    characters are shown at once. Who knows that there is no mail, or no attachment, spares a query each.
    """
    mail = _mail_of(item) if has_mail else None
    state = item.content.state
    marks = Marks(tuple(phrases), search_phrases(searched))
    return CameIn(
        item=item,
        state=state,
        body=Body(()) if mail else body_of(state, top_fields=top_fields, phrases=marks.all, most=most),
        repairs=tuple(item.content.repairs),
        mail=None if mail is None else _to_mail(mail, item.content, marks, most),
        attachments=_attachments(item) if has_attachments else (),
        thread=thread_of(item),
        searched=searched,
    )


def rest_of(
    item: Item,
    *,
    part: int | None,
    start: int,
    top_fields: Sequence[str] = (),
    phrases: Sequence[Phrase] = (),
    searched: str = "",
) -> Body:
    """What follows the first pieces of an item, or of that part of its mail; empty where there is no such part."""
    marks = Marks(tuple(phrases), search_phrases(searched))
    if part is None:
        state = item.content.state
        return body_of(state, top_fields=top_fields, phrases=marks.all, start=start, most=REST)
    parts = Mail.objects.filter(item=item).values_list("parts", flat=True).first() or []
    if part >= len(parts):
        return Body(())
    is_read = _is_read(parts[part], _given(item.content))
    return body_of(parts[part]["text"], phrases=marks.for_part(is_read), start=start, most=REST)


def _mail_of(item: Item) -> Mail | None:
    return Mail.objects.filter(item=item).annotate(has_html=~Q(html="")).defer("html").first()


def _attachments(item: Item) -> tuple[Attachment, ...]:
    found = Attachment.objects.filter(item=item).select_related("image").order_by("position")
    return tuple(found.defer("image__data", "image__thumbnail"))


def _to_mail(mail: Mail, content: ItemContent, marks: Marks, most: int) -> MailTold:
    return MailTold(
        headers=tuple(told_headers(mail.headers)),
        all_headers=tuple(Header(name, _shortened(value)) for name, value in mail.headers[:MOST_HEADERS]),
        parts=tuple(_parts(mail, content, marks, most)),
        has_html=bool(getattr(mail, "has_html")),  # noqa: B009 - an annotation, which the type does not know
        size=mail.size,
    )


def _parts(mail: Mail, content: ItemContent, marks: Marks, most: int) -> Iterator[MailPart]:
    """Those that say something; what comes first takes the room there is."""
    given = _given(content)
    for number, part in enumerate(mail.parts):
        if part["text"].strip():
            is_read = _is_read(part, given)
            body = body_of(part["text"], phrases=marks.for_part(is_read), most=most)
            most = max(0, most - body.size)
            yield MailPart(number, part["kind"], is_read, body)


def _given(content: ItemContent) -> str:
    return " ".join(content.text.split())


def _is_read(part: Mapping[str, str], given: str) -> bool:
    """By what the model was given then, not by what the workflow chooses today."""
    return part["kind"] == "body" or " ".join(part["text"].split()) in given


def told_headers(headers: Sequence[Sequence[str]]) -> list[Header]:
    """The headers that people read, in the order of a letter; a Reply-To only where it leads elsewhere than From."""
    values: dict[str, str] = {}
    for name, value in headers:
        values.setdefault(name.lower(), value)
    elsewhere = _addresses(values.get("reply-to", "")) - _addresses(values.get("from", ""))
    told = []
    for name in _TOLD:
        if not values.get(name) or (name == "reply-to" and not elsewhere):
            continue
        told.append(
            Header(_NAMES.get(name, name.title()), _shortened(values[name]), _odd(name, values[name]))
        )
    return told


def _odd(name: str, value: str) -> str:
    if name == "reply-to":
        return "an answer would go elsewhere than to the sender"
    if name == "from":
        for shown, address in getaddresses([value[:LONGEST_HEADER]]):
            named = _ADDRESS.search(shown)
            if named is not None and named[0].lower() != address.lower():
                return "the name is another address"
    return ""


def _addresses(value: str) -> set[str]:
    return {address.lower() for _, address in getaddresses([value[:LONGEST_HEADER]]) if address}


def _shortened(value: str) -> str:
    return value if len(value) <= LONGEST_HEADER else f"{value[:LONGEST_HEADER]}…"


def count_in_thread(item: Item, *, most: int = 1_000) -> int:
    """Items of the same conversation, itself among them; counting stops at `most`. 0 when it belongs to none."""
    if not item.group_key:
        return 0
    return Item.objects.filter(workflow=item.workflow_id, group_key=item.group_key)[:most].count()


def thread_of(item: Item) -> Thread | None:
    """What belongs to the same conversation in the same workflow: the nearest ones by arrival, in one query."""
    if not item.group_key:
        return None
    group = (
        Item.objects.filter(workflow=item.workflow_id, group_key=item.group_key)
        .order_by()
        .annotate(
            sender=KeyTextTransform("from", "metadata"), sender_name=KeyTextTransform("from_name", "metadata")
        )
        .values_list("pk", "title", "sender_name", "sender", "received_at")
    )
    earlier = group.filter(pk__lte=item.pk).order_by("-pk")[: EARLIER + 2]
    later = group.filter(pk__gt=item.pk).order_by("pk")[: LATER + 1]
    rows = sorted(earlier.union(later, all=True))
    if len(rows) < 2:
        return None
    here = next(index for index, row in enumerate(rows) if row[0] == item.pk)
    listed = rows[max(0, here - EARLIER) : here + LATER + 1]
    lines = [
        ThreadLine(pk, title, name or address or "", at, pk == item.pk)
        for pk, title, name, address, at in listed
    ]
    lines.sort(key=lambda line: (line.received_at, line.item_id))
    return Thread(item.group_key, tuple(lines), len(listed) < len(rows))
