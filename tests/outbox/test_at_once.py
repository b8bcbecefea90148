"""Several workers at the same moment, each on a connection of its own: each event gets through once."""

from __future__ import annotations

import threading
from collections import Counter

import pytest
from django.db import connection
from django.utils import timezone

from apps.outbox.models import Attempt, Sending
from apps.outbox.sending import send_next
from apps.outbox.services import emit_all
from apps.workflows.models import Workflow
from tests.factories import NOW
from tests.outbox.conftest import subscribe
from tests.outbox.receiver import receiving

WORKERS, EVENTS, RECEIVERS = 4, 40, 3


def work(start: threading.Barrier) -> None:
    try:
        start.wait()
        # A worker that finds nothing free comes back, as beat would have it.
        while Sending.objects.filter(status="pending").exists():
            send_next(now=timezone.now)
    finally:
        connection.close()


@pytest.mark.django_db(transaction=True)
def test_it_works(workflow: Workflow) -> None:
    start = threading.Barrier(WORKERS, timeout=10)
    with receiving() as receiver:
        for number in range(RECEIVERS):
            subscribe(workflow, f"{receiver.url}/{number}")
        data = [{"version": number} for number in range(EVENTS)]
        emit_all(workflow=workflow, type="policy.activated", data=data, now=NOW)
        threads = [threading.Thread(target=work, args=(start,)) for _ in range(WORKERS)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(timeout=30)
    times = Counter(headers["webhook-id"] for headers, _ in receiver.received)
    assert set(times.values()) == {RECEIVERS}
    assert len(times) == EVENTS
    assert Attempt.objects.filter(http_status=204).count() == EVENTS * RECEIVERS
