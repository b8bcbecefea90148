from __future__ import annotations

from collections.abc import Callable

from django.http import HttpRequest, HttpResponse, HttpResponseBadRequest

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


class HostileInput:
    """A NUL or a lone surrogate in an address or a form would reach PostgreSQL as a server error: 400 instead."""

    def __init__(self, get_response: GetResponse) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        if unstorable_at(request.path) is not None:
            return HttpResponseBadRequest(
                "The address holds a character that cannot exist in it.", "text/plain"
            )
        for name, values in request.GET.lists():
            if any(unstorable_at(part) is not None for part in (name, *values)):
                return HttpResponseBadRequest(
                    "A parameter of the address holds a NUL character.", "text/plain"
                )
        return self.get_response(request)
