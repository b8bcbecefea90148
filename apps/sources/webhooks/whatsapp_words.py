"""A WhatsApp message in words, so that a model and a person can read every kind of it."""

from __future__ import annotations

from collections.abc import Callable

from apps.sources.webhooks.loose import Object, list_of, number_of, object_of, text_of


def in_words(message: Object, kind: str) -> str:
    """What was written, or what was sent instead in brackets; never empty."""
    words = _WORDS.get(kind, _other)(object_of(message.get(kind)), message).strip()
    errors = [object_of(each) for each in list_of(message.get("errors"))]
    told = [text_of(each.get("title")) or text_of(each.get("message")) for each in errors]
    return " ".join([words or f"({kind})", *(f"[{each}]" for each in told if each)])


def _text(sent: Object, _: Object) -> str:
    return text_of(sent.get("body"))


def _caption(sent: Object, message: Object) -> str:
    kind = text_of(message.get("type"))
    return text_of(sent.get("caption")) or f"({kind} without words)"


def _document(sent: Object, _: Object) -> str:
    return " ".join(
        filter(None, (text_of(sent.get("caption")), f"(document: {text_of(sent.get('filename'))})"))
    )


def _audio(sent: Object, _: Object) -> str:
    return "(voice message)" if sent.get("voice") is True else "(audio)"


def _button(sent: Object, _: Object) -> str:
    return text_of(sent.get("text")) or text_of(sent.get("payload"))


def _interactive(sent: Object, _: Object) -> str:
    kind = text_of(sent.get("type"))
    picked = object_of(sent.get(kind))
    if kind == "nfm_reply":
        return text_of(picked.get("body")) + " " + text_of(picked.get("response_json"))
    title, more = text_of(picked.get("title")), text_of(picked.get("description"))
    return f"{title}: {more}" if more else title or text_of(picked.get("id"))


def _location(sent: Object, _: Object) -> str:
    named = [text_of(sent.get(each)) for each in ("name", "address", "url")]
    at = f"{number_of(sent.get('latitude'))}, {number_of(sent.get('longitude'))}"
    return f"(location) {', '.join(filter(None, named))} ({at})".replace("  ", " ")


def _contacts(_: Object, message: Object) -> str:
    cards = [object_of(each) for each in list_of(message.get("contacts"))]
    return "(contacts) " + "; ".join(_card(each) for each in cards)


def _card(card: Object) -> str:
    parts = [text_of(object_of(card.get("name")).get("formatted_name"))]
    parts.append(text_of(object_of(card.get("org")).get("company")))
    parts += [text_of(object_of(each).get("phone")) for each in list_of(card.get("phones"))]
    parts += [text_of(object_of(each).get("email")) for each in list_of(card.get("emails"))]
    return ", ".join(filter(None, parts))


def _order(sent: Object, _: Object) -> str:
    lines = [_line(object_of(each)) for each in list_of(sent.get("product_items"))]
    return " ".join(filter(None, (text_of(sent.get("text")), f"(order) {'; '.join(lines)}")))


def _line(item: Object) -> str:
    product, currency = text_of(item.get("product_retailer_id")), text_of(item.get("currency"))
    return f"{text_of(item.get('quantity'))} × {product} at {number_of(item.get('item_price'))} {currency}".strip()


def _unsupported(_: Object, __: Object) -> str:
    return "(a message of a kind that WhatsApp does not hand over)"


def _other(_: Object, message: Object) -> str:
    return f"({text_of(message.get('type')) or 'message without a type'})"


_WORDS: dict[str, Callable[[Object, Object], str]] = {
    "text": _text,
    "image": _caption,
    "video": _caption,
    "document": _document,
    "audio": _audio,
    "button": _button,
    "interactive": _interactive,
    "location": _location,
    "contacts": _contacts,
    "order": _order,
    "unsupported": _unsupported,
    "unknown": _unsupported,
}
