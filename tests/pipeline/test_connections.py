"""Threads that ask the model do HTTP only: a batch of many keeps the one connection of its own thread."""

from __future__ import annotations

import pytest
from django.db import connection
from django.utils import timezone

from apps.clef.local.server import StandIn
from apps.pipeline.incoming import Incoming
from apps.pipeline.intake import add_items
from apps.pipeline.processing import decide_waiting_items
from tests.factories import NOW, make_endpoint, make_workflow


def connections() -> int:
    with connection.cursor() as cursor:
        cursor.execute("SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()")
        (count,) = cursor.fetchone()
    return int(count)


@pytest.mark.django_db(transaction=True)
def test_it_works() -> None:
    with StandIn() as standin:
        workflow = make_workflow(endpoint=make_endpoint(standin.url, concurrency=32))
        incoming = [Incoming(f"item-{number}", f"Where is my order {number}?") for number in range(100)]
        add_items(workflow=workflow, incoming=incoming, source="test", now=NOW)
        before = connections()
        assert not decide_waiting_items(now=timezone.now)
    assert workflow.items.filter(status="received").count() == 0
    assert connections() == before
