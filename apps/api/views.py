"""The API's document and the page that people read; both hold no data and are open to all."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from apps.api.api import openapi
from apps.api.docs import LIMITS, to_calls, to_shapes


@require_safe
def openapi_json(request: HttpRequest) -> JsonResponse:
    return JsonResponse(openapi())


@require_safe
def docs(request: HttpRequest) -> HttpResponse:
    document = openapi()
    context = {"calls": to_calls(document), "shapes": to_shapes(document), "limits": LIMITS}
    return render(request, "api/docs.html", context)
