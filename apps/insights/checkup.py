"""Is everything there that this installation needs? Looked at from the outside, one finding a part."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime

import httpx
from celery import current_app
from django.conf import settings
from django.db import DatabaseError, connection
from django.db.migrations.executor import MigrationExecutor
from kombu.exceptions import OperationalError as BrokerError

from apps.clef.errors import EndpointMisconfigured
from apps.insights.operate import database_address, last_worker, without_secrets
from apps.pipeline.endpoints import to_settings
from apps.sources.selectors import source_states
from apps.workflows.models import Endpoint

OLDEST_POSTGRES = 170_000
PROBE_S = 5.0


@dataclass(frozen=True, slots=True)
class Finding:
    part: str
    is_well: bool
    text: str


def check_up(*, now: datetime, transport: httpx.BaseTransport | None = None) -> Iterator[Finding]:
    """Findings as they are made. What needs the database is not known without it, and says so."""
    yield check_configuration()
    database = check_database()
    yield database
    yield check_broker()
    if not database.is_well:
        for part in ("migrations", "model endpoints"):
            yield _unknown(part, "while the database is not well")
    else:
        migrations = check_migrations()
        yield migrations
        if migrations.is_well:
            yield from check_endpoints(now=now, transport=transport)
            yield from check_sources(now=now)
        else:
            yield _unknown("model endpoints", "before migrations")
    yield check_workers(now=now)


def _unknown(part: str, why: str) -> Finding:
    return Finding(part, False, f"not known {why}")


def check_configuration() -> Finding:
    where = (
        f"embedded servers of {settings.VAR_DIR}"
        if settings.PLACES.embedded
        else "servers named by DATABASE_URL and REDIS_URL"
    )
    if settings.DEBUG:
        return Finding("configuration", False, f"{where}; DEBUG is on, which shows secrets to whoever visits")
    if not settings.ALLOWED_HOSTS and not settings.PLACES.embedded:
        return Finding(
            "configuration", False, f"{where}; ALLOWED_HOSTS is not set, so no page can be reached"
        )
    return Finding("configuration", True, where)


def check_database() -> Finding:
    where = database_address(settings.PLACES.database_url)
    try:
        with connection.cursor() as cursor:
            cursor.execute(
                "SELECT current_setting('server_version'), current_setting('server_version_num')::int, "
                "pg_encoding_to_char(encoding), coalesce(datlocale, datcollate), 'ÉCOLE' ILIKE 'école' "
                "FROM pg_database WHERE datname = current_database()"
            )
            version, number, encoding, locale, folds = cursor.fetchone()
    except DatabaseError as error:
        return Finding("database", False, f"{where} does not answer: {_first_line(error)}")
    text = f"PostgreSQL {version} at {where}, locale {locale}, {encoding}"
    if number < OLDEST_POSTGRES:
        return Finding("database", False, f"{text}; 17 or newer is needed")
    if encoding != "UTF8" or not folds:
        return Finding(
            "database",
            False,
            f"{text}; search would miss É for é: it needs UTF8 and a locale such as C.UTF-8",
        )
    return Finding("database", True, text)


def check_broker() -> Finding:
    where = without_secrets(settings.PLACES.redis_url)
    try:
        with current_app.connection_for_write() as broker:
            broker.ensure_connection(max_retries=1, timeout=2)
    except (BrokerError, OSError) as error:
        return Finding("broker", False, f"{where} does not answer: {_first_line(error)}")
    return Finding("broker", True, where)


def check_migrations() -> Finding:
    executor = MigrationExecutor(connection)
    missing = executor.migration_plan(executor.loader.graph.leaf_nodes())
    if missing:
        names = ", ".join(f"{migration.app_label} {migration.name}" for migration, _ in missing[:3])
        return Finding("migrations", False, f"{len(missing)} not applied ({names} …): run manage.py migrate")
    return Finding("migrations", True, "all applied")


def check_endpoints(*, now: datetime, transport: httpx.BaseTransport | None = None) -> Iterator[Finding]:
    """Those a workflow asks. Nothing is asked of a model and no secret is sent, so a wrong key is not noticed here."""
    used = list(Endpoint.objects.exclude(workflows=None).distinct().order_by("name"))
    if not used:
        yield Finding("model endpoints", True, "none is needed, there is no workflow yet")
    with httpx.Client(timeout=PROBE_S, transport=transport) as http:
        for endpoint in used:
            yield Finding(f"model {endpoint.name}", *_probe(endpoint, http, now))


def check_sources(*, now: datetime) -> Iterator[Finding]:
    """As they did last; no mailbox is looked at for this. Secrets are those that this very process has."""
    for source, state in source_states(now=now):
        words = f"{source.get_kind_display()}, {state.words.lower()}"
        text = f"{words}: {state.detail}" if state.detail else words
        yield Finding(f"source {source.workflow.slug}/{source.name}", state.is_ok, text)


def _probe(endpoint: Endpoint, http: httpx.Client, now: datetime) -> tuple[bool, str]:
    is_stand_in = endpoint.model.startswith("standin-")
    what = f"{endpoint.model}{', a stand-in,' if is_stand_in else ''} at {without_secrets(endpoint.base_url)}"
    try:
        to_settings(endpoint)
        url = httpx.URL(endpoint.base_url)
        # A stand-in says how it is; of any other server an answer of any kind is enough.
        answer = http.get(url.join("/healthz") if is_stand_in else url)
    except EndpointMisconfigured as error:
        return False, f"{what}: {error}"
    except (httpx.HTTPError, httpx.InvalidURL) as error:
        return False, f"{what} cannot be reached: {_first_line(error)}"
    if is_stand_in and answer.status_code != 200:
        return False, f"{what} answers {answer.status_code} to /healthz"
    if endpoint.paused_until is not None and endpoint.paused_until > now:
        return (
            False,
            f"{what} is reached, but paused until {endpoint.paused_until:%H:%M:%S} UTC: {endpoint.pause_reason}",
        )
    return True, f"{what} is reached"


def check_workers(*, now: datetime) -> Finding:
    worker = last_worker(now)
    if worker.seen_at is None or not worker.is_alive:
        seen = "" if worker.seen_at is None else f"last seen {worker.seen_at:%Y-%m-%d %H:%M:%S} UTC; "
        return Finding("workers", False, f"{seen}{worker.problem.rstrip('.')}")
    return Finding("workers", True, f"seen {(now - worker.seen_at).total_seconds():.0f} s ago")


def _first_line(error: Exception) -> str:
    lines = str(error).strip().splitlines()
    return lines[0] if lines else type(error).__name__
