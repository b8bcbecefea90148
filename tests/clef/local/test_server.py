from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from http.client import HTTPConnection
from pathlib import Path

import httpx
import pytest

from apps.clef.local.server import MAX_BODY_BYTES, StandIn

ASK = {"model": "any", "state": "text", "questions": {"q": {"type": "noul", "instructions": "Is it?"}}}


def test_it_works(web: httpx.Client) -> None:
    assert web.get("/healthz").json() == {"status": "ok", "model": "standin-ngram-1"}
    models = web.get("/v1/models").json()["models"]
    assert [model["name"] for model in models] == ["standin-ngram-1"]


def test_a_connection_is_kept_alive(standin: StandIn) -> None:
    connection = HTTPConnection(standin.server_name, standin.server_port)
    for _ in range(3):
        connection.request("POST", "/v1/systemone", json.dumps(ASK))
        assert connection.getresponse().read()
        port = connection.sock.getsockname()[1]
        assert connection.sock is not None
    connection.request("GET", "/healthz")
    assert connection.getresponse().read()
    assert connection.sock.getsockname()[1] == port
    connection.close()


@pytest.mark.parametrize("method", ["GET", "POST"])
def test_another_path_is_not_found(web: httpx.Client, method: str) -> None:
    assert web.request(method, "/v2/systemone").status_code == 404


@pytest.mark.parametrize(
    ("length", "status"), [(str(MAX_BODY_BYTES + 1), 413), ("-1", 411), ("many", 411), (None, 411)]
)
def test_a_body_without_a_bounded_length_is_refused(
    standin: StandIn, length: str | None, status: int
) -> None:
    connection = HTTPConnection(standin.server_name, standin.server_port)
    connection.putrequest("POST", "/v1/systemone")
    if length is not None:
        connection.putheader("Content-Length", length)
    connection.endheaders()
    reply = connection.getresponse()
    assert (reply.status, reply.getheader("Connection")) == (status, "close")
    connection.close()


def test_a_decision_takes_the_delay_and_little_more() -> None:
    with StandIn(delay_s=0.1) as standin, httpx.Client(base_url=standin.url) as client:
        client.post("/v1/systemone", json=ASK)
        started = time.monotonic()
        client.post("/v1/systemone", json=ASK)
        assert 0.1 <= time.monotonic() - started < 1.0


def test_decisions_wait_side_by_side() -> None:
    with (
        StandIn(delay_s=0.1) as standin,
        httpx.Client(base_url=standin.url) as client,
        ThreadPoolExecutor(16) as pool,
    ):
        started = time.monotonic()
        replies = list(pool.map(lambda _: client.post("/v1/systemone", json=ASK), range(64)))
        assert time.monotonic() - started < 3
    assert len({reply.text for reply in replies}) == 1


@pytest.mark.slow
def test_it_runs_as_a_program_and_stops_when_told(tmp_path: Path) -> None:
    port_file = tmp_path / "port"
    arguments = ["--port", "0", "--port-file", str(port_file), "--delay-ms", "1"]
    with subprocess.Popen([sys.executable, "-m", "apps.clef.local.server", *arguments]) as process:
        try:
            wait_for(port_file)
            url = f"http://127.0.0.1:{port_file.read_text().strip()}"
            assert httpx.post(f"{url}/v1/systemone", json=ASK).status_code == 200
        finally:
            process.send_signal(signal.SIGTERM)
        assert process.wait(timeout=5) == 0


def wait_for(path: Path) -> None:
    until = time.monotonic() + 20
    while not path.exists():
        assert time.monotonic() < until, "the server did not open its port"
        time.sleep(0.05)
