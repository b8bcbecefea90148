"""A batch costs the database about the same number of queries, however many items are in it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from apps.clef.local.server import StandIn
from apps.items.models import Route
from apps.pipeline.incoming import Incoming
from apps.pipeline.intake import add_items
from apps.pipeline.processing import decide_batch
from apps.workflows.models import Endpoint, Workflow
from tests.factories import NOW


@pytest.fixture
def asked_workflow(workflow: Workflow) -> Iterator[Workflow]:
    with StandIn() as model:
        Endpoint.objects.update(base_url=model.url)
        workflow.endpoint.refresh_from_db()
        yield workflow


def queries_for(workflow: Workflow, name: str, count: int) -> int:
    incoming = [Incoming(f"{name}-{number}", "Win a free prize now") for number in range(count)]
    add_items(workflow=workflow, incoming=incoming, source="test", now=NOW)
    with CaptureQueriesContext(
        connection,
    ) as queries:
        assert decide_batch(workflow=workflow, now=lambda: NOW) == count
    return len(queries)


def test_it_works(asked_workflow: Workflow) -> None:
    queries_for(asked_workflow, "first", 2)  # the questions are marked as used once
    few, many = queries_for(asked_workflow, "few", 2), queries_for(asked_workflow, "many", 30)
    # A batch with automatic items and audits among them has a few more; one an item would be 28 more.
    assert many - few < 10
    assert Route.objects.count() == 34
