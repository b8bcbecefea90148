"""Where PostgreSQL, Redis and the secret key are: named by the environment, or the embedded servers of var/."""

from __future__ import annotations

import contextlib
import os
import secrets
from dataclasses import dataclass
from pathlib import Path

from django.core.exceptions import ImproperlyConfigured

from apps.config.env import Environment
from apps.core.embedded import EmbeddedServers, EmbeddedUnavailable, owner_of


@dataclass(frozen=True, slots=True)
class Places:
    database_url: str
    redis_url: str
    secret_key: str
    embedded: bool


def find_places(env: Environment, var: Path) -> Places:
    """What the environment names; with neither address set, the embedded servers, started when needed.

    One address without the other is refused: a half-configured machine must not fall back silently.
    """
    database_url, redis_url = env.text("DATABASE_URL"), env.text("REDIS_URL")
    if bool(database_url) != bool(redis_url):
        missing = "REDIS_URL" if database_url else "DATABASE_URL"
        raise ImproperlyConfigured(
            f"{missing} is not set. Set both addresses, or neither to use the embedded servers."
        )
    if database_url:
        if not env.text("SECRET_KEY"):
            raise ImproperlyConfigured(
                "SECRET_KEY is not set. Set it to at least 32 random characters and keep it."
            )
        return Places(database_url, redis_url, env.text("SECRET_KEY"), embedded=False)
    try:
        addresses = EmbeddedServers(var).start()
    except EmbeddedUnavailable as error:
        raise ImproperlyConfigured(str(error)) from error
    return Places(
        addresses.database_url, addresses.redis_url, env.text("SECRET_KEY") or _kept_key(var), embedded=True
    )


def _kept_key(var: Path) -> str:
    path = var / "secret_key"
    if not path.exists():
        # Linked into place: of two first commands at once one wins, and both then read the same key.
        fresh = var / f"secret_key.{secrets.token_hex(4)}"
        fresh.touch(mode=0o600)
        fresh.write_text(secrets.token_urlsafe(48), encoding="ascii")
        os.chown(fresh, *owner_of(var))  # root in somebody's checkout leaves it usable to them
        with contextlib.suppress(FileExistsError):
            os.link(fresh, path)
        fresh.unlink()
    return path.read_text(encoding="ascii").strip()
