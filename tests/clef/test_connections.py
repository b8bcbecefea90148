"""What only real sockets show: connections cut, kept alive, dripping or refused."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress

import pytest

from apps.clef.client import ClefClient
from apps.clef.errors import ClefError, EndpointUnreachable, InvalidReply
from apps.clef.types import EndpointSettings, ModelRequest, NoulQuestion

REQUEST = ModelRequest("text", (NoulQuestion("urgent", "Is it?"),))
BODY = b'{"model":"m","answers":{"urgent":{"type":"noul","noul":0.5}},"usage":{"input_tokens":1}}'


@contextmanager
def server(*pieces: bytes, pause_s: float = 0.0) -> Iterator[tuple[str, list[int]]]:
    """Sends `pieces` to everyone who asks, `pause_s` apart, then closes; notes each connection."""
    connections: list[int] = []
    stop = threading.Event()

    def serve(listener: socket.socket) -> None:
        while not stop.is_set():
            try:
                connection, address = listener.accept()
            except TimeoutError:
                continue
            connections.append(address[1])
            with connection, suppress(ConnectionError):  # a client may have heard enough
                read_request(connection)
                for piece in pieces:
                    connection.sendall(piece)
                    stop.wait(pause_s)

    with socket.create_server(("127.0.0.1", 0)) as listener:
        listener.settimeout(0.05)
        thread = threading.Thread(target=serve, args=(listener,))
        thread.start()
        try:
            yield f"http://127.0.0.1:{listener.getsockname()[1]}", connections
        finally:
            stop.set()
            thread.join()


def read_request(connection: socket.socket) -> None:
    """Whole, for a connection closed with something unread is reset, and the reply lost with it."""
    with connection.makefile("rb") as stream:
        lines = list(iter(stream.readline, b"\r\n"))
        length = next(line for line in lines if line.lower().startswith(b"content-length:"))
        stream.read(int(length.split(b":")[1]))


def head(length: int) -> bytes:
    return b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n" % length


def ask(url: str, timeout_s: float = 2.0) -> ClefError:
    settings = EndpointSettings("systemone", url, "any", timeout_s=timeout_s)
    with ClefClient(settings, sleep=lambda _: None) as client, pytest.raises(ClefError) as caught:
        client.decide(REQUEST)
    return caught.value


def test_it_works() -> None:
    with (
        server(head(len(BODY)) + BODY) as (url, _),
        ClefClient(EndpointSettings("systemone", url, "any")) as client,
    ):
        assert client.decide(REQUEST).answers["urgent"].p("true") == 0.5


def test_a_body_shorter_than_announced_is_tried_again() -> None:
    with server(head(len(BODY) + 10) + BODY) as (url, connections):
        error = ask(url)
    assert isinstance(error, EndpointUnreachable)
    assert (error.attempts, len(connections)) == (3, 3)


def test_a_connection_closed_without_a_reply_is_tried_again() -> None:
    with server() as (url, connections):
        assert isinstance(ask(url), EndpointUnreachable)
    assert len(connections) == 3


def test_what_is_no_http_is_unreachable() -> None:
    with server(b"SSH-2.0-OpenSSH_9.6\r\n") as (url, _):
        assert isinstance(ask(url), EndpointUnreachable)


def test_a_port_nobody_listens_on_is_unreachable() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        url = f"http://127.0.0.1:{listener.getsockname()[1]}"
    error = ask(url)
    assert (type(error), error.scope, error.retry) == (EndpointUnreachable, "endpoint", True)


def test_a_reply_that_drips_ends_at_the_timeout() -> None:
    with server(head(1000), *[b" "] * 30, pause_s=0.05) as (url, _):
        error = ask(url, timeout_s=0.2)
    assert (type(error), error.code) == (EndpointUnreachable, "ReadTimeout")


def test_an_endless_reply_is_not_read_to_its_end() -> None:
    with server(head(6_000_000) + b" " * 6_000_000) as (url, _):
        error = ask(url, timeout_s=10)
    assert (type(error), error.code) == (InvalidReply, "reply_size")


def test_a_broken_compression_is_an_invalid_reply() -> None:
    gzipped = b"HTTP/1.1 200 OK\r\ncontent-encoding: gzip\r\ncontent-length: 4\r\n\r\nnope"
    with server(gzipped) as (url, _):
        assert isinstance(ask(url), InvalidReply)


def test_many_threads_share_one_client() -> None:
    with (
        server(head(len(BODY)) + BODY) as (url, _),
        ClefClient(EndpointSettings("systemone", url, "any"), pool_size=4) as client,
        ThreadPoolExecutor(8) as pool,
    ):
        replies = list(pool.map(lambda _: client.decide(REQUEST), range(40)))
    assert {reply.answers["urgent"].p("true") for reply in replies} == {0.5}
