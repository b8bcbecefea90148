"""Whether a post is from who it says: over the very bytes that came, before anything in them is read."""

from __future__ import annotations

import hashlib
import hmac
import re
from collections.abc import Mapping
from datetime import UTC, datetime

from standardwebhooks.webhooks import EmptyWebhookSecretError, Webhook

from apps.core.secrets import SecretMissing

TOLERANCE_S = 300
"""A post signed longer ago, or further ahead, is a replay or a wrong clock."""
_MESSAGE_ID = re.compile(r"[!-~]{1,300}")
_TIMESTAMP = re.compile(r"[0-9]{1,11}")


class NotSigned(Exception):
    """`header` is the one that is missing or wrong; never says how far a wrong signature was from a right one."""

    def __init__(self, header: str, why: str) -> None:
        super().__init__(f"{header} {why}")
        self.header = header
        self.why = why


def check_webhook(body: bytes, headers: Mapping[str, str], *, secrets: str, now: datetime) -> str:
    """The message's id, by Standard Webhooks: `webhook-signature` over `id.timestamp.body` with one of `secrets`.

    Raises NotSigned; SecretMissing when what the variable holds is no secret.
    """
    message_id, signed_at, given = (
        _header(headers, name) for name in ("webhook-id", "webhook-timestamp", "webhook-signature")
    )
    if not _MESSAGE_ID.fullmatch(message_id):
        raise NotSigned("webhook-id", "must be 1 to 300 visible ASCII characters")
    if not _TIMESTAMP.fullmatch(signed_at):
        raise NotSigned("webhook-timestamp", "must be seconds since 1970, in digits")
    if abs(now.timestamp() - int(signed_at)) > TOLERANCE_S:
        raise NotSigned(
            "webhook-timestamp", f"is more than {TOLERANCE_S // 60} minutes from the time it is here"
        )
    right = _signatures(body, message_id, datetime.fromtimestamp(int(signed_at), UTC), secrets)
    # All are compared, each in constant time: how long it took says nothing.
    fits = [
        hmac.compare_digest(mine, theirs.encode("utf-8", "replace"))
        for mine in right
        for theirs in given.split(" ")
    ]
    if not any(fits):
        raise NotSigned("webhook-signature", "does not fit this body")
    return message_id


def check_whatsapp(body: bytes, headers: Mapping[str, str], *, secret: str) -> None:
    """By Meta's webhooks: HMAC-SHA256 of the raw body with the app's secret. Raises NotSigned."""
    given = _header(headers, "x-hub-signature-256")
    right = "sha256=" + hmac.new(secret.encode(), body, hashlib.sha256).hexdigest()
    if not hmac.compare_digest(right.encode(), given.encode("utf-8", "replace")):
        raise NotSigned("x-hub-signature-256", "does not fit this body")


def is_same(given: str, secret: str) -> bool:
    """Compared in constant time."""
    return hmac.compare_digest(given.encode("utf-8", "replace"), secret.encode())


def _header(headers: Mapping[str, str], name: str) -> str:
    value = headers.get(name, "").strip()
    if not value:
        raise NotSigned(name, "is missing")
    return value


def _signatures(body: bytes, message_id: str, signed_at: datetime, secrets: str) -> list[bytes]:
    try:
        text = body.decode()
    except UnicodeDecodeError as error:
        raise NotSigned(
            "webhook-signature", f"cannot be of this body: byte {error.start} is not UTF-8"
        ) from None
    try:
        return [Webhook(each).sign(message_id, signed_at, text).encode() for each in secrets.split()]
    except (ValueError, EmptyWebhookSecretError):
        raise SecretMissing(
            "the variable named by secret_variable holds no secret of the form whsec_…"
        ) from None
