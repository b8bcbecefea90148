"""What `make bench` measures; every figure says of what it is."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from statistics import median, quantiles
from typing import Any

import httpx
from celery import current_app
from django.conf import settings
from django.db import connection, models
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from apps.accounts.models import User
from apps.clef.client import ClefClient
from apps.clef.types import ModelRequest
from apps.core.embedded_processes import free_port, wait_until
from apps.demo.children import Child, Children
from apps.demo.feed import Stream
from apps.items.models import Decision, Item, ItemContent, Route
from apps.pipeline.endpoints import to_settings
from apps.pipeline.incoming import Incoming
from apps.pipeline.intake import add_items
from apps.pipeline.wake import wake_deciders
from apps.reviews.models import Lease, ReviewTask
from apps.workflows.definitions import to_clef_questions
from apps.workflows.models import Endpoint, QuestionSet, Workflow

DELAY_MS = 39
THREADS = 32
WARM_UP = 128
ROUNDS = 3
LIMIT_S = 60.0
COPY_STEP = 1_000_000
"""Copied rows get their original's id plus a multiple of this."""


class TookTooLong(RuntimeError):
    """A measurement did not end within its bound; the text says which."""


@dataclass(frozen=True, slots=True)
class Bench:
    workflow: Workflow
    stream: Stream
    children: Children
    logs: Path

    def incoming(self, name: str, count: int) -> list[Incoming]:
        """The samples over and over, each time as a new item."""
        now = timezone.now()
        made = (self.stream.incoming(position, now) for position in range(count))
        return [Incoming(f"{name}-{n}", each.state, each.metadata, now) for n, each in enumerate(made)]

    def start(self, log: str, *module_and_options: str) -> None:
        arguments = (sys.executable, "-m", *module_and_options)
        self.children.start(Child(log, arguments, self.logs / f"{log}.log", settings.BASE_DIR))


def measure_intake(bench: Bench, *, items: int, batch: int) -> dict[str, Any]:
    incoming = bench.incoming(f"intake-{batch}", items)
    with paused(bench.workflow.endpoint), timed() as took:
        for start in range(0, items, batch):
            add_items(
                workflow=bench.workflow,
                incoming=incoming[start : start + batch],
                source="bench",
                now=timezone.now(),
            )
    Item.objects.filter(external_id__startswith=f"intake-{batch}-").delete()
    return {
        "items_per_s": rate(items, took()),
        "items": items,
        "measured": f"items checked and stored in calls of {batch}, one after the other",
    }


def start_model(bench: Bench) -> None:
    port = free_port()
    model = ("apps.clef.local.server", "--port", str(port), "--delay-ms", str(DELAY_MS), "--model", "ngram")
    bench.start("model", *model)
    endpoint = bench.workflow.endpoint
    endpoint.base_url = f"http://127.0.0.1:{port}"
    endpoint.save()

    def is_up() -> bool:
        try:
            return httpx.get(f"{endpoint.base_url}/healthz", trust_env=False).status_code == 200
        except httpx.TransportError:
            return False

    if not wait_until(is_up, LIMIT_S):
        raise TookTooLong("The stand-in model did not start")


