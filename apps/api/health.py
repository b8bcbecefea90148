"""For load balancers and Prometheus. No secrets, no content: a part is named, its error is in the log."""

from __future__ import annotations

import ipaddress
from collections.abc import Callable
from datetime import datetime, timedelta

import structlog
from celery import current_app
from django.conf import settings
from django.core.cache import cache
from django.db import Error as DatabaseError
from django.db import connection
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.utils import timezone
from django.utils.crypto import constant_time_compare
from django.views.decorators.http import require_safe
from kombu.exceptions import OperationalError as BrokerError
from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, generate_latest
from redis.exceptions import RedisError

from apps.api.errors import unauthorized
from apps.api.gauges import FermataCollector
from apps.pipeline.tasks import WORKER_SEEN

log = structlog.get_logger()
WORKER_SILENT_S = 30
OK = "ok"


@require_safe
def healthz(request: HttpRequest) -> HttpResponse:
    """The process answers; nothing else is looked at, so a restart is never ordered for somebody else's trouble."""
    return HttpResponse("ok\n", "text/plain; charset=utf-8")


@require_safe
def readyz(request: HttpRequest) -> JsonResponse:
    """200 when database, broker and a worker are there, else 503 saying which is not."""
    parts = {"database": _check_database(), "broker": _check_broker(), "worker": check_worker(timezone.now())}
    is_ready = all(part == OK for part in parts.values())
    headers = {} if is_ready else {"Retry-After": "5"}
    body = {"status": "ready" if is_ready else "not ready", "parts": parts}
    return JsonResponse(body, status=200 if is_ready else 503, headers=headers)


def _check_database() -> str:
    try:
        with connection.cursor() as cursor:
            cursor.execute("SELECT 1")
    except DatabaseError as error:
        log.warning("not_ready", part="database", error=str(error))
        return "does not answer"
    return OK


def _check_broker() -> str:
    try:
        with current_app.connection_for_write() as broker:
            broker.ensure_connection(max_retries=1, timeout=2)
    except (BrokerError, OSError) as error:
        log.warning("not_ready", part="broker", error=str(error))
        return "does not answer"
    return OK


def check_worker(now: datetime) -> str:
    """Workers leave a sign of life with each sweep, every few seconds."""
    try:
        seen = cache.get(WORKER_SEEN)
    except RedisError as error:
        log.warning("not_ready", part="worker", error=str(error))
        return "not known: the cache does not answer"
    if seen is None:
        return "none has been seen"
    silent = now - datetime.fromisoformat(seen)
    return (
        OK if silent <= timedelta(seconds=WORKER_SILENT_S) else f"silent for {int(silent.total_seconds())} s"
    )


@require_safe
def metrics(request: HttpRequest) -> HttpResponse:
    """For Prometheus: from this very machine, or with `Authorization: Bearer` and the METRICS_TOKEN."""
    if not may_read_metrics(request.META.get, settings.METRICS_TOKEN):
        raise unauthorized()
    registry = CollectorRegistry(auto_describe=False)
    registry.register(FermataCollector(now=timezone.now()))
    return HttpResponse(generate_latest(registry), content_type=CONTENT_TYPE_LATEST)


def may_read_metrics(header: Callable[[str, str], str], token: str) -> bool:
    """`header` reads the request's META. What a proxy hands on is not from this machine, whoever connects."""
    given = header("HTTP_AUTHORIZATION", "")
    if token and constant_time_compare(given, f"Bearer {token}"):
        return True
    forwarded = any(header(name, "") for name in ("HTTP_X_FORWARDED_FOR", "HTTP_FORWARDED", "HTTP_X_REAL_IP"))
    try:
        is_loopback = ipaddress.ip_address(header("REMOTE_ADDR", "")).is_loopback
    except ValueError:  # a Unix socket has no address: that is a proxy
        is_loopback = False
    return is_loopback and not forwarded
