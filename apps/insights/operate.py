"""What an operator needs to keep the machine well: health and counts. Never content: no titles, no external ids."""

from __future__ import annotations

import os
import platform
from dataclasses import dataclass
from datetime import datetime, timedelta
from urllib.parse import urlsplit

import celery
import django
from django.conf import settings
from django.core.cache import cache
from django.db import connection
from django.db.models import CharField, Count, F, Func, Min, Q, Value
from psycopg.conninfo import conninfo_to_dict
from redis.exceptions import RedisError

from apps import __version__
from apps.actions.models import ActionRun
from apps.core.db import ClockTimestamp
from apps.items.models import Item, Route
from apps.outbox.selectors import OutboxHealth, outbox_health
from apps.pipeline.tasks import WORKER_SEEN
from apps.policies.models import Policy
from apps.reviews.models import Lease, ReviewTask
from apps.workflows.models import Endpoint, QuestionSet, Workflow

ALIVE_S = 30
"""A worker shows a sign of life every 5 s; after this long without one it counts as gone."""
RECENT = timedelta(days=7)


@dataclass(frozen=True, slots=True)
class Worker:
    """`seen_at` is None when no worker was ever seen, `problem` says why it cannot be known."""

    seen_at: datetime | None
    is_alive: bool
    problem: str


@dataclass(frozen=True, slots=True)
class QueueDepth:
    """`overdue_claims`: claimed by a worker that did not come back in time; the sweep frees them."""

    workflow: Workflow
    received: int
    oldest_received_at: datetime | None
    deciding: int
    overdue_claims: int
    in_review: int
    oldest_task_at: datetime | None
    blocked_by: str


@dataclass(frozen=True, slots=True)
class Stuck:
    workflow: str
    why: str
    items: int
    next_try_at: datetime | None


@dataclass(frozen=True, slots=True)
class EndpointHealth:
    """`missing`: names of environment variables that this process does not have."""

    endpoint: Endpoint
    address: str
    is_paused: bool
    missing: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Runs:
    waiting: int
    late: int
    running: int
    unknown: int
    failed: int


@dataclass(frozen=True, slots=True)
class Machine:
    is_embedded: bool
    database: str
    broker: str
    versions: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Health:
    at: datetime
    worker: Worker
    queues: tuple[QueueDepth, ...]
    stuck: tuple[Stuck, ...]
    unanswered: tuple[Stuck, ...]
    endpoints: tuple[EndpointHealth, ...]
    runs: Runs
    outbox: OutboxHealth
    live_leases: int
    ended_leases: int
    machine: Machine


def health(*, now: datetime) -> Health:
    leases = Lease.objects.aggregate(
        live=Count("id", filter=Q(expires_at__gt=ClockTimestamp())),
        ended=Count("id", filter=Q(expires_at__lte=ClockTimestamp())),
    )
    return Health(
        at=now,
        worker=last_worker(now),
        queues=tuple(queue_depths()),
        stuck=tuple(stuck_items()),
        unanswered=tuple(unanswered_items(now)),
        endpoints=tuple(_to_health(endpoint, now) for endpoint in Endpoint.objects.order_by("name")),
        runs=action_runs(),
        outbox=outbox_health(),
        live_leases=leases["live"],
        ended_leases=leases["ended"],
        machine=machine(),
    )


def last_worker(now: datetime) -> Worker:
    try:
        seen = cache.get(WORKER_SEEN)
    except RedisError:
        return Worker(None, False, "The broker cannot be reached: workers hear nothing, pages still work.")
    if not seen:
        return Worker(None, False, "No worker was ever seen here.")
    seen_at = datetime.fromisoformat(seen)
    is_alive = now - seen_at < timedelta(seconds=ALIVE_S)
    return Worker(seen_at, is_alive, "" if is_alive else "No sign of life: items wait until a worker runs.")


