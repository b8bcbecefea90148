"""Small things PostgreSQL does better than Python, and statements that it plans once a connection."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any, Generic, TypeVar

import psycopg
from django.db import DEFAULT_DB_ALIAS, connections
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.backends.utils import CursorWrapper
from django.db.models import DateTimeField, DurationField, Func, JSONField, Model

M = TypeVar("M", bound=Model)


class ClockTimestamp(Func):
    """The database's clock at this very moment, not at the transaction's start: leases and claims end by it."""

    function = "clock_timestamp"
    output_field = DateTimeField()


class Seconds(Func):
    """A number of seconds in a column, as an interval to add to an instant."""

    function = "make_interval"
    template = "%(function)s(secs => %(expressions)s)"
    output_field = DurationField()


class _Prepared(psycopg.Cursor[Any]):
    """A cursor that sends values apart from the statement, which is planned but once a connection."""

    def execute(self, query: Any, params: Any = None, **_: Any) -> _Prepared:
        return super().execute(query, params, prepare=True)


def fetch(sql: str, values: Mapping[str, Any], *, is_common: bool = True) -> list[tuple[Any, ...]]:
    """All rows of a statement that returns some, in whatever transaction is open. JSON comes as text.

    For the few statements behind every answer of a reviewer: what they are costs more to plan than to run. A
    statement's text must be one of few, its values apart from it. Without `is_common` it is planned for its values.
    """
    database = connections[DEFAULT_DB_ALIAS]
    # What is logged is read back from Django's own cursor.
    with _prepared(database) if is_common and not database.queries_logged else database.cursor() as cursor:
        cursor.execute(sql, values)
        rows: list[tuple[Any, ...]] = cursor.fetchall()
        return rows


def _prepared(database: BaseDatabaseWrapper) -> CursorWrapper:
    database.close_if_health_check_failed()
    database.ensure_connection()
    driver = database.connection
    if driver.prepare_threshold is None:
        # Django turns it off for what it sends itself, and sends that by a cursor which cannot prepare.
        driver.prepare_threshold = 0
    return CursorWrapper(_Prepared(driver), database)


class Columns(Generic[M]):
    """Columns of a model in a statement of one's own: written into it, they come back as an instance.

    As with `only()`, what is not among them is asked for when it is used.
    """

    def __init__(self, model: type[M], *names: str) -> None:
        """All columns without `names`."""
        fields = model._meta.concrete_fields
        self._model = model
        self._fields = [field for field in fields if not names or field.name in names]
        self._names = [field.attname for field in self._fields]
        self._of_json = [isinstance(field, JSONField) for field in self._fields]

    def of(self, table: str) -> str:
        """As they stand behind SELECT or RETURNING, `table` being its name there."""
        return ", ".join(f"{table}.{field.column}" for field in self._fields)

    def take(self, values: Iterator[Any]) -> M:
        """The instance of the next values of a row."""
        found = [
            json.loads(value) if of_json and value is not None else value
            for of_json, value in zip(self._of_json, values, strict=False)
        ]
        return self._model.from_db(DEFAULT_DB_ALIAS, self._names, found)
