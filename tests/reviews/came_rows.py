"""What comes with an item, as rows: a mail, files, pictures."""

from __future__ import annotations

import io
from typing import Any

from PIL import Image as Drawing

from apps.items.models import Attachment, Image, Item, Mail
from apps.pipeline.enclosing import enclose
from apps.pipeline.incoming import CheckedImage, Incoming, IncomingAttachment

HEADERS = [
    ["From", "Ann Example <ann@example.com>"],
    ["To", "us@example.org"],
    ["Subject", "My order"],
    ["Date", "Mon, 30 Nov 2026 09:00:00 +0000"],
]


def give_mail(item: Item, html: str = "", **more: Any) -> Mail:
    values = {"headers": HEADERS, "parts": [{"kind": "body", "text": "Hello"}], "sha256": "0" * 64, "size": 1}
    return Mail.objects.create(item=item, html=html, **(values | more))


def drawn(colour: str = "red", size: tuple[int, int] = (300, 200)) -> CheckedImage:
    return CheckedImage("image/png", *size, _png(colour, size), _png(colour, (60, 40), "WEBP"))


def _png(colour: str, size: tuple[int, int], kind: str = "PNG") -> bytes:
    out = io.BytesIO()
    Drawing.new("RGB", size, colour).save(out, kind)
    return out.getvalue()


def give_pictures(item: Item, *images: CheckedImage, **more: Any) -> list[Attachment]:
    files = [
        IncomingAttachment(f"page-{number}.png", "image/png", len(image.data), image.sha256, image, **more)
        for number, image in enumerate(images, start=1)
    ]
    enclose([(item.pk, Incoming(item.external_id, "", attachments=tuple(files)))])
    return list(Attachment.objects.filter(item=item).order_by("position"))


def stored(image: CheckedImage) -> Image:
    return Image.objects.get(sha256=image.sha256)
