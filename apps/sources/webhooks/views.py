"""The address others post to: checks who it is, keeps what came, answers at once."""

from __future__ import annotations

import hashlib
import uuid

from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.utils import timezone

from apps.core.bodies import read_body
from apps.core.secrets import secret
from apps.pipeline.limits import MAX_API_BODY_BYTES
from apps.sources.models import Source
from apps.sources.webhooks.receiving import receive
from apps.sources.webhooks.refusals import Refusal, public
from apps.sources.webhooks.settings import webhook_settings, whatsapp_settings
from apps.sources.webhooks.signatures import check_webhook, check_whatsapp, is_same

LONGEST_CHALLENGE = 200


@public
def hook(request: HttpRequest, public_id: uuid.UUID) -> HttpResponse:
    source = Source.objects.filter(public_id=public_id).exclude(kind=Source.Kind.IMAP).first()
    if source is None:
        raise Http404
    is_whatsapp = source.kind == Source.Kind.WHATSAPP
    if request.method == "GET" and is_whatsapp:
        return _shake_hands(request, source)
    if request.method != "POST":
        allowed = "GET, POST" if is_whatsapp else "POST"
        message = f"{request.method} is not answered here; allowed: {allowed}."
        raise Refusal(405, "method_not_allowed", message, headers={"Allow": allowed})
    body = read_body(request, limit=MAX_API_BODY_BYTES)
    message_id = (_check_whatsapp if is_whatsapp else _check_webhook)(request, source, body)
    received = receive(source=source, message_id=message_id, body=body, now=timezone.now())
    return JsonResponse({"delivery": received.delivery_id, "replay": received.is_replay})


def _check_webhook(request: HttpRequest, source: Source, body: bytes) -> str:
    secrets = secret(webhook_settings(source).secret_variable)
    return check_webhook(body, request.headers, secrets=secrets, now=timezone.now())


def _check_whatsapp(request: HttpRequest, source: Source, body: bytes) -> str:
    """Meta numbers no posts: what is the same to the byte is the same post."""
    check_whatsapp(body, request.headers, secret=secret(whatsapp_settings(source).app_secret_variable))
    return hashlib.sha256(body).hexdigest()


def _shake_hands(request: HttpRequest, source: Source) -> HttpResponse:
    """As Meta asks once, when the address is entered there: the challenge comes back to who knows the token."""
    token = secret(whatsapp_settings(source).verify_token_variable)
    challenge = request.GET.get("hub.challenge", "")
    is_theirs = is_same(request.GET.get("hub.verify_token", ""), token)
    if request.GET.get("hub.mode") != "subscribe" or not is_theirs:
        raise Refusal(403, "forbidden", "hub.mode or hub.verify_token is not the one expected.")
    if not challenge or len(challenge) > LONGEST_CHALLENGE:
        raise Refusal(400, "invalid", f"hub.challenge must be 1 to {LONGEST_CHALLENGE} characters.")
    return HttpResponse(challenge, content_type="text/plain; charset=utf-8")
