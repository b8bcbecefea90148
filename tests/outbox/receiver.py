"""A receiver of webhooks on loopback: real sockets, what it says is for the test to choose."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
OLD_SECRET = "whsec_b2xkIHNlY3JldCBvZiB0aGUgc2VuZGVy"


@dataclass
class Receiver:
    """`status` of the post with this number, from 0; `received`: headers and body of each."""

    url: str = ""
    status: Callable[[int], int] = lambda number: 204
    headers: dict[str, str] = field(default_factory=dict)
    received: list[tuple[dict[str, str], bytes]] = field(default_factory=list)
    lock: threading.Lock = field(default_factory=threading.Lock)


@contextmanager
def receiving(status: Callable[[int], int] = lambda number: 204, **headers: str) -> Iterator[Receiver]:
    receiver = Receiver(
        status=status, headers={name.replace("_", "-"): text for name, text in headers.items()}
    )

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            with receiver.lock:
                number = len(receiver.received)
                receiver.received.append(({k.lower(): v for k, v in self.headers.items()}, body))
            self.send_response(receiver.status(number))
            for name, text in receiver.headers.items():
                self.send_header(name, text)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, format: str, *args: object) -> None:
            """Quiet."""

    class Server(ThreadingHTTPServer):
        # With fewer the kernel drops who connects at the same moment, and they wait a second.
        request_queue_size = 64

    server = Server(("127.0.0.1", 0), Handler)
    receiver.url = f"http://127.0.0.1:{server.server_address[1]}/hook"
    thread = threading.Thread(target=server.serve_forever, args=(0.02,))
    thread.start()
    try:
        yield receiver
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


@contextmanager
def raw_server(answer: bytes, *, drip: bytes = b"", every_s: float = 0.05) -> Iterator[str]:
    """Says `answer` to whoever connects, then `drip` again and again until they are gone."""
    listening = socket.create_server(("127.0.0.1", 0))
    listening.settimeout(0.1)
    over = threading.Event()

    def serve() -> None:
        while not over.is_set():
            try:
                connection, _ = listening.accept()
            except TimeoutError:
                continue
            with connection:
                _talk(connection, answer, drip, every_s, over)

    thread = threading.Thread(target=serve)
    thread.start()
    try:
        yield f"http://127.0.0.1:{listening.getsockname()[1]}/"
    finally:
        over.set()
        thread.join()
        listening.close()


def _talk(
    connection: socket.socket, answer: bytes, drip: bytes, every_s: float, over: threading.Event
) -> None:
    connection.recv(65536)
    try:
        connection.sendall(answer)
        while drip and not over.is_set():
            connection.sendall(drip)
            time.sleep(every_s)
    except OSError:
        return
