"""From an Endpoint row and the environment to a client that asks it, one kept a worker process."""

from __future__ import annotations

import os
import threading
from pathlib import Path

from apps.clef.client import ClefClient
from apps.clef.errors import EndpointMisconfigured
from apps.clef.types import EndpointSettings
from apps.workflows.models import Endpoint

_clients: dict[EndpointSettings, ClefClient] = {}
_lock = threading.Lock()


def to_settings(endpoint: Endpoint) -> EndpointSettings:
    """Raises EndpointMisconfigured, naming the variable that is not set, never a value."""
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


def _variable(name: str) -> str:
    value, path = os.environ.get(name, ""), os.environ.get(f"{name}_FILE", "")
    if path:
        value = Path(path).read_text(encoding="utf-8")
    if not value.strip():
        raise EndpointMisconfigured(f"the environment variable {name} is not set", code=f"env.{name}")
    return value.strip()
