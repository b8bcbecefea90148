"""The processes of the demo: each in a group of its own, restarted when it dies, gone when the demo is."""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from apps.core.embedded import owner_of
from apps.core.embedded_processes import give

STOP_LIMIT_S = 10.0
KILL_LIMIT_S = 5.0
MOST_RESTARTS = 3
QUIET_S = 60.0
"""A child that ran this long counts as well again: its restarts are counted anew."""
_PR_SET_PDEATHSIG = 1


class ChildDied(RuntimeError):
    """It did so again and again; the text says where its log is and how that ends."""


def _ask_to_end_with_parent() -> Callable[[], None] | None:
    """Runs in the new process: the system sends it SIGTERM when the demo ends, even by SIGKILL. Linux only."""
    if not sys.platform.startswith("linux"):
        return None
    # Loaded here, because between fork and exec next to nothing may be done.
    prctl, parent = ctypes.CDLL(None, use_errno=True).prctl, os.getpid()

    def ask() -> None:
        prctl(_PR_SET_PDEATHSIG, signal.SIGTERM, 0, 0, 0)
        if os.getppid() != parent:
            os._exit(1)

    return ask


@dataclass(slots=True)
class Child:
    """One program with its log. `name` is what people read and the log is called."""

    name: str
    arguments: Sequence[str]
    log: Path
    folder: Path
    restarts: int = 0
    started_at: float = 0.0
    process: subprocess.Popen[bytes] | None = None

    def start(self, *, fresh_log: bool) -> None:
        self.log.parent.mkdir(exist_ok=True)
        with self.log.open("wb" if fresh_log else "ab") as output:
            give(self.log, *owner_of(self.log.parent))
            self.process = subprocess.Popen(  # noqa: S603 - our own programs, no shell
                self.arguments,
                cwd=self.folder,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                # Ctrl-C in the terminal reaches the demo alone, which then stops them in order.
                process_group=0,
                preexec_fn=_ask_to_end_with_parent(),  # this process has one thread
            )
        self.started_at = time.monotonic()

    def keep_alive(self) -> str | None:
        """A sentence when it had to be started again. Raises ChildDied when that does not help any more."""
        if self.process is None or self.process.poll() is None:
            return None
        status = self.process.returncode
        self._signal(signal.SIGKILL)  # what it may have left behind in its group
        if time.monotonic() - self.started_at > QUIET_S:
            self.restarts = 0
        if self.restarts >= MOST_RESTARTS:
            raise ChildDied(
                f"The {self.name} ended {self.restarts + 1} times, last with status {status}. "
                f"Its log is {self.log} and ends:\n{last_lines(self.log)}"
            )
        self.restarts += 1
        self.start(fresh_log=False)
        return f"The {self.name} ended with status {status} and was started again; its log is {self.log}."

    def is_gone(self) -> bool:
        return self.process is None or self.process.poll() is not None

    def terminate(self) -> None:
        if self.process is not None and self.process.poll() is None:
            self.process.terminate()

    def kill(self) -> None:
        """It and whatever it started that is still there."""
        self._signal(signal.SIGKILL)

    def _signal(self, number: signal.Signals) -> None:
        if self.process is not None:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self.process.pid, number)


@dataclass(slots=True)
class Children:
    all: list[Child] = field(default_factory=list)

    def start(self, child: Child) -> None:
        self.all.append(child)
        child.start(fresh_log=True)

    def keep_alive(self) -> list[str]:
        return [said for child in self.all if (said := child.keep_alive()) is not None]

    def stop(self, *, limit_s: float = STOP_LIMIT_S) -> None:
        """Ask all to end, wait, then end those that did not."""
        for child in self.all:
            child.terminate()
        _wait(self.all, limit_s)
        for child in self.all:
            child.kill()
        _wait(self.all, KILL_LIMIT_S)
        self.all.clear()


def _wait(children: Sequence[Child], limit_s: float) -> None:
    end = time.monotonic() + limit_s
    while time.monotonic() < end and not all(child.is_gone() for child in children):
        time.sleep(0.05)


def last_lines(path: Path, count: int = 8) -> str:
    """The end of a log, without reading the rest of it."""
    with contextlib.suppress(OSError), path.open("rb") as file:
        file.seek(max(0, path.stat().st_size - 4000))
        lines = file.read().decode("utf-8", "replace").splitlines()
        return "\n".join(f"  {line[:300]}" for line in lines[-count:])
    return ""
