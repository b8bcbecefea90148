"""What a post is answered with when it is not taken, in the API's form, and the door that sees to it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import wraps
from typing import Any

import structlog
from django.db import InterfaceError, OperationalError
from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.http.request import UnreadablePostError

from apps.core.bodies import NoLength, TooLarge
from apps.core.errors import InvalidInput, NotNow
from apps.sources.webhooks.signatures import NotSigned

log = structlog.get_logger()
RETRY_S = "30"
View = Callable[..., HttpResponse]


class Refusal(Exception):
    """`code` is for programs and stays; `message` is for people; `fields` are (path, message)."""

    def __init__(
        self,
        status: int,
        code: str,
        message: str,
        *,
        fields: tuple[tuple[str, str], ...] = (),
        headers: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(message)
        self.status = status
        self.code = code
        self.message = message
        self.fields = fields
        self.headers = headers or {}


def public(view: View) -> View:
    """Outside the sign-in wall and CSRF: a signature opens it, and nothing that a browser sends by itself.

    A sender tries again after any answer but 200, so what is broken here loses nothing.
    """

    @wraps(view)
    def inner(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        try:
            return view(request, *args, **kwargs)
        except (Refusal, NotSigned, NoLength, TooLarge, Http404, UnreadablePostError) as error:
            return _to_response(_to_refusal(error))
        except (InvalidInput, NotNow, OperationalError, InterfaceError) as error:
            log.warning("post_not_now", path=request.path, error=f"{type(error).__name__}: {error}")
            message = "Nothing can be taken here at the moment: try again later."
            return _to_response(Refusal(503, "not_now", message, headers={"Retry-After": RETRY_S}))

    inner.login_required = False  # type: ignore[attr-defined]  # read by Django's LoginRequiredMiddleware
    inner.csrf_exempt = True  # type: ignore[attr-defined]  # read by Django's CsrfViewMiddleware
    return inner


def _to_refusal(error: Exception) -> Refusal:
    match error:
        case Refusal():
            return error
        case NotSigned():
            return Refusal(401, "not_signed", f"{error}.", fields=((error.header, error.why),))
        case NoLength():
            return Refusal(411, "length_required", str(error))
        case TooLarge():
            return Refusal(413, "too_large", str(error))
        case Http404():
            return Refusal(404, "not_found", "Nothing is posted to this address.")
    return Refusal(400, "unreadable", "The body ended before it was complete.")


def _to_response(refusal: Refusal) -> JsonResponse:
    fields = [{"path": path, "message": message} for path, message in refusal.fields]
    body = {"error": {"code": refusal.code, "message": refusal.message, "fields": fields}}
    return JsonResponse(body, status=refusal.status, headers=dict(refusal.headers))
