"""The whole demo, started and stopped as a newcomer would."""

from __future__ import annotations

import http.client
import json
import os
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from apps.core.embedded import EmbeddedServers
from apps.core.embedded_processes import free_port, is_free, wait_until

pytestmark = pytest.mark.chaos
ROOT = Path(__file__).resolve().parents[2]


class Running:
    """`make demo` in a folder of its own; `said` grows while it runs."""

    def __init__(self, var: Path) -> None:
        self.port = free_port()
        environment = {
            name: value
            for name, value in os.environ.items()
            if not name.startswith(
                ("DATABASE_URL", "REDIS_URL", "DJANGO_", "CLOUDFLARE_", "SECRET_KEY", "LOG_LEVEL")
            )
        }
        self.process = subprocess.Popen(
            [sys.executable, "-m", "apps.demo", "--port", str(self.port)],
            cwd=ROOT,
            env=environment | {"FERMATA_VAR": str(var)},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        self.said = ""
        self.reader = threading.Thread(target=self._read)
        self.reader.start()

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self.said += line

    def decided(self) -> int:
        together = sum(int(count) for count in re.findall(r"(\d+) items decided", self.said))
        return together + len(re.findall(r"→", self.said))

    def status_of(self, path: str) -> int:
        with closing(http.client.HTTPConnection("127.0.0.1", self.port, timeout=10)) as connection:
            connection.request("GET", path)
            return connection.getresponse().status

    def stop(self, number: signal.Signals) -> int:
        self.process.send_signal(number)
        status = self.process.wait(30)
        self.reader.join(10)
        return status


@pytest.fixture
def demo(tmp_path: Path) -> Iterator[Running]:
    running = Running(tmp_path / "var")
    yield running
    running.process.terminate()
    running.process.wait(30)
    running.reader.join(10)
    assert running.process.stdout is not None
    running.process.stdout.close()
    EmbeddedServers(tmp_path / "var").erase()


def test_it_works(demo: Running, tmp_path: Path) -> None:
    assert wait_until(lambda: demo.decided() >= 10, 300), demo.said
    facts = json.loads((tmp_path / "var" / "demo.json").read_text())
    assert facts["url"] == f"http://127.0.0.1:{demo.port}"
    assert facts["model"].startswith("standin-")
    assert set(facts["tokens"]) == {"leads", "messages-ar", "support", "documents"}
    assert all(f"{slug}, token {token}" in demo.said for slug, token in facts["tokens"].items())
    assert demo.status_of("/sign-in/") == 200
    embedded = json.loads((tmp_path / "var" / "embedded.json").read_text())
    assert demo.stop(signal.SIGTERM) == 0
    ports = [demo.port, embedded["postgres"]["port"], embedded["valkey"]["port"]]
    assert [port for port in ports if not is_free(port)] == [], demo.said
    assert "Everything is stopped" in demo.said


def test_stopped_while_it_starts_it_leaves_nothing(demo: Running, tmp_path: Path) -> None:
    assert wait_until((tmp_path / "var" / "demo.lock").exists, 20)
    assert demo.stop(signal.SIGINT) == 0
    assert not EmbeddedServers(tmp_path / "var").running()
