"""PostgreSQL is away: 503 with Retry-After, and nothing of the inside."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from django.db import connection
from django.test import Client


@pytest.fixture
def away(transactional_db: None) -> Iterator[None]:
    """This thread's connection leads nowhere; it is put back as it was."""
    connection.close()
    port, connection.settings_dict["PORT"] = connection.settings_dict["PORT"], "1"
    yield
    connection.settings_dict["PORT"] = port
    connection.close()


@pytest.mark.usefixtures("away")
def test_it_works(client: Client) -> None:
    response = client.get("/api/v1/items/1", headers={"Authorization": "Bearer x"})
    assert (response.status_code, response.json()["error"]["code"]) == (503, "not_now")
    assert response.headers["Retry-After"]
    assert b"connection" not in response.content


@pytest.mark.usefixtures("away")
def test_health(client: Client) -> None:
    assert client.get("/healthz").status_code == 200
    ready = client.get("/readyz")
    assert (ready.status_code, ready.json()["parts"]["database"]) == (503, "does not answer")
    assert client.get("/metrics").status_code == 503
