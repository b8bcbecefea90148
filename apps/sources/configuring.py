"""Adds a source, or tells one that is there something else."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, get_origin

from django.db import transaction

from apps.core.errors import Conflict, FieldProblem, InvalidInput
from apps.sources.mailbox.settings import ImapSettings
from apps.sources.models import Source
from apps.sources.webhooks.settings import WebhookSettings, WhatsAppSettings
from apps.workflows.models import Workflow
from apps.workflows.parts import Part, read_part

SETTINGS: dict[str, type[Part]] = {
    Source.Kind.IMAP: ImapSettings,
    Source.Kind.WEBHOOK: WebhookSettings,
    Source.Kind.WHATSAPP: WhatsAppSettings,
}
LONGEST_NAME = 80
_KEEPS_PLACE = {"tls", "password_variable", "folders", "poll_seconds"}
"""What changes nothing about which mails a UID of a folder names."""
_FRESH: dict[str, Any] = {
    "claim_token": None,
    "claimed_until": None,
    "next_look_at": None,
    "failures_in_a_row": 0,
    "error": "",
}


@transaction.atomic
def save_source(
    *, workflow: Workflow, kind: str, name: str, given: Mapping[str, Sequence[str]]
) -> tuple[Source, bool]:
    """The source, and whether it is new. `given`: texts by setting, several for a list; others stay as they are.

    A mailbox whose place or `since` changed is read from the start, and what is in already is recognised.
    Raises InvalidInput, and Conflict where a source of that name has another kind.
    """
    source = Source.objects.select_for_update().filter(workflow=workflow, name=name).first()
    if source is not None and source.kind != kind:
        raise Conflict(f"{name} is there already as another kind: {source.get_kind_display()}.")
    before = {} if source is None else source.settings
    written = before | {key: _value(SETTINGS[kind], key, texts) for key, texts in given.items()}
    settings = read_part(SETTINGS[kind], written, whole="settings").model_dump()
    if source is None:
        _check_name(name)
        return Source.objects.create(workflow=workflow, kind=kind, name=name, settings=settings), True
    if settings == before:
        return source, False
    changed = {key for key in settings if settings[key] != before.get(key)}
    fresh = _FRESH if changed <= _KEEPS_PLACE else _FRESH | {"cursor": {}}
    # A worker that is at it loses its claim by this.
    Source.objects.filter(pk=source.pk).update(settings=settings, **fresh)
    source.refresh_from_db()
    return source, False


def _check_name(name: str) -> None:
    if not name.strip() or not name.isprintable() or len(name) > LONGEST_NAME:
        raise InvalidInput(FieldProblem("name", f"must be 1 to {LONGEST_NAME} visible characters"))


def _value(model: type[Part], key: str, texts: Sequence[str]) -> Any:
    """As the setting's type wants it; what does not fit is left for the check to name."""
    field = model.model_fields.get(key)
    kind = None if field is None else field.annotation
    last = texts[-1]
    if kind is int and last.lstrip("-").isdecimal():
        return int(last)
    if kind is bool and last in ("true", "false"):
        return last == "true"
    return list(texts) if get_origin(kind) is list else last
