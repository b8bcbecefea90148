"""The environment: every variable the product reads, with its type, default and a line of help.

A bad value stops the start with a sentence naming the variable. `X_FILE` names a file that holds the value
of `X` (for secrets mounted by an orchestrator); setting both is refused, so that nobody wonders which won.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from django.core.exceptions import ImproperlyConfigured


@dataclass(frozen=True, slots=True)
class Variable:
    name: str
    default: str
    help: str
    secret: bool = False


VARIABLES = (
    Variable(
        "DATABASE_URL",
        "",
        "PostgreSQL 17+ as postgresql://user:password@host:port/name; unset: the embedded server in var/",
        secret=True,
    ),
    Variable(
        "REDIS_URL",
        "",
        "Redis or Valkey as redis://host:port/0; unset: the embedded server in var/",
        secret=True,
    ),
    Variable(
        "SECRET_KEY",
        "",
        "at least 32 random characters; unset with the embedded servers: made once and kept in var/",
        secret=True,
    ),
    Variable("ALLOWED_HOSTS", "", "comma-separated host names this site answers to; unset: none"),
    Variable(
        "CSRF_TRUSTED_ORIGINS",
        "",
        "comma-separated origins (https://review.example.org), needed when a proxy ends TLS",
    ),
    Variable(
        "PLAIN_HTTP",
        "false",
        "true: cookies without Secure, no redirect to HTTPS; for loopback and private networks only",
    ),
    Variable("TRUST_PROXY_HEADERS", "false", "true: believe the X-Forwarded-Proto of the proxy in front"),
    Variable("DEBUG", "false", "true: Django's debug pages; never where others can reach it"),
    Variable("LOG_LEVEL", "INFO", "DEBUG, INFO, WARNING or ERROR"),
    Variable("PORT", "8000", "port of the web server"),
    Variable("BIND", "127.0.0.1", "address the web server listens on"),
    Variable("WEB_PROCESSES", "3", "web processes, 1 to 64; best is one more than there are cores"),
    Variable("WEB_THREADS", "8", "threads of each web process, 1 to 64; each keeps one database connection"),
    Variable(
        "METRICS_TOKEN",
        "",
        "reads /metrics from elsewhere as Authorization: Bearer; unset: from this very machine only",
        secret=True,
    ),
    Variable("FERMATA_VAR", "", "folder of the embedded servers; unset: var/ beside manage.py"),
    Variable("CLOUDFLARE_ACCOUNT_ID", "", "account that runs Clef on Workers AI"),
    Variable(
        "CLOUDFLARE_API_TOKEN",
        "",
        "token with the Workers AI permission (CLOUDFLARE_API_KEY is read too)",
        secret=True,
    ),
    Variable(
        "CLOUDFLARE_API_BASE",
        "",
        "another address than Cloudflare's own …/client/v4: a gateway, a proxy or a test server",
    ),
    Variable("EMAIL_HOST", "", "mail server that alarms and policy changes are mailed by; unset: no mail"),
    Variable("EMAIL_PORT", "587", "port of the mail server"),
    Variable("EMAIL_SECURITY", "STARTTLS", "STARTTLS, TLS (usually port 465) or NONE"),
    Variable("EMAIL_USER", "", "who signs in to the mail server; unset: nobody does"),
    Variable("EMAIL_PASSWORD", "", "with it", secret=True),
    Variable("EMAIL_FROM", "fermata@localhost", "sender of the mails"),
    Variable(
        "ALLOW_PRIVATE_WEBHOOKS",
        "false",
        "true: outgoing webhooks may go to private networks and to http://",
    ),
)
_BY_NAME = {variable.name: variable for variable in VARIABLES}
_ALSO_READ = {"CLOUDFLARE_API_TOKEN": ("CLOUDFLARE_API_KEY",)}


class Environment:
    """Typed reads of the variables above from `source` (the process's environment by default)."""

    def __init__(self, source: Mapping[str, str] | None = None) -> None:
        self._source = os.environ if source is None else source

    def text(self, name: str) -> str:
        """The value, from `NAME`, the file named by `NAME_FILE`, an older name, or the default."""
        variable = _BY_NAME[name]
        for candidate in (name, *_ALSO_READ.get(name, ())):
            plain, path = self._source.get(candidate, ""), self._source.get(f"{candidate}_FILE", "")
            if plain and path:
                raise ImproperlyConfigured(f"{candidate} and {candidate}_FILE are both set: keep one.")
            if path:
                return _read(candidate, path)
            if plain:
                return plain.strip()
        return variable.default

    def flag(self, name: str) -> bool:
        value = self.text(name).lower()
        if value not in {"true", "1", "yes", "false", "0", "no", ""}:
            raise ImproperlyConfigured(f"{name} must be true or false, not {value!r}.")
        return value in {"true", "1", "yes"}

    def number(self, name: str, low: int, high: int) -> int:
        value = self.text(name)
        if not value.isascii() or not value.isdigit() or not low <= int(value) <= high:
            raise ImproperlyConfigured(f"{name} must be a whole number from {low} to {high}, not {value!r}.")
        return int(value)

    def words(self, name: str) -> list[str]:
        return [word.strip() for word in self.text(name).split(",") if word.strip()]

    def choice(self, name: str, allowed: tuple[str, ...]) -> str:
        value = self.text(name).upper()
        if value not in allowed:
            raise ImproperlyConfigured(f"{name} must be one of {', '.join(allowed)}, not {value!r}.")
        return value


def _read(name: str, path: str) -> str:
    try:
        return Path(path).read_text(encoding="utf-8").strip()
    except OSError as error:
        raise ImproperlyConfigured(
            f"{name}_FILE names {path}, which cannot be read: {error.strerror}."
        ) from error


def configuration_table() -> str:
    """The variables as README.md shows them; `python -m apps.config.env` prints it."""
    rows = (
        f"| `{each.name}` | {f'`{each.default}`' if each.default else ''} | {each.help} |"
        for each in VARIABLES
    )
    return "\n".join(("| variable | default | |", "| --- | --- | --- |", *rows))


if __name__ == "__main__":
    print(configuration_table())  # noqa: T201 - what this is for
