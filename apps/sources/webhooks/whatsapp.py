"""WhatsApp's posts as items: what people wrote, picked, sent or shared, each in words that can be read.

Pure. The payloads are those of the Cloud API's `messages` webhook; any part may be missing or of another type.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from apps.core.errors import FieldProblem
from apps.pipeline.incoming import Incoming
from apps.sources.webhooks.loose import Object, list_of, object_of, text_of
from apps.sources.webhooks.whatsapp_words import in_words

MEDIA = ("image", "document", "sticker", "video", "audio")
IGNORED = {"reaction": "reactions", "system": "notices", "request_welcome": "welcomes"}
"""Nothing that somebody would have to answer."""


@dataclass(frozen=True, slots=True)
class Media:
    """Something sent along: `kind` is image, document, sticker, video or audio."""

    id: str
    kind: str
    content_type: str
    name: str

    @property
    def can_be_looked_at(self) -> bool:
        is_drawn = self.content_type.startswith("image/") or self.content_type == "application/pdf"
        return self.kind == "image" or (self.kind == "document" and is_drawn)


@dataclass(frozen=True, slots=True)
class Message:
    incoming: Incoming
    media: Media | None = None


@dataclass(frozen=True, slots=True)
class Post:
    """`ignored` counts what is no message: {"statuses": 3}."""

    messages: list[Message] = field(default_factory=list)
    ignored: Counter[str] = field(default_factory=Counter)
    problems: list[FieldProblem] = field(default_factory=list)


def read_post(body: Any) -> Post:
    """Every message of every change; what is none of ours is counted or named, and never stops the others."""
    post = Post()
    if text_of(object_of(body).get("object")) != "whatsapp_business_account":
        post.problems.append(FieldProblem("object", "is not whatsapp_business_account"))
    for entry_at, entry in enumerate(list_of(object_of(body).get("entry"))):
        for change_at, change in enumerate(list_of(object_of(entry).get("changes"))):
            kind, value = text_of(object_of(change).get("field")), object_of(object_of(change).get("value"))
            if kind != "messages":
                post.ignored[f"{kind[:40] or 'nameless'} changes"] += 1
                continue
            _read_change(post, value, f"entry[{entry_at}].changes[{change_at}].value")
    return post


def _read_change(post: Post, value: Object, path: str) -> None:
    post.ignored["statuses"] += len(list_of(value.get("statuses")))
    post.ignored["errors"] += len(list_of(value.get("errors")))
    names = {
        text_of(object_of(contact).get("wa_id")): text_of(
            object_of(object_of(contact).get("profile")).get("name")
        )
        for contact in list_of(value.get("contacts"))
    }
    for index, message in enumerate(list_of(value.get("messages"))):
        kind = text_of(object_of(message).get("type"))
        if kind in IGNORED:
            post.ignored[IGNORED[kind]] += 1
            continue
        read = _read_message(object_of(message), object_of(value.get("metadata")), names)
        if read.incoming.external_id:
            post.messages.append(read)
        else:
            post.problems.append(FieldProblem(f"{path}.messages[{index}].id", "is missing"))


def _read_message(message: Object, line: Object, names: Mapping[str, str]) -> Message:
    sender, kind = text_of(message.get("from")), text_of(message.get("type")) or "unknown"
    line_id, context = text_of(line.get("phone_number_id")), object_of(message.get("context"))
    metadata = {
        "from": sender,
        "profile_name": names.get(sender, ""),
        "phone_number_id": line_id,
        "display_phone_number": text_of(line.get("display_phone_number")),
        "timestamp": text_of(message.get("timestamp")),
        "wamid": text_of(message.get("id")),
        "type": kind,
        "reply_to": text_of(context.get("id")),
        "forwarded": bool(context.get("forwarded") or context.get("frequently_forwarded")),
    }
    return Message(
        Incoming(
            external_id=text_of(message.get("id")),
            state=_state(message, kind, context),
            metadata={name: value for name, value in metadata.items() if value},
            received_at=_time(text_of(message.get("timestamp"))),
            group=f"whatsapp:{line_id}:{sender}" if sender else "",
        ),
        _media(message, kind),
    )


def _state(message: Object, kind: str, context: Object) -> dict[str, Any]:
    state: dict[str, Any] = {"text": in_words(message, kind), "type": kind}
    product = object_of(context.get("referred_product"))
    if product:
        state["product"] = text_of(product.get("product_retailer_id"))
    referral = object_of(message.get("referral"))
    ad = {name: text_of(referral.get(name)) for name in ("headline", "body", "source_type", "source_url")}
    if any(ad.values()):
        state["came_from"] = {name: value for name, value in ad.items() if value}
    return state


def _media(message: Object, kind: str) -> Media | None:
    sent = object_of(message.get(kind))
    if kind not in MEDIA or not sent:
        return None
    mime = text_of(sent.get("mime_type")).split(";")[0].strip()
    return Media(text_of(sent.get("id")), kind, mime, text_of(sent.get("filename")) or kind)


def _time(text: str) -> datetime | None:
    if not (text.isascii() and text.isdigit() and len(text) <= 10):
        return None
    return datetime.fromtimestamp(int(text), UTC)
