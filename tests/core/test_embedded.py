"""Real servers in folders of their own; the ones pytest itself runs on are not touched."""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import stat
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest
import redis

from apps.core.embedded import Addresses, EmbeddedServers, EmbeddedUnavailable
from apps.core.embedded_processes import command_line

CHECKOUT = Path(__file__).resolve().parents[2]
pytestmark = pytest.mark.chaos


@pytest.fixture
def folder() -> Iterator[Path]:
    # Not tmp_path: that one is closed to the account root steps down to, which is a test of its own.
    path = Path(tempfile.mkdtemp(prefix="fermata-test-"))
    path.chmod(0o755)
    yield path
    shutil.rmtree(path)


@pytest.fixture
def servers(folder: Path) -> Iterator[EmbeddedServers]:
    servers = EmbeddedServers(folder / "var", durable=False, root_home=folder / "elsewhere")
    yield servers
    servers.erase()


def scalar(addresses: Addresses, query: str) -> object:
    """First value of the last statement's result."""
    with psycopg.connect(addresses.database_url, autocommit=True) as connection:
        cursor = connection.execute(query.encode())
        while cursor.nextset():
            pass
        row = cursor.fetchone()
    return row[0] if row else None


def postgres_pid(servers: EmbeddedServers) -> int:
    return int((servers.var / "postgres" / "postmaster.pid").read_text().splitlines()[0])


def test_it_works(servers: EmbeddedServers) -> None:
    addresses = servers.start()
    assert servers.running()
    assert scalar(addresses, "SELECT current_database()") == "fermata"
    with redis.Redis.from_url(addresses.redis_url) as client:
        assert client.ping()


def test_case_and_trigrams_know_every_script(servers: EmbeddedServers) -> None:
    addresses = servers.start()
    assert scalar(addresses, "SELECT 'ÉCOLE' ILIKE '%école%'")
    assert scalar(addresses, "CREATE EXTENSION pg_trgm; SELECT cardinality(show_trgm('مرحبا'))") == 6


def test_another_process_finds_them_running(servers: EmbeddedServers) -> None:
    addresses = servers.start()
    ask = (
        "import sys; from pathlib import Path; from apps.core.embedded import EmbeddedServers;"
        "print(EmbeddedServers(Path(sys.argv[1])).start().database_url)"
    )
    told = subprocess.run(
        [sys.executable, "-c", ask, servers.var], cwd=CHECKOUT, capture_output=True, text=True, check=True
    )
    assert told.stdout.strip() == addresses.database_url


def test_many_at_once_start_one_pair(servers: EmbeddedServers) -> None:
    start = (
        "import sys; from pathlib import Path; from apps.core.embedded import EmbeddedServers;"
        "print(EmbeddedServers(Path(sys.argv[1]), durable=False).start().redis_url)"
    )
    command = [sys.executable, "-c", start, str(servers.var)]
    at_once = [subprocess.Popen(command, cwd=CHECKOUT, stdout=subprocess.PIPE) for _ in range(4)]
    told = {process.communicate(timeout=60)[0] for process in at_once}
    assert told == {f"{servers.start().redis_url}\n".encode()}


def test_stop_leaves_no_process_and_keeps_data(servers: EmbeddedServers) -> None:
    scalar(servers.start(), "CREATE TABLE kept AS SELECT 42 AS n; SELECT 1")
    pid = postgres_pid(servers)
    servers.stop()
    assert command_line(pid) == ""
    assert not servers.running()
    assert scalar(servers.start(), "SELECT n FROM kept") == 42


def test_a_killed_database_recovers(servers: EmbeddedServers) -> None:
    scalar(servers.start(), "CREATE TABLE kept AS SELECT 42 AS n; SELECT 1")
    os.kill(postgres_pid(servers), signal.SIGKILL)
    assert scalar(servers.start(), "SELECT n FROM kept") == 42


