from __future__ import annotations

from collections.abc import Iterator

import psycopg
import pytest
from django.db import connection


@pytest.fixture
def kept_connection(transactional_db: None) -> Iterator[int]:
    """The process at its other end."""
    connection.close()
    connection.ensure_connection()
    yield connection.connection.info.backend_pid
    connection.close()


def test_it_works(kept_connection: int) -> None:
    assert connection.is_usable()


def test_what_the_server_ended_is_not_usable(kept_connection: int) -> None:
    with psycopg.connect(**connection.get_connection_params() | {"cursor_factory": None}) as other:
        other.execute("SELECT pg_terminate_backend(%s, 10000)", [kept_connection])
    assert not connection.is_usable()


def test_a_notice_alone_ends_nothing(kept_connection: int) -> None:
    connection.connection.execute("LISTEN something")
    with psycopg.connect(**connection.get_connection_params() | {"cursor_factory": None}) as other:
        other.execute("NOTIFY something")
    assert connection.is_usable()


def test_a_closed_one_is_not_usable(kept_connection: int) -> None:
    connection.connection.close()
    assert not connection.is_usable()


def test_what_is_prepared_is_planned_without_its_values(kept_connection: int) -> None:
    with connection.cursor() as cursor:
        cursor.execute("SHOW plan_cache_mode")
        assert cursor.fetchone() == ("force_generic_plan",)
