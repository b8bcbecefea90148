"""What the demo stands on before Django is loaded: one demo a folder, a free port, erasing, the servers."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import socket
from collections.abc import Iterator
from pathlib import Path

from apps.core.embedded import EmbeddedServers, owner_of
from apps.core.embedded_processes import give

OWN_FILES = ("demo.json", "log/web.log", "log/worker.log", "log/beat.log", "log/model.log")
BEAT_SCHEDULE = "beat-schedule"


class CannotStart(Exception):
    """The text says in a sentence why the demo cannot start, and the way out."""


@contextlib.contextmanager
def only_demo(var: Path) -> Iterator[None]:
    """Hold the folder: a second demo on the same data would stop the first one's servers when it ends."""
    try:
        if not var.exists():
            var.mkdir(parents=True)
            give(var, *owner_of(var.parent))
        lock = (var / "demo.lock").open("a+")
    except PermissionError as error:
        raise CannotStart(
            f"{error.filename} belongs to another user: run as that user, or set FERMATA_VAR to a folder of "
            f"your own."
        ) from error
    with lock:
        give(var / "demo.lock", *owner_of(var))
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            lock.seek(0)
            raise CannotStart(
                f"A demo runs from {var} already (process {lock.read().strip() or 'unknown'}): stop it first, or set "
                f"FERMATA_VAR to another folder for a second one."
            ) from None
        lock.truncate(0)
        lock.write(f"{os.getpid()}\n")
        lock.flush()
        yield


def read_port(text: str) -> int:
    """Raise CannotStart for what is no port."""
    port = int(text) if text.isascii() and text.isdecimal() and len(text) <= 5 else 0
    if not 1 <= port <= 65_535:
        raise CannotStart(
            f"PORT must be a whole number from 1 to 65535, not {text!r}: `make demo PORT=8010`."
        )
    return port


def check_port(port: int) -> None:
    """Raise CannotStart unless the web server could listen there."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError as error:
            if error.errno not in (errno.EADDRINUSE, errno.EACCES):
                raise
            why = "in use" if error.errno == errno.EADDRINUSE else "not open to this user"
            other = port + 10 if 1024 <= port <= 65_000 else 8010
            raise CannotStart(f"Port {port} is {why}: `make demo PORT={other}` takes another.") from error


def erase(var: Path) -> None:
    """Delete the demo's data for good; the caller holds the folder."""
    EmbeddedServers(var).erase()
    for path in (*(var / name for name in OWN_FILES), *var.glob(f"{BEAT_SCHEDULE}*")):
        path.unlink(missing_ok=True)


def leave_usable(var: Path) -> None:
    """Root in somebody's checkout leaves them what it wrote there."""
    for path in (var / "secret_key", *(var / name for name in OWN_FILES), *var.glob(f"{BEAT_SCHEDULE}*")):
        if path.exists():
            give(path, *owner_of(var))
