"""What the model is sent of an item: its state and, where workflow and endpoint say so, its pictures, made to fit.

Pictures are loaded one item at a time, in the task's own thread. A batch holds at most what is sent, 128 requests of
256,000 bytes; beside it, while one item is prepared, its four pictures as kept (16 MiB) and one of them decoded.
"""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from io import BytesIO
from typing import Any

import structlog
from PIL import Image as Pixels

from apps.clef.errors import EndpointUnreachable, ItemError, RequestRefused, RequestTooLarge
from apps.clef.types import MAX_REQUEST_BYTES, Image, ModelRequest, Question, State
from apps.clef.wire import to_body
from apps.items.models import Attachment, ItemContent
from apps.items.models import Image as KeptImage
from apps.pipeline.writing import NO_TIME
from apps.workflows.models import Workflow

log = structlog.get_logger()
ENVELOPE_BYTES = 64
"""Around a picture in a request's JSON: quotes, comma and `data:image/jpeg;base64,`."""
SMALLER = ((2048, 85), (1600, 80), (1280, 75), (1024, 70), (768, 65), (512, 60), (384, 50))
"""Longest side in pixels and JPEG quality, tried in this order until a picture fits its share."""


@dataclass(frozen=True, slots=True)
class Prepared:
    """`pictures`, for the record: {"sha256" of the picture as kept, "width", "height", "size" as sent}."""

    request: ModelRequest
    pictures: tuple[dict[str, Any], ...] = ()


def prepare_requests(
    *, workflow: Workflow, item_ids: Sequence[int], questions: tuple[Question, ...], until: float
) -> dict[int, Prepared | Exception]:
    """What to ask about each item, or why nothing can be; `until` (monotonic) is when preparing ends.

    What was not prepared by then waits and does not count as tried. An exception that is no ClefError is a fault
    of ours.
    """
    states = dict(ItemContent.objects.filter(pk__in=item_ids).values_list("pk", "state"))
    wanted = _wanted(states)
    prepared: dict[int, Prepared | Exception] = {}
    for item_id, state in states.items():
        if wanted[item_id] and time.monotonic() > until:
            why = "not asked: the pictures of the batch took its time"
            prepared[item_id] = EndpointUnreachable(why, code=NO_TIME)
            continue
        try:
            prepared[item_id] = _prepare(workflow, state, wanted[item_id], questions)
        except ItemError as error:
            prepared[item_id] = error
        except Exception as error:
            # As with asking: what breaks at one item is tried again with that item, and stops no other.
            log.exception("item_broke_preparing", item=item_id)
            prepared[item_id] = error
    return prepared


def _wanted(item_ids: Mapping[int, State]) -> Mapping[int, list[Attachment]]:
    wanted: dict[int, list[Attachment]] = defaultdict(list)
    pictures = Attachment.objects.filter(item_id__in=item_ids, is_for_model=True)
    kept = pictures.select_related("image").defer("image__data", "image__thumbnail")
    for attachment in kept.order_by("item_id", "position"):
        wanted[attachment.item_id].append(attachment)
    return wanted


def _prepare(
    workflow: Workflow, state: State, wanted: list[Attachment], questions: tuple[Question, ...]
) -> Prepared:
    if not wanted:
        return Prepared(ModelRequest(state, questions))
    if not workflow.reads_images:
        if state == "":
            raise RequestRefused(
                "it has images only, and this workflow gives its model no images", reason="images_unread"
            )
        return Prepared(ModelRequest(state, questions))
    if not workflow.endpoint.reads_images:
        raise RequestRefused(
            f"it has images, and the model {workflow.endpoint.model} does not read them",
            reason="images_unread",
        )
    # Servers refuse an empty state; what the pictures are called is what a person would see as well.
    request = ModelRequest(state or {"attachments": list(map(_told, wanted))}, questions)
    room = MAX_REQUEST_BYTES - len(
        to_body(request, model=workflow.endpoint.model, max_bytes=MAX_REQUEST_BYTES)
    )
    sent = list(_fitted(wanted, room - ENVELOPE_BYTES * (len(wanted) + 1), fits=workflow.fits_images))
    return Prepared(
        replace(request, images=tuple(image for image, _ in sent)), tuple(record for _, record in sent)
    )


def _told(attachment: Attachment) -> str:
    page = f", page {attachment.page}" if attachment.page else ""
    return f"{attachment.name}{page} (image)".strip()


def _fitted(wanted: list[Attachment], room: int, *, fits: bool) -> Iterator[tuple[Image, dict[str, Any]]]:
    """The pictures in their order, as kept or scaled down to share `room` bytes of base64."""
    shares = _shares([_kept(each).size for each in wanted], room * 3 // 4)
    total = sum(_kept(each).size for each in wanted)
    if not fits and any(share < _kept(each).size for each, share in zip(wanted, shares, strict=True)):
        raise RequestTooLarge(
            f"its images have {total:,} bytes, a request has room for {max(0, room * 3 // 4):,}, "
            "and this workflow does not scale images down"
        )
    stored = KeptImage.objects.filter(pk__in={each.image_id for each in wanted}).values_list("pk", "data")
    contents = {pk: bytes(data) for pk, data in stored}
    for attachment, share in zip(wanted, shares, strict=True):
        kept = _kept(attachment)
        image, width, height = Image(kept.content_type, contents[kept.pk]), kept.width, kept.height
        if share < kept.size:
            image, width, height = _scaled(image, share)
        record = {"sha256": kept.pk, "width": width, "height": height, "size": len(image.data)}
        yield image, record


def _kept(attachment: Attachment) -> KeptImage:
    if attachment.image is None:  # a check of the database says so, too
        raise ValueError(f"attachment {attachment.pk} is for the model and no picture")
    return attachment.image


def _shares(sizes: Sequence[int], room: int) -> list[int]:
    """Bytes for each: small ones get what they have, the others the rest in equal parts."""
    shares = [0] * len(sizes)
    for done, at in enumerate(sorted(range(len(sizes)), key=lambda at: sizes[at])):
        shares[at] = min(sizes[at], max(0, room) // (len(sizes) - done))
        room -= shares[at]
    return shares


def _scaled(image: Image, most: int) -> tuple[Image, int, int]:
    with Pixels.open(BytesIO(image.data), formats=["PNG", "JPEG", "WEBP"]) as pixels:
        # A JPEG is decoded no larger than needed.
        pixels.draft(None, (SMALLER[0][0], SMALLER[0][0]))
        smaller = _on_white(pixels)
    for side, quality in SMALLER:
        smaller.thumbnail((side, side), Pixels.Resampling.LANCZOS)
        out = BytesIO()
        smaller.save(out, "JPEG", quality=quality)
        if out.tell() <= most:
            return Image("image/jpeg", out.getvalue()), smaller.width, smaller.height
    raise RequestTooLarge(f"an image does not fit into {most:,} bytes even at {SMALLER[-1][0]} pixels")


def _on_white(pixels: Pixels.Image) -> Pixels.Image:
    if pixels.mode == "RGBA":
        page = Pixels.new("RGB", pixels.size, "white")
        page.paste(pixels, mask=pixels.getchannel("A"))
        return page
    return pixels.convert("L" if pixels.mode == "L" else "RGB")
