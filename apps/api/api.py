"""The API as one object. Refusals of every kind leave through `errors.answer_error`."""

from __future__ import annotations

from functools import cache
from typing import Any

from django.http import Http404
from ninja import NinjaAPI
from ninja.errors import AuthenticationError, ValidationError

from apps.api import items, labels, metrics
from apps.api.door import BearerToken
from apps.api.errors import answer_error

PREFIX = "/api/v1/"

api = NinjaAPI(
    title="Fermata",
    version="1",
    description="Items in, decisions and labels out. Times are RFC 3339 in UTC. Errors are "
    '{"error": {"code", "message", "fields": [{"path", "message"}]}}.',
    auth=BearerToken(),
    # Ninja's own docs page loads from outside, which the Content-Security-Policy forbids; `views.docs` stands instead.
    docs_url=None,
    openapi_url=None,
)
for router in (items.router, labels.router, metrics.router):
    api.add_router("", router)
# Ninja has handlers of its own for these, so each is named.
for kind in (Exception, AuthenticationError, Http404, ValidationError):
    api.add_exception_handler(kind, answer_error)


@cache
def openapi() -> dict[str, Any]:
    """The OpenAPI document; it cannot change while the process runs."""
    return dict(api.get_openapi_schema(path_prefix=PREFIX))
