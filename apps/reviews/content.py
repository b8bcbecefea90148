"""What came in, as people read it: a mail with its parts, pictures, files, and what belongs to the same conversation.

Nothing here tells what a model or a colleague answered, so it is the same for everybody who may open the workflow.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from email.utils import getaddresses
from typing import Any

from django.db.models import Q
from django.db.models.fields.json import KeyTextTransform

from apps.items.models import Attachment, Item, ItemContent, Mail

EARLIER, LATER = 14, 5
"""How much of a conversation is listed around an item; with itself twenty lines."""
LONGEST_BLOCK = 4_000
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
    """`kind`: body, quoted or signature. `is_read`: the text stands in what the model was given."""

    kind: str
    text: str
    is_read: bool

    @property
    def blocks(self) -> list[str]:
        return in_blocks(self.text)


@dataclass(frozen=True, slots=True)
class MailTold:
    headers: tuple[Header, ...]
    all_headers: tuple[Header, ...]
    parts: tuple[MailPart, ...]
    has_html: bool
    size: int


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
    repairs: tuple[str, ...]
    mail: MailTold | None
    attachments: tuple[Attachment, ...]
    thread: Thread | None

    @property
    def pictures(self) -> tuple[Attachment, ...]:
        return tuple(
            each
            for each in self.attachments
            if each.image is not None and min(each.image.width, each.image.height) >= SMALLEST_PICTURE
        )

    @property
    def blocks(self) -> list[str]:
        """The state, where it is one text."""
        return in_blocks(self.state) if isinstance(self.state, str) else []

    @property
    def is_picture_alone(self) -> bool:
        return self.state == "" and bool(self.pictures)


def came_in(item: Item) -> CameIn:
    """At most three queries, none of which loads a picture or HTML; `item` comes with its content."""
    mail = Mail.objects.filter(item=item).annotate(has_html=~Q(html="")).defer("html").first()
    return CameIn(
        item=item,
        state=item.content.state,
        repairs=tuple(item.content.repairs),
        mail=None if mail is None else _to_mail(mail, item.content),
        attachments=_attachments(item),
        thread=thread_of(item),
    )


def _attachments(item: Item) -> tuple[Attachment, ...]:
    found = Attachment.objects.filter(item=item).select_related("image").order_by("position")
    return tuple(found.defer("image__data", "image__thumbnail"))


def _to_mail(mail: Mail, content: ItemContent) -> MailTold:
    given = " ".join(content.text.split())
    return MailTold(
        headers=tuple(told_headers(mail.headers)),
        all_headers=tuple(Header(name, _shortened(value)) for name, value in mail.headers[:MOST_HEADERS]),
        parts=tuple(
            MailPart(part["kind"], part["text"], part["kind"] == "body" or _is_in(part["text"], given))
            for part in mail.parts
            if part["text"].strip()
        ),
        has_html=bool(getattr(mail, "has_html")),  # noqa: B009 - an annotation, which the type does not know
        size=mail.size,
    )


def _is_in(text: str, given: str) -> bool:
    """By what the model was given then, not by what the workflow chooses today."""
    return " ".join(text.split()) in given


def in_blocks(text: str) -> list[str]:
    """The lines of a text in blocks that a browser can leave unpainted until they are scrolled to."""
    blocks, size = list[list[str]](), LONGEST_BLOCK
    for line in text.split("\n"):
        if size >= LONGEST_BLOCK:
            blocks.append([])
            size = 0
        blocks[-1].append(line)
        size += len(line) + 1
    return ["\n".join(block) for block in blocks]


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
