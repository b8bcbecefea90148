"""A real Celery worker, killed with SIGKILL in the middle of a batch: nothing lost, nothing decided twice."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta

import pytest
from celery import Celery
from django.conf import settings
from django.db import connection

from apps.clef.local.server import StandIn
from apps.items.models import Decision, Item
from apps.pipeline.incoming import Incoming
from apps.pipeline.intake import add_items
from tests.factories import NOW, make_endpoint, make_workflow

ITEMS = 300
WAIT_S = 60
QUEUE = "fermata-killed-worker"


@contextmanager
def worker() -> Iterator[subprocess.Popen[bytes]]:
    database = connection.settings_dict
    url = f"postgresql://{database['USER']}:{database['PASSWORD']}@{database['HOST']}:{database['PORT']}/{database['NAME']}"
    environment = os.environ | {"DATABASE_URL": url, "DJANGO_SETTINGS_MODULE": "apps.config.settings"}
    command = [sys.executable, "-m", "celery", "-A", "apps.config", "worker", "-c", "2", "-Q", QUEUE]
    process = subprocess.Popen(
        [*command, "--without-mingle", "--without-gossip"],
        env=environment,
        cwd=settings.BASE_DIR,
        start_new_session=True,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        yield process
    finally:
        kill(process)


def kill(process: subprocess.Popen[bytes]) -> None:
    """The whole group at once, as a machine that loses power would."""
    if process.poll() is None:
        os.killpg(process.pid, signal.SIGKILL)
    process.wait(10)


def until(condition: Callable[[], bool], what: str) -> None:
    deadline = time.monotonic() + WAIT_S
    while not condition():
        assert time.monotonic() < deadline, f"waited {WAIT_S} s for {what}"
        time.sleep(0.1)


def send(task: str) -> None:
    with Celery(broker=os.environ["REDIS_URL"]) as app:
        app.send_task(f"apps.pipeline.tasks.{task}", queue=QUEUE)


@pytest.mark.chaos
@pytest.mark.django_db(transaction=True)
def test_it_works() -> None:
    with StandIn(delay_s=0.2) as standin:
        workflow = make_workflow(endpoint=make_endpoint(standin.url, concurrency=8))
        incoming = [
            Incoming(f"item-{number}", f"Win a free prize number {number}") for number in range(ITEMS)
        ]
        add_items(workflow=workflow, incoming=incoming, source="test", now=NOW)
        with worker() as first:
            send("decide")
            until(lambda: Item.objects.exclude(status__in=["received", "deciding"]).exists(), "a first batch")
            until(lambda: Item.objects.filter(status="deciding").exists(), "a batch under way")
            kill(first)
        in_hand = Item.objects.filter(status="deciding").count()
        assert in_hand > 0
        # What the clock would do in two minutes.
        Item.objects.filter(status="deciding").update(claimed_until=NOW - timedelta(days=1))
        with worker():
            send("sweep")
            send("decide")
            until(lambda: not Item.objects.filter(status__in=["received", "deciding"]).exists(), "the rest")
    assert Decision.objects.count() == ITEMS
    assert max(Counter(Decision.objects.values_list("item_id", flat=True)).values()) == 1
