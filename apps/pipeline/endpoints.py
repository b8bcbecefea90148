"""From an Endpoint row and the environment to a client that asks it, one kept a worker process."""

from __future__ import annotations

import os
import threading
from collections.abc import Mapping
from decimal import Decimal
from pathlib import Path

from apps.clef.client import ClefClient
from apps.clef.errors import EndpointMisconfigured
from apps.clef.types import EndpointSettings
from apps.core.secrets import is_set
from apps.workflows.models import Endpoint

CLOUDFLARE_ACCOUNT = "CLOUDFLARE_ACCOUNT_ID"
CLOUDFLARE_TOKENS = ("CLOUDFLARE_API_TOKEN", "CLOUDFLARE_API_KEY")
CLOUDFLARE_PRICES = {"clef": Decimal("0.24"), "clef-flash": Decimal("0.09"), "clef-omni": Decimal("0.15")}
"""USD per million input tokens, from the models' catalogue pages of October 2026."""

_clients: dict[EndpointSettings, ClefClient] = {}
_lock = threading.Lock()


def to_settings(endpoint: Endpoint) -> EndpointSettings:
    """Raises EndpointMisconfigured, naming the variable that is not set or not readable, never a value."""
    return EndpointSettings(
        kind="workers-ai" if endpoint.kind == Endpoint.Kind.WORKERS_AI else "systemone",
        base_url=endpoint.base_url,
        model=endpoint.model,
        secret=_variable(endpoint.secret_variable) if endpoint.secret_variable else None,
        account_id=_variable(endpoint.account_variable) if endpoint.account_variable else None,
        timeout_s=endpoint.timeout_s,
    )


def client_of(endpoint: Endpoint) -> ClefClient:
    """The client for what the row says now; its connections are kept between batches."""
    settings = to_settings(endpoint)
    with _lock:
        client = _clients.get(settings)
        if client is None:
            client = _clients[settings] = ClefClient(settings, pool_size=endpoint.concurrency)
        return client


def cloudflare_secret(environment: Mapping[str, str]) -> str | None:
    """The name of the variable that holds Cloudflare's token; None unless the account is named as well."""
    if not is_set(CLOUDFLARE_ACCOUNT, environment):
        return None
    return next((name for name in CLOUDFLARE_TOKENS if is_set(name, environment)), None)


def _variable(name: str) -> str:
    value, path = os.environ.get(name, ""), os.environ.get(f"{name}_FILE", "")
    if path:
        try:
            value = Path(path).read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise EndpointMisconfigured(
                f"the file named by {name}_FILE cannot be read", code=f"env.{name}"
            ) from error
    if not value.strip():
        raise EndpointMisconfigured(f"the environment variable {name} is not set", code=f"env.{name}")
    return value.strip()
