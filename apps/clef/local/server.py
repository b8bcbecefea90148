"""A stand-in for a decision model: a real HTTP server on this machine, for the demo, tests and benchmarks.

    python -m apps.clef.local.server --port 8787

It answers `POST /v1/systemone` and Workers AI's `POST /client/v4/accounts/{id}/ai/run/@cf/cloudflare/{model}`
by the same small classifier, and calls itself standin-ngram-1 on both.
"""

from __future__ import annotations

import argparse
import json
import signal
import socketserver
import sys
import threading
import time
from collections.abc import Iterable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import cycle
from pathlib import Path
from typing import Any, Self

from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]  # it publishes no types

from .asked import Asked
from .classifier import ModelCache
from .faces import MODEL, Face, Reply, WorkersAIFace, face_for
from .faults import BROKEN, HTML_PAGE, break_reply, check_fault, message_of
from .features import features_of

MAX_BODY_BYTES = 13 * 1024 * 1024


class StandIn(ThreadingHTTPServer):
    """Listens on a free port unless told one; as a context manager it serves from its own thread.

    `delay_s` is the least a decision takes in all, as if the model were that far away. `faults` is what
    happens to the next decisions, one each: None for an answer, else a name from faults.py.
    """

    daemon_threads = True
    request_queue_size = 256

    def __init__(
        self,
        *,
        host: str = "127.0.0.1",
        port: int = 0,
        delay_s: float = 0.0,
        faults: Iterable[str | None] = (),
        bad_tokens: frozenset[str] = frozenset({"wrong-token"}),
    ) -> None:
        super().__init__((host, port), _Handler)
        self.delay_s = delay_s
        self.bad_tokens = bad_tokens
        self.models = ModelCache()
        self._faults = iter(faults)
        self._faults_lock = threading.Lock()
        self._thread = threading.Thread(target=self.serve_forever, args=(0.01,), daemon=True)

    def server_bind(self) -> None:
        # HTTPServer would look up this machine's name, which can take seconds without a resolver.
        socketserver.TCPServer.server_bind(self)
        host, self.server_port = self.server_address[:2]
        self.server_name = str(host)

    @property
    def url(self) -> str:
        """The base address for the systemone kind."""
        return f"http://{self.server_name}:{self.server_port}"

    @property
    def workers_ai_url(self) -> str:
        """The base address for the workers-ai kind."""
        return f"{self.url}/client/v4"

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.shutdown()
        self._thread.join()
        self.server_close()

    def handle_error(self, request: Any, client_address: Any) -> None:
        # A client that goes away in the middle is no fault of ours.
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)

    def set_faults(self, faults: list[str | None], *, repeat: bool = False) -> None:
        with self._faults_lock:
            self._faults = cycle(faults) if repeat else iter(faults)

    def next_fault(self) -> str | None:
        with self._faults_lock:
            return check_fault(next(self._faults, None))

    def decide(self, asked: Asked) -> list[list[float]]:
        """A distribution for each question, in the order asked; each question is judged on its own."""
        features = features_of(asked.text)
        models = [self.models.get(question.texts) for question in asked.questions]
        return [model.predict(features).tolist() for model in models]


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    wbufsize = -1  # head and body leave in one packet
    timeout = 120
    server: StandIn

    def do_GET(self) -> None:
        if self.path == "/healthz":
            self._send_document(200, {"status": "ok", "model": MODEL})
        elif self.path == "/v1/models":
            about = {"name": MODEL, "description": "Character n-grams, local", "release_date": "2026-11-30"}
            self._send_document(200, {"models": [about]})
        else:
            self._send_document(404, {"detail": "Not Found"})

    def do_POST(self) -> None:
        started = time.monotonic()
        body = self._read_body()
        if body is None:
            return
        if self.path == "/faults":
            self._set_faults(body)
            return
        face = face_for(self.path)
        if isinstance(face, Reply):
            self._send(face)
            return
        fault = self.server.next_fault()
        reply = self._refuse_token(face) or self._force(face, fault) or self._decide(face, body)
        time.sleep(max(0.0, started + self.server.delay_s - time.monotonic()))
        self._send(reply, fault)

    def _read_body(self) -> bytes | None:
        length = self.headers.get("Content-Length", "")
        if length.isdecimal() and int(length) <= MAX_BODY_BYTES:
            return self.rfile.read(int(length))
        # What follows on this connection cannot be told from the body, so it ends here.
        self.close_connection = True
        status = 413 if length.isdecimal() else 411
        self._send_document(status, {"detail": f"A body of at most {MAX_BODY_BYTES} bytes is required"})
        return None

    def _set_faults(self, body: bytes) -> None:
        try:
            document = json.loads(body)
            faults = [check_fault(name) for name in document["faults"]]
        except (ValueError, KeyError, TypeError) as problem:
            self._send_document(422, {"detail": str(problem)})
            return
        self.server.set_faults(faults, repeat=bool(document.get("repeat")))
        self._send_document(200, {"faults": len(faults)})

    def _refuse_token(self, face: Face) -> Reply | None:
        scheme, _, token = self.headers.get("Authorization", "").partition(" ")
        is_good = scheme.lower() == "bearer" and token.strip() and token.strip() not in self.server.bad_tokens
        if isinstance(face, WorkersAIFace) and not is_good:
            return face.error(401, 10000, "Authentication error")
        return None

    def _force(self, face: Face, fault: str | None) -> Reply | None:
        if fault is None or fault in BROKEN:
            return None
        status, _, code = fault.partition("/")
        if code == "html":
            return Reply(int(status), HTML_PAGE, {"Content-Type": "text/html"})
        return face.error(int(status), int(code), message_of(fault))

    def _decide(self, face: Face, body: bytes) -> Reply:
        try:
            asked = face.read(body)
            return asked if isinstance(asked, Reply) else face.answer(asked, self.server.decide(asked))
        except RecursionError:
            return face.error(400, 6003, "The body is nested too deeply")

    def _send(self, reply: Reply, fault: str | None = None) -> None:
        if fault == "drop":
            self.close_connection = True
            return
        body = break_reply(fault, reply.body) if fault in BROKEN and reply.status == 200 else reply.body
        self.send_response(reply.status)
        for name, value in reply.headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body) + 10 if fault == "short" else len(body)))
        if self.close_connection or fault == "short":
            self.close_connection = True
            self.send_header("Connection", "close")
        self.end_headers()
        self.wfile.write(body)

    def _send_document(self, status: int, document: dict[str, Any]) -> None:
        self._send(Reply(status, json.dumps(document).encode(), {"Content-Type": "application/json"}))

    def log_message(self, format: str, *args: Any) -> None:
        """Says nothing: one line a decision would drown the demo's own output."""


def main() -> None:
    parser = argparse.ArgumentParser(description="A local decision model that stands in for Clef.")
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=8787, help="0 takes a free one")
    parser.add_argument("--port-file", type=Path, help="where to write the port once it is open")
    parser.add_argument("--delay-ms", type=float, default=0.0, help="the least a decision takes in all")
    options = parser.parse_args()
    threadpool_limits(limits=1)  # many small requests: threads of one's own each would only fight
    for asked_to_stop in (signal.SIGTERM, signal.SIGINT):
        signal.signal(asked_to_stop, lambda *_: sys.exit(0))
    server = StandIn(host=options.host, port=options.port, delay_s=options.delay_ms / 1000)
    try:
        if options.port_file:
            _write_whole(options.port_file, f"{server.server_port}\n")
        server.serve_forever()
    finally:
        server.server_close()


def _write_whole(path: Path, text: str) -> None:
    """A reader sees the file complete or not at all."""
    unfinished = path.with_name(f"{path.name}.part")
    unfinished.write_text(text)
    unfinished.replace(path)


if __name__ == "__main__":
    main()