def measure_client_and_pipeline(bench: Bench, *, items: int, processes: int) -> dict[str, Any]:
    """Both by turns, `ROUNDS` times: what else the machine does then falls on both alike."""
    share = max(1, items // ROUNDS)
    with ClefClient(to_settings(bench.workflow.endpoint), pool_size=THREADS) as client:
        _ask(bench, client, WARM_UP)
        _decide(bench, "warm", WARM_UP * processes, processes)
        turns = [
            (_ask(bench, client, share), _decide(bench, f"turn-{turn}", share, processes))
            for turn in range(ROUNDS)
        ]
    return {
        "bare_client": {
            "items_per_s": rate(share, median(asked_s for asked_s, _ in turns)),
            "measured": f"ClefClient alone, {THREADS} threads of one process, stand-in at {DELAY_MS} ms",
        },
        "pipeline": {
            "items_per_s": rate(share, median(decided_s for _, decided_s in turns)),
            "worker_processes": processes,
            "measured": (
                "stored items claimed, asked about, routed and written with tasks and runs, by a real Celery worker "
                f"of {processes} processes with {THREADS // processes} threads each, same stand-in"
            ),
        },
        "ratio": round(median(asked_s / decided_s for asked_s, decided_s in turns), 3),
        "turns": [[rate(share, asked_s), rate(share, decided_s)] for asked_s, decided_s in turns],
        "measured": f"{ROUNDS} turns of {share} items each, medians",
    }


def _ask(bench: Bench, client: ClefClient, items: int) -> float:
    questions = to_clef_questions(QuestionSet.objects.get(workflow=bench.workflow, is_current=True))
    requests = [ModelRequest(each.state, questions) for each in bench.incoming("bare", items)]
    with ThreadPoolExecutor(THREADS) as pool, timed() as took:
        for _ in pool.map(client.decide, requests):
            pass
    return took()


def start_worker(bench: Bench, *, processes: int) -> None:
    Endpoint.objects.update(concurrency=THREADS // processes)
    bench.start("worker", "celery", "-A", "apps.config", "worker", "--concurrency", str(processes))
    if not wait_until(lambda: bool(current_app.control.ping(timeout=0.5)), LIMIT_S):
        raise TookTooLong("The Celery worker did not start")


def _decide(bench: Bench, name: str, items: int, processes: int) -> float:
    """Seconds from the wake-up to the last item's route."""
    with paused(bench.workflow.endpoint):
        add_items(
            workflow=bench.workflow,
            incoming=bench.incoming(name, items),
            source="bench",
            now=timezone.now(),
        )
    undecided = Item.objects.filter(external_id__startswith=f"{name}-", decided_at=None)
    with timed() as took:
        for _ in range(processes):
            wake_deciders()
        if not wait_until(lambda: not undecided.exists(), LIMIT_S):
            raise TookTooLong(f"{undecided.count()} of {items} items were not decided within {LIMIT_S:.0f} s")
    return took()


def grow_queue(bench: Bench, *, open_tasks: int, first_copy: int) -> int:
    """Copies held items, with all their rows, until so many tasks are open; returns the next free copy's number."""
    there = ReviewTask.objects.filter(workflow=bench.workflow, status="open").count()
    originals = list(
        ReviewTask.objects.filter(workflow=bench.workflow, status="open", pk__lt=COPY_STEP).values_list(
            "pk", "item", "route", "route__decision"
        )[:500]
    )
    copies = -(-max(0, open_tasks - there) // len(originals))
    numbers = (first_copy, first_copy + copies - 1)
    tasks, items, routes, decisions = (list(ids) for ids in zip(*originals, strict=True))
    new = f"+ n * {COPY_STEP}"
    _copy(Item, items, numbers, id=f"s.id {new}", external_id="s.external_id || '-' || n")
    _copy(ItemContent, items, numbers, item_id=f"s.item_id {new}")
    _copy(Decision, decisions, numbers, id=f"s.id {new}", item_id=f"s.item_id {new}")
    moved = {"id": f"s.id {new}", "item_id": f"s.item_id {new}"}
    _copy(Route, routes, numbers, **moved, decision_id=f"s.decision_id {new}")
    # Whoever holds the original holds no copy.
    _copy(ReviewTask, tasks, numbers, **moved, route_id=f"s.route_id {new}", held_until="NULL")
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE")
    return first_copy + copies


def _copy(
    model: type[models.Model], ids: Sequence[int | None], numbers: tuple[int, int], **changed: str
) -> None:
    meta = model._meta
    columns = [field.column for field in meta.concrete_fields]
    key = next(field.column for field in meta.concrete_fields if field.primary_key)
    values = ", ".join(changed.get(column, f"s.{column}") for column in columns)
    names = ", ".join(columns)
    with connection.cursor() as cursor:
        cursor.execute(
            f"INSERT INTO {meta.db_table} ({names}) SELECT {values} FROM {meta.db_table} s "  # noqa: S608 - our own names
            f"CROSS JOIN generate_series(%s, %s) n WHERE s.{key} = ANY(%s)",
            [*numbers, [each for each in ids if each is not None]],
        )


def measure_desk(bench: Bench, user: User, *, rounds: int) -> dict[str, Any]:
    """What a reviewer waits for after a key: the answer is recorded, the next item found and its page made."""
    browser = Client(headers={"HX-Request": "true", "HX-Target": "desk"})
    browser.force_login(user)
    slug = bench.workflow.slug
    open_tasks = ReviewTask.objects.filter(workflow=bench.workflow, status="open").count()
    _get(browser, reverse("reviews:desk", args=[slug]))
    waits = []
    for _ in range(rounds):
        form = _answer(user)
        with timed() as took:
            response = browser.post(reverse("reviews:task_submit", args=[slug]), form)
        if response.status_code != 200:
            raise TookTooLong(f"The desk answered {response.status_code} in a measurement")
        waits.append(took())
    return {
        "open_tasks": open_tasks,
        "answers": rounds,
        "p50_ms": percentile(waits, 50),
        "p95_ms": percentile(waits, 95),
        "measured": "an answer sent to the desk until its reply, the next item, by Django's client without a network",
    }


def _get(browser: Client, url: str) -> None:
    response = browser.get(url)
    if response.status_code != 200:
        raise TookTooLong(f"The desk answered {response.status_code} in a measurement")


def _answer(user: User) -> dict[str, str]:
    lease = Lease.objects.select_related("task__question_set").get(user=user)
    questions = lease.task.question_set.questions.filter(key__in=lease.task.asked)
    return {"lease": str(lease.token), "seconds": "2", "figures": "0"} | {
        f"q:{question.key}": f"o:{question.option_ids[0]}" for question in questions
    }


@contextmanager
def paused(endpoint: Endpoint) -> Iterator[None]:
    """Workers leave its workflows alone meanwhile."""
    Endpoint.objects.filter(pk=endpoint.pk).update(paused_until=timezone.now() + timedelta(hours=1))
    yield
    Endpoint.objects.filter(pk=endpoint.pk).update(paused_until=None)


@contextmanager
def timed() -> Iterator[Callable[[], float]]:
    """Seconds between the two ends of the block."""
    started = time.perf_counter()
    ended: list[float] = []
    yield lambda: ended[0] - started
    ended.append(time.perf_counter())


def rate(count: int, seconds: float) -> float:
    return round(count / seconds, 1)


def percentile(seconds: Sequence[float], percent: int) -> float:
    """In milliseconds."""
    return round(quantiles(seconds, n=100, method="inclusive")[percent - 1] * 1000, 1)


def to_line(figures: Mapping[str, Any]) -> str:
    return json.dumps(figures, ensure_ascii=False)
