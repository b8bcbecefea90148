"""Senders: `webhook` signs as Standard Webhooks do, `meta` as WhatsApp's Cloud API does."""

from __future__ import annotations

import hashlib
import hmac
import json
import time
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse
from standardwebhooks import Webhook

from apps.sources.models import Source
from apps.workflows.models import Workflow

SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
OLD_SECRET = "whsec_b2xkIHNlY3JldCBvZiB0aGUgc2VuZGVy"
APP_SECRET, VERIFY_TOKEN = "app secret of meta", "token of the handshake"


def to_bytes(body: Any) -> bytes:
    return body if isinstance(body, bytes) else json.dumps(body).encode()


def signed(
    body: bytes, *, id: str = "msg_1", secret: str = SECRET, at: float | None = None
) -> dict[str, str]:
    at = time.time() if at is None else at
    signature = Webhook(secret).sign(id, datetime.fromtimestamp(int(at), UTC), body.decode())
    return {"webhook-id": id, "webhook-timestamp": str(int(at)), "webhook-signature": signature}


class Sender:
    """`post(body)` signs it; `raw(body, headers)` sends what it is told."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self.url = reverse("sources:hook", args=[source.public_id])
        self.client: Any = Client()

    def raw(self, body: bytes, headers: Mapping[str, str]) -> Any:
        return self.client.post(self.url, body, content_type="application/json", headers=dict(headers))

    def post(self, body: Any, **more: Any) -> Any:
        return self.raw(to_bytes(body), signed(to_bytes(body), **more))


class Meta(Sender):
    def post(self, body: Any, **more: Any) -> Any:
        raw, secret = to_bytes(body), more.get("secret", APP_SECRET)
        digest = hmac.new(secret.encode(), raw, hashlib.sha256).hexdigest()
        return self.raw(raw, {"X-Hub-Signature-256": f"sha256={digest}"})


def make_webhook(workflow: Workflow, **settings: Any) -> Source:
    values = {"secret_variable": "HOOK_SECRET"} | settings
    return Source.objects.create(workflow=workflow, name="shop", kind="webhook", settings=values)


def make_whatsapp(workflow: Workflow, **settings: Any) -> Source:
    values = {"app_secret_variable": "META_SECRET", "verify_token_variable": "META_VERIFY"} | settings
    return Source.objects.create(workflow=workflow, name="chat", kind="whatsapp", settings=values)


@pytest.fixture(autouse=True)
def _secrets(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOOK_SECRET", SECRET)
    monkeypatch.setenv("META_SECRET", APP_SECRET)
    monkeypatch.setenv("META_VERIFY", VERIFY_TOKEN)


@pytest.fixture
def webhook(workflow: Workflow) -> Sender:
    return Sender(make_webhook(workflow))


@pytest.fixture
def meta(workflow: Workflow) -> Meta:
    return Meta(make_whatsapp(workflow))


def chat(*messages: Mapping[str, Any], **value: Any) -> dict[str, Any]:
    """A post of Meta's with these messages."""
    about = {
        "messaging_product": "whatsapp",
        "metadata": {"display_phone_number": "15550783881", "phone_number_id": "106540352242922"},
        "contacts": [{"profile": {"name": "Sheena Nelson"}, "wa_id": "16505551234"}],
        "messages": list(messages),
    }
    change = {"value": about | value, "field": "messages"}
    return {
        "object": "whatsapp_business_account",
        "entry": [{"id": "102290129340398", "changes": [change]}],
    }


def said(kind: str, content: Any, *, id: str = "wamid.1", **more: Any) -> dict[str, Any]:
    base = {"from": "16505551234", "id": id, "timestamp": "1749416383", "type": kind, kind: content}
    return base | more
