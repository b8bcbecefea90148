"""One render for page and fragment."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render as django_render


def render(
    request: HttpRequest,
    page: str,
    context: Mapping[str, Any],
    *,
    fragment: str | None = None,
    status: int = 200,
) -> HttpResponse:
    """The fragment `<app>/_name.html` when htmx asks for the element with id `name`, else the whole page.

    Both get the same context. The answer varies by htmx's headers, so no cache mixes the two.
    """
    template = page
    if fragment is not None:
        target = fragment.rsplit("/", 1)[-1].removeprefix("_").removesuffix(".html").replace("_", "-")
        if request.headers.get("HX-Request") == "true" and request.headers.get("HX-Target") == target:
            template = fragment
    response = django_render(request, template, dict(context), status=status)
    response["Vary"] = "HX-Request, HX-Target, Cookie"
    return response