def test_a_pid_file_that_names_another_program_is_not_believed(servers: EmbeddedServers) -> None:
    servers.start()
    servers.stop()
    pid_file = servers.var / "postgres" / "postmaster.pid"
    with subprocess.Popen(["/bin/sleep", "60"]) as other:
        pid_file.write_text(f"{other.pid}\n{servers.var}/postgres\n1\n1\n\n127.0.0.1\n\nready\n")
        assert not servers.running()
        servers.stop()
        assert other.poll() is None
        assert scalar(servers.start(), "SELECT 1") == 1
        other.kill()


def test_a_taken_port_is_given_up(servers: EmbeddedServers) -> None:
    before = servers.start()
    servers.stop()
    port = json.loads((servers.var / "embedded.json").read_text())["postgres"]["port"]
    with socket.create_server(("127.0.0.1", port)):
        after = servers.start()
    assert scalar(after, "SELECT 1") == 1
    assert after.database_url != before.database_url


def test_a_half_made_folder_is_made_anew(servers: EmbeddedServers) -> None:
    half = servers.var / "postgres.new"
    half.mkdir(parents=True)
    (half / "PG_VERSION").write_text("18\n")
    assert scalar(servers.start(), "SELECT 1") == 1


@pytest.mark.parametrize(
    ("file", "text", "told"),
    [
        ("postgres/PG_VERSION", "16\n", "PostgreSQL 16"),
        ("layout-version", "0\n", "layout 0"),
        ("embedded.json", "{", "gone or damaged"),
    ],
)
def test_an_older_folder_is_refused_with_the_way_out(
    servers: EmbeddedServers, file: str, text: str, told: str
) -> None:
    servers.start()
    servers.stop()
    (servers.var / file).write_text(text)
    with pytest.raises(EmbeddedUnavailable, match=f"{told}.*FRESH=1"):
        servers.start()


def test_an_older_layout_is_refused_while_the_servers_run(servers: EmbeddedServers) -> None:
    servers.start()
    (servers.var / "layout-version").write_text("0\n")
    with pytest.raises(EmbeddedUnavailable, match=r"layout 0.*FRESH=1"):
        servers.start()


def test_erase_starts_over(servers: EmbeddedServers) -> None:
    scalar(servers.start(), "CREATE TABLE gone (n int); SELECT 1")
    (servers.var / "demo.json").touch()
    servers.erase()
    assert scalar(servers.start(), "SELECT to_regclass('gone')") is None
    assert (servers.var / "demo.json").exists()


def test_passwords_are_private_and_asked_for(servers: EmbeddedServers) -> None:
    addresses = servers.start()
    assert stat.S_IMODE((servers.var / "embedded.json").stat().st_mode) == 0o600
    assert "fermata:" not in repr(addresses)
    port = json.loads((servers.var / "embedded.json").read_text())["postgres"]["port"]
    with pytest.raises(psycopg.OperationalError, match="password"):
        psycopg.connect(host="127.0.0.1", port=port, user="fermata", password="guess", dbname="fermata")


def test_not_durable_is_for_tests_only(servers: EmbeddedServers) -> None:
    assert scalar(servers.start(), "SHOW fsync") == "off"
    servers.stop()
    servers.durable = True
    assert scalar(servers.start(), "SHOW fsync") == "on"


@pytest.mark.skipif(os.geteuid() != 0, reason="only root steps down to another account")
def test_root_serves_a_folder_its_account_cannot_enter(folder: Path) -> None:
    closed = folder / "closed"
    closed.mkdir(mode=0o700)
    servers = EmbeddedServers(closed / "var", durable=False, root_home=folder / "elsewhere")
    assert scalar(servers.start(), "SELECT 1") == 1
    assert not (closed / "var" / "postgres").exists()
    assert stat.S_IMODE(closed.stat().st_mode) == 0o700
    servers.erase()
    assert not (folder / "elsewhere").exists()


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_folder_of_another_user_is_refused_with_the_way_out() -> None:
    with pytest.raises(EmbeddedUnavailable, match=r"belongs to root.*FERMATA_VAR"):
        EmbeddedServers(Path("/usr/fermata-var")).start()


def test_an_answer_is_at_once_when_they_run(servers: EmbeddedServers) -> None:
    servers.start()
    began = time.monotonic()
    servers.start()
    assert time.monotonic() - began < 0.5