def queue_depths() -> list[QueueDepth]:
    """By workflow. Each count is answered from a partial index over what is still open, not the whole table."""
    waiting = {
        row["workflow"]: row
        for row in Item.objects.filter(status="received")
        .values("workflow")
        .annotate(n=Count("id"), oldest=Min("created_at"))
    }
    claimed = {
        row["workflow"]: row
        for row in Item.objects.filter(status="deciding")
        .values("workflow")
        .annotate(n=Count("id"), late=Count("id", filter=Q(claimed_until__lt=ClockTimestamp())))
    }
    tasks = {
        row["workflow"]: row
        for row in ReviewTask.objects.filter(status="open")
        .values("workflow")
        .annotate(n=Count("id"), oldest=Min("created_at"))
    }
    blocked = _blocked_workflows()
    none = {"n": 0, "oldest": None, "late": 0}
    return [
        QueueDepth(
            workflow=workflow,
            received=(came := waiting.get(workflow.pk, none))["n"],
            oldest_received_at=came["oldest"],
            deciding=(held := claimed.get(workflow.pk, none))["n"],
            overdue_claims=held["late"],
            in_review=(task := tasks.get(workflow.pk, none))["n"],
            oldest_task_at=task["oldest"],
            blocked_by=blocked.get(workflow.pk, ""),
        )
        for workflow in Workflow.objects.order_by("slug")
    ]


def _blocked_workflows() -> dict[int, str]:
    """Workflows whose items no worker takes, whatever the endpoint does."""
    asked = set(QuestionSet.objects.filter(is_current=True).values_list("workflow_id", flat=True))
    ruled = set(Policy.objects.filter(status=Policy.Status.ACTIVE).values_list("workflow_id", flat=True))
    every = Workflow.objects.values_list("pk", flat=True)
    return {
        pk: "It has no questions." if pk not in asked else "It has no policy in force."
        for pk in every
        if pk not in asked or pk not in ruled
    }


def stuck_items() -> list[Stuck]:
    """Items that were tried and wait to be tried again, by reason; only its first word, the rest may be quoted."""
    rows = (
        Item.objects.filter(status="received")
        .exclude(wait_reason="")
        .annotate(why=_first_word(F("wait_reason")))
        .values("workflow__slug", "why")
        .annotate(n=Count("id"), next=Min("next_try_at"))
        .order_by("workflow__slug", "why")
    )
    return [Stuck(row["workflow__slug"], row["why"], row["n"], row["next"]) for row in rows]


def _first_word(text: F) -> Func:
    return Func(text, Value(":"), Value(1), function="split_part", output_field=CharField())


def unanswered_items(now: datetime) -> list[Stuck]:
    """Items of the last `RECENT` that went to people because the model gave no answer, by reason code."""
    rows = (
        Route.objects.filter(
            workflow__in=Workflow.objects.values_list("pk", flat=True),
            created_at__gte=now - RECENT,
            decision=None,
        )
        .values("workflow__slug", why=F("reasons__0__numbers__code"))
        .annotate(n=Count("id"))
        .order_by("workflow__slug", "why")
    )
    return [Stuck(row["workflow__slug"], row["why"] or "unknown", row["n"], None) for row in rows]


def action_runs() -> Runs:
    clock = ClockTimestamp()
    live = ActionRun.objects.filter(status__in=ActionRun.LIVE).aggregate(
        waiting=Count("id", filter=Q(status="pending")),
        late=Count("id", filter=Q(status="pending", not_before__lt=clock - timedelta(seconds=60))),
        running=Count("id", filter=Q(status__in=["running", "applied"])),
        unknown=Count("id", filter=Q(status="unknown")),
    )
    return Runs(**live, failed=ActionRun.objects.filter(status="failed").count())


def _to_health(endpoint: Endpoint, now: datetime) -> EndpointHealth:
    named = [name for name in (endpoint.account_variable, endpoint.secret_variable) if name]
    return EndpointHealth(
        endpoint=endpoint,
        address=without_secrets(endpoint.base_url),
        is_paused=endpoint.paused_until is not None and endpoint.paused_until > now,
        missing=tuple(name for name in named if not (os.environ.get(name) or os.environ.get(f"{name}_FILE"))),
    )


def machine() -> Machine:
    places = settings.PLACES
    with connection.cursor() as cursor:
        cursor.execute("SHOW server_version")
        postgres = cursor.fetchone()[0]
    return Machine(
        is_embedded=places.embedded,
        database=database_address(places.database_url),
        broker=without_secrets(places.redis_url),
        versions=(
            ("Fermata", __version__),
            ("PostgreSQL", postgres),
            ("Python", platform.python_version()),
            ("Django", django.get_version()),
            ("Celery", celery.__version__),
        ),
    )


def database_address(url: str) -> str:
    """Where the database is, put together from what is known to be no secret."""
    parts = conninfo_to_dict(url)
    place = parts.get("host") or "local socket"
    port = f":{parts['port']}" if parts.get("port") else ""
    return f"{place}{port}, database {parts.get('dbname', '')}"


def without_secrets(url: str) -> str:
    """The address without user, password and query, each of which may hold a secret."""
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}"
