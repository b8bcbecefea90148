"""WhatsApp's posts to items, with what was sent along fetched from Meta."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from typing import Any

from apps.core.secrets import SecretMissing, secret
from apps.items.models import Item
from apps.pipeline.incoming import IncomingAttachment
from apps.sources.images.enclosures import RawFile, to_attachments
from apps.sources.models import Source
from apps.sources.webhooks.media import MediaClient, NotFetched
from apps.sources.webhooks.reading import Look, Reading
from apps.sources.webhooks.settings import WhatsAppSettings, whatsapp_settings
from apps.sources.webhooks.whatsapp import Media, Message, read_post


def read_chats(body: Any, *, source: Source, is_last_try: bool, look: Look) -> Reading:
    """A message whose picture cannot be fetched now waits; on the last try it is taken without."""
    post = read_post(body)
    ignored = ", ".join(f"{what} ({count:,})" for what, count in sorted(post.ignored.items()) if count)
    reading = Reading(problems=post.problems, ignored=ignored)
    known = _known(source, [each.incoming.external_id for each in post.messages if each.media])
    fetcher = _Fetcher(whatsapp_settings(source), look)
    try:
        for message in post.messages:
            if message.media and message.incoming.external_id in known:
                continue
            _read(reading, message, fetcher, is_last_try)
    finally:
        fetcher.close()
    return reading


def _known(source: Source, message_ids: Collection[str]) -> set[str]:
    """Those that are items already: Meta's own ids say which message it is, and a picture is fetched once."""
    storable = [each for each in message_ids if each.isprintable()]
    items = Item.objects.filter(workflow=source.workflow_id, external_id__in=storable)
    return set(items.values_list("external_id", flat=True))


def _read(reading: Reading, message: Message, fetcher: _Fetcher, is_last_try: bool) -> None:
    incoming, media = message.incoming, message.media
    if media is not None:
        try:
            attachments = fetcher.attachments(media)
        except NotFetched as error:
            why = f"{media.kind} could not be fetched: {error}"
            if not (is_last_try or error.is_final):
                reading.waiting = f"The {why}; tried again."
                return
            attachments = _listed(media, why)
        incoming = replace(incoming, attachments=attachments)
    reading.taken.append((incoming.external_id, incoming))


def _listed(media: Media, note: str) -> tuple[IncomingAttachment, ...]:
    raw = RawFile(media.name, media.content_type, b"")
    return tuple(replace(each, note=note, sha256="") for each in to_attachments([raw]))


class _Fetcher:
    """Fetches what can be looked at, within the time there is; asks for the token when it is first needed."""

    def __init__(self, settings: WhatsAppSettings, look: Look) -> None:
        self._settings, self._look = settings, look
        self._client: MediaClient | None = None

    def close(self) -> None:
        if self._client is not None:
            self._client.close()

    def attachments(self, media: Media) -> tuple[IncomingAttachment, ...]:
        """Raises NotFetched."""
        if not media.can_be_looked_at:
            return _listed(media, "not fetched: only pictures and PDF files are")
        if not self._settings.access_token_variable:
            return _listed(media, "not fetched: this source has no access token")
        if self._look.is_over:
            raise NotFetched("those before it took too long")
        return to_attachments([RawFile(media.name, media.content_type, self._open().fetch(media.id))])

    def _open(self) -> MediaClient:
        if self._client is None:
            try:
                token = secret(self._settings.access_token_variable)
            except SecretMissing as error:
                raise NotFetched(str(error)) from None
            self._client = MediaClient(self._settings.graph_base, token)
        return self._client
