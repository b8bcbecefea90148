"""What Prometheus reads: counts and ages by workflow slug, never content.

Each query is answered from a partial index over what is not finished, or from the last few minutes: settled items
are not counted, because that would read the whole table at every scrape.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta

from django.core.cache import cache
from django.db.models import Count, Min, Q
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector
from redis.exceptions import RedisError

from apps.actions.models import ActionRun
from apps.api.models import Export
from apps.items.models import Item, Route
from apps.pipeline.tasks import WORKER_SEEN
from apps.reviews.models import ReviewTask
from apps.workflows.models import Endpoint, Workflow

RECENT = timedelta(minutes=5)
UNFINISHED = (Item.Status.RECEIVED, Item.Status.DECIDING, Item.Status.IN_REVIEW)
Family = Iterator[GaugeMetricFamily]


class FermataCollector(Collector):
    def __init__(self, *, now: datetime) -> None:
        self.now = now

    def collect(self) -> Family:
        # A series that is not there looks like a failed scrape, so every workflow has each of them, zeros too.
        slugs = dict(Workflow.objects.values_list("pk", "slug"))
        yield from self._items(slugs)
        yield from self._tasks(slugs)
        yield from self._recent(slugs)
        yield from _runs()
        yield from _endpoints(self.now)
        yield _gauge(
            "fermata_exports_waiting",
            "Exports to be made.",
            Export.objects.filter(status__in=["pending", "running"]).count(),
        )
        yield from self._worker()

    def _items(self, slugs: dict[int, str]) -> Family:
        items = GaugeMetricFamily(
            "fermata_items", "Items that are not settled.", labels=["workflow", "status"]
        )
        oldest = GaugeMetricFamily(
            "fermata_oldest_undecided_seconds",
            "Age of the oldest item without a decision.",
            labels=["workflow"],
        )
        rows = (
            Item.objects.filter(status__in=UNFINISHED)
            .values("workflow", "status")
            .annotate(n=Count("pk"))
            .order_by()
        )
        counts = {(row["workflow"], row["status"]): row["n"] for row in rows}
        undecided = Item.objects.filter(status__in=UNFINISHED[:2]).values("workflow").order_by()
        since = dict(undecided.annotate(first=Min("created_at")).values_list("workflow", "first"))
        for pk, slug in slugs.items():
            for status in UNFINISHED:
                items.add_metric([slug, status.value], counts.get((pk, status.value), 0))
            oldest.add_metric([slug], self._age(since.get(pk)))
        yield from (items, oldest)

    def _tasks(self, slugs: dict[int, str]) -> Family:
        tasks = GaugeMetricFamily("fermata_open_tasks", "Tasks that wait for people.", labels=["workflow"])
        overdue = GaugeMetricFamily(
            "fermata_overdue_tasks", "Open tasks past their due time.", labels=["workflow"]
        )
        oldest = GaugeMetricFamily(
            "fermata_oldest_task_seconds", "Age of the oldest open task.", labels=["workflow"]
        )
        rows = ReviewTask.objects.filter(status=ReviewTask.Status.OPEN).values("workflow").order_by()
        found = {
            row["workflow"]: row
            for row in rows.annotate(
                n=Count("pk"), late=Count("pk", filter=Q(due_at__lte=self.now)), first=Min("created_at")
            )
        }
        for pk, slug in slugs.items():
            row = found.get(pk, {"n": 0, "late": 0, "first": None})
            tasks.add_metric([slug], row["n"])
            overdue.add_metric([slug], row["late"])
            oldest.add_metric([slug], self._age(row["first"]))
        yield from (tasks, overdue, oldest)

    def _recent(self, slugs: dict[int, str]) -> Family:
        routed = GaugeMetricFamily(
            "fermata_routed_last_5_minutes",
            "Items routed in the last five minutes.",
            labels=["workflow", "outcome"],
        )
        for pk, slug in slugs.items():
            rows = (
                Route.objects.filter(workflow=pk, created_at__gte=self.now - RECENT)
                .values("outcome")
                .order_by()
            )
            counts = dict(rows.annotate(n=Count("pk")).values_list("outcome", "n"))
            for outcome in Route.Outcome.values:
                routed.add_metric([slug, outcome], counts.get(outcome, 0))
        yield routed

    def _worker(self) -> Family:
        try:
            seen = cache.get(WORKER_SEEN)
        except RedisError:
            seen = None
        if seen is not None:
            age = self._age(datetime.fromisoformat(seen))
            yield _gauge("fermata_worker_last_seen_seconds", "Since a worker's last sign of life.", age)

    def _age(self, since: datetime | None) -> float:
        return 0.0 if since is None else max((self.now - since).total_seconds(), 0.0)


def _runs() -> Family:
    runs = GaugeMetricFamily(
        "fermata_action_runs", "Action runs that are not at a good end.", labels=["status"]
    )
    wanted = [*ActionRun.LIVE, ActionRun.Status.FAILED]
    rows = ActionRun.objects.filter(status__in=wanted).values("status").order_by()
    counts = dict(rows.annotate(n=Count("pk")).values_list("status", "n"))
    for status in wanted:
        runs.add_metric([status.value], counts.get(status.value, 0))
    yield runs


def _endpoints(now: datetime) -> Family:
    paused = GaugeMetricFamily(
        "fermata_endpoint_paused", "1 while a model endpoint is not asked.", labels=["endpoint"]
    )
    failures = GaugeMetricFamily(
        "fermata_endpoint_failures_in_a_row", "Failures since the last answer.", labels=["endpoint"]
    )
    for endpoint in Endpoint.objects.all():
        paused.add_metric(
            [endpoint.name], float(endpoint.paused_until is not None and endpoint.paused_until > now)
        )
        failures.add_metric([endpoint.name], endpoint.failures_in_a_row)
    yield from (paused, failures)


def _gauge(name: str, text: str, value: float) -> GaugeMetricFamily:
    return GaugeMetricFamily(name, text, value=value)
