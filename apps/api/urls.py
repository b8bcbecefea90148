from django.urls import path, re_path
from django.urls.resolvers import URLPattern

from apps.api import health, views
from apps.api.api import api
from apps.api.door import nothing_here, public

app_name = "api"


def _calls() -> list[URLPattern]:
    """Ninja's operations, each behind our own door; ninja's start page is left out."""
    found = [each for each in api.urls[0] if isinstance(each, URLPattern) and each.name != "api-root"]
    return [
        path(f"api/v1/{each.pattern}", public(each.callback), each.default_args, name=each.name or "")
        for each in found
    ]


urlpatterns = [
    *_calls(),
    path("api/v1/openapi.json", public(views.openapi_json), name="openapi"),
    path("api/v1/docs", public(views.docs), name="docs"),
    # Whatever else begins like this: a program that asks gets JSON, never a page.
    re_path(r"^api/(?P<rest>.*)$", public(nothing_here), name="nothing_here"),
    path("healthz", public(health.healthz), name="healthz"),
    path("readyz", public(health.readyz), name="readyz"),
    path("metrics", public(health.metrics), name="metrics"),
]
