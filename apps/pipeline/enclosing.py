"""What comes with an item beside its state: the mail as people read it, its attachments, their pictures."""

from __future__ import annotations

from collections.abc import Sequence

from apps.items.models import Attachment, Image, Mail
from apps.pipeline.incoming import CheckedImage, Incoming, IncomingAttachment, IncomingMail

Made = tuple[int, Incoming]


def enclose(made: Sequence[Made]) -> None:
    """Stores it for items that were just made, in their transaction; a picture that is there already is shared."""
    images = {
        attachment.image.sha256: attachment.image
        for _, incoming in made
        for attachment in incoming.attachments
        if attachment.image is not None
    }
    # In one order, whoever stores: two batches with the same pictures wait for each other instead of deadlocking.
    rows = [_to_image(sha256, images[sha256]) for sha256 in sorted(images)]
    Image.objects.bulk_create(rows, ignore_conflicts=True)
    Attachment.objects.bulk_create(
        _to_attachment(item_id, position, attachment)
        for item_id, incoming in made
        for position, attachment in enumerate(incoming.attachments)
    )
    Mail.objects.bulk_create(
        _to_mail(item_id, incoming.mail) for item_id, incoming in made if incoming.mail is not None
    )


def _to_image(sha256: str, image: CheckedImage) -> Image:
    return Image(
        sha256=sha256,
        content_type=image.content_type,
        width=image.width,
        height=image.height,
        size=len(image.data),
        data=image.data,
        thumbnail=image.thumbnail,
    )


def _to_attachment(item_id: int, position: int, attachment: IncomingAttachment) -> Attachment:
    return Attachment(
        item_id=item_id,
        position=position,
        name=attachment.name[:255],
        content_type=attachment.content_type[:120],
        size=attachment.size,
        sha256=attachment.sha256,
        image_id=None if attachment.image is None else attachment.image.sha256,
        page=attachment.page,
        content_id=attachment.content_id[:255],
        is_for_model=attachment.is_for_model,
        note=attachment.note[:300],
    )


def _to_mail(item_id: int, mail: IncomingMail) -> Mail:
    return Mail(
        item_id=item_id,
        headers=[list(pair) for pair in mail.headers],
        parts=[dict(part) for part in mail.parts],
        html=mail.html,
        sha256=mail.sha256,
        size=mail.size,
    )
