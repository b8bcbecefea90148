from __future__ import annotations

from collections.abc import Callable
from typing import Any

from django.contrib.auth.middleware import LoginRequiredMiddleware, get_user
from django.http import HttpRequest, HttpResponse, HttpResponseBadRequest, JsonResponse
from django.http.response import HttpResponseBase
from django.middleware.gzip import GZipMiddleware

from apps.core.text import unstorable_at

GetResponse = Callable[[HttpRequest], HttpResponse]


class SecurityHeaders:
    """What Django's SecurityMiddleware does not set: no powerful features, no foreign embedding, no cached content."""

    def __init__(self, get_response: GetResponse) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        response = self.get_response(request)
        response.headers.setdefault(
            "Permissions-Policy", "camera=(), microphone=(), geolocation=(), payment=(), usb=()"
        )
        response.headers.setdefault("Cross-Origin-Resource-Policy", "same-origin")
        if not request.path.startswith("/static/"):
            # Pages carry customers' texts: neither a proxy nor the disk of a shared computer keeps them.
            response.headers.setdefault("Cache-Control", "no-store")
        return response


class SignedInUnlessSaid(LoginRequiredMiddleware):
    """Every view is behind sign-in unless it says otherwise, and then nobody asks the database who it is.

    Django's own reads the session first: a health check from a browser would fail with the database away.
    """

    def process_view(
        self,
        request: HttpRequest,
        view_func: Callable[..., HttpResponseBase],
        view_args: tuple[Any, ...],
        view_kwargs: dict[str, Any],
    ) -> HttpResponseBase | None:
        if not getattr(view_func, "login_required", True):
            return None
        refused = super().process_view(request, view_func, view_args, view_kwargs)
        if refused is None:
            # Known by now, so that what is asked of them a hundred times goes to them and not to a lazy stand-in.
            request.user = get_user(request)
        return refused


class HostileInput:
    """A NUL or a lone surrogate in an address or a form would reach PostgreSQL as a server error: 400 instead."""

    def __init__(self, get_response: GetResponse) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        if unstorable_at(request.path) is not None:
            return self._refuse(request, "The address holds a character that cannot exist in it.")
        for name, values in request.GET.lists():
            if any(unstorable_at(part) is not None for part in (name, *values)):
                return self._refuse(request, "A parameter of the address holds a NUL character.")
        return self.get_response(request)

    def _refuse(self, request: HttpRequest, message: str) -> HttpResponse:
        if request.path.startswith(("/api/", "/hooks/")):
            error = {"code": "bad_request", "message": message, "fields": []}
            return JsonResponse({"error": error}, status=400)
        return HttpResponseBadRequest(message, "text/plain")


class CompressedPages(GZipMiddleware):
    """Pages, styles and scripts travel compressed, a third of their size; an image and an export as they are.

    What lies compressed in an image already is served so. Django's own adds a random length, so that a page's size
    tells nothing of what is in it (BREACH).
    """

    compressed = ("text/html", "text/css", "text/javascript")

    def process_response(self, request: HttpRequest, response: HttpResponseBase) -> HttpResponseBase:
        if response.status_code == 304 or not response.get("Content-Type", "").startswith(self.compressed):
            return response
        compressed: HttpResponseBase = super().process_response(request, response)
        return compressed
