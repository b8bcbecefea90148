"""What comes with a mail, a message or an API call: every file listed, pictures and pages of PDFs checked and kept."""

from __future__ import annotations

import base64
import hashlib
import re
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from apps.core.errors import FieldProblem, InvalidInput
from apps.core.text import repaired
from apps.pipeline import limits
from apps.pipeline.incoming import CheckedImage, IncomingAttachment
from apps.sources.images.checking import UnusableImage, check_image
from apps.sources.images.pdf import is_pdf, pdf_pages

SMALLEST_INLINE_SIDE = 64
"""Pixels. A smaller picture inside a mail's text is a tracker, a rule or an icon, and not for the model."""
LOOK_S = 30.0
"""So long is looked at the files of one item; those after it are listed only."""
# They would let a name read as another: "invoice<RLO>gpj.exe".
_DECEIVING = re.compile("[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")


@dataclass(frozen=True, slots=True)
class RawFile:
    """A file as it came. `is_inline`: part of the text, such as a logo; `content_id` is how HTML names it."""

    name: str
    content_type: str
    data: bytes = field(repr=False)
    content_id: str = ""
    is_inline: bool = False


@dataclass(slots=True)
class _Room:
    """How much of one item may still be looked at."""

    clock: Callable[[], float]
    until: float
    images: int = limits.MAX_KEPT_IMAGES

    def why_none(self) -> str:
        if self.images < 1:
            return f"not kept: an item keeps {limits.MAX_KEPT_IMAGES} pictures"
        return "not looked at: the files before it took too long" if self.clock() > self.until else ""


def to_attachments(
    files: Iterable[RawFile], *, clock: Callable[[], float] = time.monotonic
) -> tuple[IncomingAttachment, ...]:
    """A bad file raises nothing: it is listed, and its `note` says why it is not kept.

    A PDF becomes one attachment a page. The model reads the first pages before the second ones, and files before
    what stands in the text. Takes `LOOK_S` and one file more at most.
    """
    room = _Room(clock, clock() + LOOK_S)
    looked_at = [(raw, each) for raw in files for each in _look(raw, room)]
    wanted: dict[str, tuple[bool, int, int]] = {}
    for position, (raw, each) in enumerate(looked_at):
        if each.image is not None and not (raw.is_inline and _is_small(each.image)):
            rank = (raw.is_inline, each.page or 1, position)
            wanted[each.image.sha256] = min(rank, wanted.get(each.image.sha256, rank))
    order = [position for _, _, position in sorted(wanted.values())]
    chosen, left_out = set(order[: limits.MAX_IMAGES]), set(order[limits.MAX_IMAGES :])
    return tuple(
        replace(
            each,
            is_for_model=position in chosen,
            note=each.note or (_LEFT_OUT if position in left_out else ""),
        )
        for position, (_, each) in enumerate(looked_at)
    )


_LEFT_OUT = f"kept, and not for the model: it reads {limits.MAX_IMAGES} pictures of an item"


def _is_small(image: CheckedImage) -> bool:
    return min(image.width, image.height) < SMALLEST_INLINE_SIDE


def _look(raw: RawFile, room: _Room) -> list[IncomingAttachment]:
    listed = IncomingAttachment(
        name=_shown(raw.name),
        content_type=_shown(raw.content_type).lower() or "application/octet-stream",
        size=len(raw.data),
        sha256=hashlib.sha256(raw.data).hexdigest(),
        content_id=_shown(raw.content_id),
    )
    try:
        if is_pdf(raw.data):
            found = _pages(raw, room, listed)
        elif _may_be_picture(raw):
            found = _picture(raw, room, listed)
        else:
            found = [replace(listed, note="not kept: only pictures and PDFs are")]
    except UnusableImage as error:
        return [replace(listed, note=error.reason)]
    room.images -= sum(each.image is not None for each in found)
    return found


def _may_be_picture(raw: RawFile) -> bool:
    starts = (b"\x89PNG", b"\xff\xd8\xff", b"RIFF")
    return raw.content_type.lower().startswith("image/") or raw.data.startswith(starts)


def _picture(raw: RawFile, room: _Room, listed: IncomingAttachment) -> list[IncomingAttachment]:
    why_not = room.why_none()
    return [replace(listed, note=why_not) if why_not else replace(listed, image=check_image(raw.data))]


def _pages(raw: RawFile, room: _Room, listed: IncomingAttachment) -> list[IncomingAttachment]:
    if why_not := room.why_none():
        return [replace(listed, note=why_not)]
    found = pdf_pages(raw.data)
    pages = [
        replace(listed, image=image, page=number)
        for number, image in enumerate(found.pages[: room.images], start=1)
    ]
    return [replace(pages[0], note=found.note), *pages[1:]]


def _shown(text: str) -> str:
    return _DECEIVING.sub("", repaired(text)[0]).strip()


def to_pictures(images: Sequence[Any], path: str = "images") -> tuple[IncomingAttachment, ...]:
    """The API's pictures: a data URL each, or {"content_type", "base64", "name"?}.

    Raises InvalidInput that names each one that cannot be taken ("images[1]"), and takes all or none.
    """
    if len(images) > limits.MAX_IMAGES:
        raise InvalidInput(
            FieldProblem(path, f"has {len(images):,} images; the limit is {limits.MAX_IMAGES}")
        )
    taken: list[IncomingAttachment] = []
    problems: list[FieldProblem] = []
    for index, image in enumerate(images):
        try:
            taken.append(_taken(image, index))
        except (UnusableImage, ValueError) as error:
            problems.append(FieldProblem(f"{path}[{index}]", str(error)))
    if problems:
        raise InvalidInput(*problems)
    return tuple(taken)


_DATA_URL = re.compile(r"data:([^,;]{0,100})(;[^,;]{1,100}){0,3},")


def _taken(image: Any, index: int) -> IncomingAttachment:
    name = ""
    if isinstance(image, str):
        head = _DATA_URL.match(image[:500])
        if head is None or not head[0].endswith(";base64,"):
            raise UnusableImage("is not a data URL (data:image/png;base64,…)")
        content_type, encoded = head[1], image[head.end() :]
    elif isinstance(image, dict) and isinstance(image.get("base64"), str):
        content_type, encoded, name = image.get("content_type"), image["base64"], image.get("name") or ""
    else:
        raise UnusableImage('must be a data URL or {"content_type", "base64"}')
    if not isinstance(content_type, str) or not isinstance(name, str):
        raise UnusableImage("content_type and name must be texts")
    data = from_base64(encoded, most=limits.MAX_IMAGE_BYTES)
    return IncomingAttachment(
        name=_shown(name) or f"image {index + 1}",
        content_type=_shown(content_type).lower() or "application/octet-stream",
        size=len(data),
        sha256=hashlib.sha256(data).hexdigest(),
        image=check_image(data),
        is_for_model=True,
    )


def from_base64(encoded: str, *, most: int) -> bytes:
    """Raises ValueError with the reason for what is no base64 (line breaks are fine), or more than `most` bytes."""
    compact = "".join(encoded.split()) if any(each in encoded[:200] for each in "\r\n") else encoded
    if len(compact) * 3 // 4 > most + 2:
        raise ValueError(f"has more than {most:,} bytes, which is the limit")
    try:
        return base64.b64decode(compact, validate=True)
    except ValueError as error:
        raise ValueError("is not base64") from error
