from __future__ import annotations

from datetime import timedelta

from django.core.cache import cache
from django.test import Client
from django.utils import timezone
from prometheus_client.parser import text_string_to_metric_families

from apps.pipeline.tasks import WORKER_SEEN
from apps.workflows.models import Endpoint, Workflow
from tests.api.conftest import Caller
from tests.factories import NOW, make_item, make_task


def scrape(client: Client) -> dict[str, float]:
    """`name{label=value,…}` → value, labels sorted, once Prometheus's own parser has read it."""
    text = client.get("/metrics").content.decode()
    return {
        f"{sample.name}{{{','.join(f'{k}={v}' for k, v in sorted(sample.labels.items()))}}}": sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


def test_it_works(workflow: Workflow, client: Client) -> None:
    make_item(workflow, created_at=timezone.now() - timedelta(minutes=5))
    make_task(workflow)
    found = scrape(client)
    assert found["fermata_items{status=received,workflow=leads}"] == 1
    assert found["fermata_items{status=in_review,workflow=leads}"] == 1
    assert found["fermata_items{status=deciding,workflow=leads}"] == 0
    assert found["fermata_open_tasks{workflow=leads}"] == 1
    assert 299 < found["fermata_oldest_undecided_seconds{workflow=leads}"] < 360


def test_a_paused_endpoint_and_a_seen_worker(workflow: Workflow, client: Client) -> None:
    Endpoint.objects.update(paused_until=timezone.now() + timedelta(minutes=1), failures_in_a_row=3)
    cache.set(WORKER_SEEN, timezone.now().isoformat())
    found = scrape(client)
    assert found["fermata_endpoint_paused{endpoint=stand-in}"] == 1
    assert found["fermata_endpoint_failures_in_a_row{endpoint=stand-in}"] == 3
    assert found["fermata_worker_last_seen_seconds{}"] < 60


def test_no_content(workflow: Workflow, client: Client) -> None:
    make_item(workflow, "secret-id", text="secret text", created_at=NOW)
    text = client.get("/metrics").content.decode()
    assert "secret" not in text


def test_not_from_elsewhere(db: None, ivan: Caller) -> None:
    response = ivan.client.get("/metrics", REMOTE_ADDR="10.0.0.7")
    assert (response.status_code, response.json()["error"]["code"]) == (401, "unauthorized")
