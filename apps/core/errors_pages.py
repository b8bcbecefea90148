"""Pages for what went wrong: they say what, and what to do, and show nothing of the inside."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render


def csrf_failure(request: HttpRequest, reason: str = "") -> HttpResponse:
    return _page(
        request,
        403,
        "This form has expired",
        "Go back, reload the page, and send it again. What you typed is still in the form.",
    )


def bad_request(request: HttpRequest, exception: Exception) -> HttpResponse:
    return _page(
        request, 400, "This request cannot be read", "Something in the address or the form is not valid."
    )


def forbidden(request: HttpRequest, exception: Exception) -> HttpResponse:
    return _page(request, 403, "Not yours to see", str(exception) or "Your role does not open this page.")


def not_found(request: HttpRequest, exception: Exception) -> HttpResponse:
    return _page(
        request,
        404,
        "Nothing here",
        "The address is wrong, or it belongs to a workflow you are not a member of.",
    )


def server_error(request: HttpRequest) -> HttpResponse:
    return _page(
        request,
        500,
        "Something broke",
        "It has been logged. Nothing was half done: try again, or tell your operator.",
    )


def _page(request: HttpRequest, status: int, title: str, message: str) -> HttpResponse:
    return render(
        request, "error.html", {"title": title, "message": message, "status": status}, status=status
    )
