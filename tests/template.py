"""A migrated database that is kept: a run copies it in a moment, where migrating takes it many seconds."""

from __future__ import annotations

import hashlib
from pathlib import Path

import django
import psycopg
from django.core.management import call_command
from django.db import connection
from psycopg import sql

APPS = Path(__file__).resolve().parents[1] / "apps"
PREFIX = "fermata_template_"
ONE_AT_A_TIME = 7_305_001
"""Any number: the lock under which the template is made."""


def kept_template() -> str:
    """The name of a database with today's migrations; made when it is not there, and those of other days dropped."""
    name = PREFIX + _digest()
    known = {**connection.get_connection_params(), "dbname": "postgres"}
    options = {key: known[key] for key in ("host", "port", "user", "password", "dbname") if known.get(key)}
    with psycopg.connect(**options, autocommit=True) as server:
        server.execute("SELECT pg_advisory_lock(%s)", [ONE_AT_A_TIME])
        there = [row[0] for row in server.execute("SELECT datname FROM pg_database").fetchall()]
        if name not in there:
            for old in (each for each in there if each.startswith(PREFIX)):
                _run(server, "DROP DATABASE IF EXISTS {} WITH (FORCE)", old)
            _make(server, name)
    return name


def _make(server: psycopg.Connection, name: str) -> None:
    # Under another name until it is whole: a run that is stopped leaves no half of one.
    half = f"{name}_half"
    _run(server, "CREATE DATABASE {}", half)
    real = connection.settings_dict["NAME"]
    connection.settings_dict["NAME"] = half
    try:
        call_command("migrate", verbosity=0, interactive=False)
    finally:
        connection.close()
        connection.settings_dict["NAME"] = real
    _run(server, "ALTER DATABASE {} RENAME TO {}", half, name)


def _run(server: psycopg.Connection, statement: str, *names: str) -> None:
    server.execute(sql.SQL(statement).format(*map(sql.Identifier, names)))


def _digest() -> str:
    found = hashlib.sha256(django.__version__.encode())
    for path in sorted(APPS.glob("*/migrations/*.py")):
        found.update(path.read_bytes())
    return found.hexdigest()[:16]
