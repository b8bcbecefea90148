from __future__ import annotations

from datetime import timedelta

import pytest
from django.core.cache import cache
from django.test import Client, override_settings
from django.utils import timezone

from apps.api.health import check_worker, may_read_metrics
from apps.pipeline.tasks import WORKER_SEEN
from tests.api.test_door import AWAY

SECRET = "prometheus-0123456789"


def test_it_works(client: Client) -> None:
    response = client.get("/healthz")
    assert (response.status_code, response.content) == (200, b"ok\n")


def test_ready(db: None, client: Client) -> None:
    cache.set(WORKER_SEEN, timezone.now().isoformat())
    response = client.get("/readyz")
    assert (response.status_code, response.json()["status"]) == (200, "ready")
    assert set(response.json()["parts"].values()) == {"ok"}


def test_without_a_worker(db: None, client: Client) -> None:
    response = client.get("/readyz")
    assert (response.status_code, response.json()["parts"]["worker"]) == (503, "none has been seen")
    assert response.json()["parts"]["database"] == "ok"


def test_a_silent_worker() -> None:
    now = timezone.now()
    cache.set(WORKER_SEEN, (now - timedelta(seconds=31)).isoformat())
    assert check_worker(now) == "silent for 31 s"
    assert check_worker(now - timedelta(seconds=1)) == "ok"


@override_settings(CACHES=AWAY)
def test_without_the_cache(db: None, client: Client) -> None:
    response = client.get("/readyz")
    assert response.status_code == 503
    assert "127.0.0.1" not in response.content.decode()


@pytest.mark.parametrize(
    ("environ", "token", "may"),
    [
        ({"REMOTE_ADDR": "127.0.0.1"}, "", True),
        ({"REMOTE_ADDR": "::1"}, "", True),
        ({"REMOTE_ADDR": "10.0.0.7"}, "", False),
        ({"REMOTE_ADDR": ""}, "", False),
        ({"REMOTE_ADDR": "127.0.0.1", "HTTP_X_FORWARDED_FOR": "10.0.0.7"}, "", False),
        ({"REMOTE_ADDR": "10.0.0.7", "HTTP_AUTHORIZATION": "Bearer "}, "", False),
        ({"REMOTE_ADDR": "10.0.0.7", "HTTP_AUTHORIZATION": f"Bearer {SECRET}"}, SECRET, True),
        ({"REMOTE_ADDR": "10.0.0.7", "HTTP_AUTHORIZATION": f"Bearer {SECRET}x"}, SECRET, False),
        ({"REMOTE_ADDR": "10.0.0.7", "HTTP_AUTHORIZATION": "Bearer é"}, SECRET, False),
    ],
)
def test_who_may_read_metrics(environ: dict[str, str], token: str, may: bool) -> None:
    assert may_read_metrics(environ.get, token) is may
