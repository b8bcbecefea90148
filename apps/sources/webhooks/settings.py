"""The settings of addresses that others post to, checked: secrets are names of environment variables."""

from __future__ import annotations

from typing import Annotated

import httpx
from pydantic import AfterValidator, StringConstraints

from apps.sources.models import Source
from apps.workflows.parts import Part, read_part

LOOPBACK = ("localhost", "127.0.0.1", "::1")


def _reachable_safely(address: str) -> str:
    try:
        url = httpx.URL(address)
    except httpx.InvalidURL:
        raise ValueError("is not an address") from None
    if url.scheme != "https" and not (url.scheme == "http" and url.host in LOOPBACK):
        raise ValueError("must begin with https:// (http:// for this very machine only)")
    if not url.host or url.userinfo or url.query or url.fragment:
        raise ValueError("must be a host and a path, nothing else")
    return address.rstrip("/")


Variable = Annotated[str, StringConstraints(pattern=r"^[A-Z][A-Z0-9_]{0,79}$")]
OptionalVariable = Annotated[str, StringConstraints(pattern=r"^([A-Z][A-Z0-9_]{0,79})?$")]
Address = Annotated[str, StringConstraints(max_length=500), AfterValidator(_reachable_safely)]


class WebhookSettings(Part):
    """`secret_variable` holds `whsec_…`, several separated by spaces while a secret is being replaced.

    `whole_body`: the body itself is the item's state and nothing in it is interpreted.
    """

    secret_variable: Variable
    whole_body: bool = False


class WhatsAppSettings(Part):
    """Without `access_token_variable` pictures are listed, not fetched."""

    app_secret_variable: Variable
    verify_token_variable: Variable
    access_token_variable: OptionalVariable = ""
    graph_base: Address = "https://graph.facebook.com/v23.0"


def webhook_settings(source: Source) -> WebhookSettings:
    """Raises InvalidInput."""
    return read_part(WebhookSettings, source.settings, whole="settings")


def whatsapp_settings(source: Source) -> WhatsAppSettings:
    """Raises InvalidInput."""
    return read_part(WhatsAppSettings, source.settings, whole="settings")
