"""Who may call: a bearer token and nothing else. A session cookie is never looked at."""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import datetime, timedelta
from functools import wraps
from typing import Any, cast

import structlog
from django.core.cache import cache
from django.db.models import Q
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBase
from django.utils import timezone
from ninja.security import HttpBearer
from redis.exceptions import RedisError

from apps.api.errors import ApiError, answer_error, to_response
from apps.workflows.access import get_token_for
from apps.workflows.models import ApiToken, Scope, Workflow

log = structlog.get_logger()
CALLS_A_MINUTE = 1_200
"""Calls a token may make in one minute of the clock; a batch of 1,000 items is one call."""
USE_NOTED_EVERY = timedelta(minutes=1)


class BearerToken(HttpBearer):
    def authenticate(self, request: HttpRequest, token: str) -> ApiToken | None:
        now = timezone.now()
        found = get_token_for(secret=token.strip(), now=now)
        if found is None:
            return None
        check_rate(token_id=found.pk, now_s=time.time())
        _note_use(found, now)
        return found


def token_of(request: HttpRequest, scope: Scope) -> ApiToken:
    """The token that called, once it is known to have `scope`; 403 otherwise."""
    token = cast(ApiToken, request.auth)  # type: ignore[attr-defined]  # set by ninja from BearerToken
    if scope.value not in token.scopes:
        raise ApiError(403, "missing_scope", f"This token does not have the scope “{scope.value}”.")
    return token


def workflow_of(request: HttpRequest, slug: str, scope: Scope) -> Workflow:
    """The token's own workflow, which `slug` must name: any other does not exist for it."""
    token = cast(ApiToken, request.auth)  # type: ignore[attr-defined]  # set by ninja from BearerToken
    if token.workflow.slug != slug:
        raise Http404
    return token_of(request, scope).workflow


def check_rate(*, token_id: int, now_s: float) -> None:
    """Counts this call; 429 with the seconds to wait. Without the cache everyone is let through."""
    minute, second = divmod(int(now_s), 60)
    key = f"fermata:api:calls:{token_id}:{minute}"
    try:
        cache.add(key, 0, timeout=120)
        calls = cache.incr(key)
    except (RedisError, ValueError) as error:  # ValueError: the key was evicted between the two
        log.warning("api_rate_not_counted", error=type(error).__name__)
        return
    if calls > CALLS_A_MINUTE:
        message = f"More than {CALLS_A_MINUTE:,} calls in a minute. Batches of up to 1,000 items count once."
        raise ApiError(429, "too_many_calls", message, headers={"Retry-After": str(60 - second)})


def _note_use(token: ApiToken, now: datetime) -> None:
    stale = now - USE_NOTED_EVERY
    if token.last_used_at is None or token.last_used_at < stale:
        ApiToken.objects.filter(Q(last_used_at=None) | Q(last_used_at__lt=stale), pk=token.pk).update(
            last_used_at=now
        )


View = Callable[..., HttpResponseBase]


def public(view: View) -> View:
    """Outside the sign-in wall and CSRF: what a browser sends by itself opens nothing here.

    What the framework answers by itself (405) gets the API's form.
    """

    @wraps(view)
    def inner(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        try:
            response = view(request, *args, **kwargs)
        except Exception as error:  # noqa: BLE001 - the API's last line: logged in full by to_api_error
            return answer_error(request, error)
        if response.status_code == 405:
            allowed = response.headers.get("Allow", "")
            message = f"{request.method} is not answered here; allowed: {allowed}."
            return to_response(ApiError(405, "method_not_allowed", message, headers={"Allow": allowed}))
        return response

    inner.login_required = False  # type: ignore[attr-defined]  # read by Django's LoginRequiredMiddleware
    inner.csrf_exempt = True  # type: ignore[attr-defined]  # read by Django's CsrfViewMiddleware
    return inner


def nothing_here(request: HttpRequest, rest: str = "") -> HttpResponse:
    """Any other address under /api/: 404 in the API's form, whatever the method."""
    raise Http404
