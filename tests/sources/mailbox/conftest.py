from __future__ import annotations

import re
import socket
import threading
import uuid
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any

import pytest

from apps.sources.models import Source
from apps.workflows.models import Workflow
from tests.factories import NOW
from tests.sources.mailbox.dovecot import PASSWORD, Dovecot, MailServerUser, running_dovecot, why_not


@pytest.fixture(scope="session")
def dovecot() -> Iterator[Dovecot]:
    reason = why_not()
    if reason:
        pytest.skip(reason)
    with running_dovecot() as server:
        yield server


@pytest.fixture
def ann(dovecot: Dovecot, monkeypatch: pytest.MonkeyPatch) -> Iterator[MailServerUser]:
    """Somebody whose mailbox is empty."""
    monkeypatch.setenv("MAILBOX_PASSWORD", PASSWORD)
    user = MailServerUser(dovecot, f"ann-{uuid.uuid4().hex[:12]}")
    yield user
    user.client.logout()


@pytest.fixture
def desk(ann: MailServerUser, workflow: Workflow) -> Source:
    return make_mailbox(workflow, ann)


def make_mailbox(workflow: Workflow, user: MailServerUser, **settings: Any) -> Source:
    return Source.objects.create(
        workflow=workflow, name="desk", kind="imap", settings=user.settings | settings
    )


def mail(number: int, text: str = "Hello.") -> bytes:
    lines = [
        f"From: Ada <ada@farm.example>\r\nMessage-ID: <{number}@farm.example>\r\nSubject: Order {number}",
        "Date: Mon, 30 Nov 2026 08:00:00 +0000\r\nMIME-Version: 1.0\r\nContent-Type: text/plain",
        f"\r\n{text}\r\n",
    ]
    return "\r\n".join(lines).encode()


def due(source: Source) -> Source:
    """As if the time of its next look had come."""
    Source.objects.filter(pk=source.pk).update(next_look_at=NOW)
    source.refresh_from_db()
    return source


def dying_after(calls: int) -> Callable[[], Any]:
    """A clock during whose next call the worker is killed."""
    left = iter(range(calls))

    def now() -> Any:
        if next(left, None) is None:
            raise SystemExit("killed")
        return NOW

    return now


class HangingUp:
    """Stands between client and server; cuts the connection once what was said to the client matches `cue`."""

    def __init__(self, port: int, cue: bytes) -> None:
        self.connections = 0
        self._server_port = port
        self._cue = re.compile(cue)
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self) -> None:
        with suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            self.connections += 1
            server = socket.create_connection(("127.0.0.1", self._server_port))
            threading.Thread(target=_copy, args=(client, server, None), daemon=True).start()
            threading.Thread(target=_copy, args=(server, client, self._cue), daemon=True).start()


def _copy(source: socket.socket, target: socket.socket, cue: re.Pattern[bytes] | None) -> None:
    said = b""
    with source, target, suppress(OSError):
        while data := source.recv(65_536):
            target.sendall(data)
            said = said[-200:] + data
            if cue is not None and cue.search(said):
                break
        for each in (source, target):
            with suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)


@pytest.fixture
def hanging_up(ann: MailServerUser) -> Iterator[Callable[[bytes], HangingUp]]:
    made: list[HangingUp] = []

    def make(cue: bytes) -> HangingUp:
        made.append(HangingUp(ann.server.port, cue))
        return made[-1]

    yield make
    for each in made:
        each.close()
