from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from apps.core.embedded_processes import command_line, wait_until
from apps.demo.children import MOST_RESTARTS, Child, ChildDied, Children

pytestmark = pytest.mark.chaos
SLEEP = "import time; print('up', flush=True); time.sleep(60)"
STUBBORN = "import signal, time; signal.signal(15, signal.SIG_IGN); print('up', flush=True); time.sleep(60)"


@pytest.fixture
def children() -> Iterator[Children]:
    children = Children()
    yield children
    children.stop()


def child(folder: Path, program: str) -> Child:
    return Child("web server", (sys.executable, "-c", program), folder / "log" / "web.log", folder)


def start(children: Children, folder: Path, program: str) -> Child:
    started = child(folder, program)
    children.start(started)
    assert wait_until(lambda: b"up" in started.log.read_bytes(), 10)
    return started


def pid_of(child: Child) -> int:
    assert child.process is not None
    return child.process.pid


def test_it_works(children: Children, tmp_path: Path) -> None:
    started = start(children, tmp_path, SLEEP)
    assert children.keep_alive() == []
    children.stop()
    assert started.is_gone()


def test_one_that_dies_is_started_again(children: Children, tmp_path: Path) -> None:
    started = start(children, tmp_path, SLEEP)
    first = pid_of(started)
    os.kill(first, signal.SIGKILL)
    assert wait_until(started.is_gone, 10)
    assert "ended with status -9 and was started again" in children.keep_alive()[0]
    assert pid_of(started) != first


def test_one_that_dies_again_and_again_is_told_with_its_last_words(
    children: Children, tmp_path: Path
) -> None:
    hopeless = child(tmp_path, "raise SystemExit('no such table')")
    children.start(hopeless)
    for _ in range(MOST_RESTARTS):
        assert wait_until(hopeless.is_gone, 10)
        children.keep_alive()
    assert wait_until(hopeless.is_gone, 10)
    with pytest.raises(ChildDied, match=r"ended 4 times.*web\.log and ends:\n(.*\n)*  no such table"):
        children.keep_alive()


def test_one_that_will_not_end_is_ended(children: Children, tmp_path: Path) -> None:
    stubborn = start(children, tmp_path, STUBBORN)
    children.stop(limit_s=0.5)
    assert stubborn.process is not None
    assert stubborn.process.returncode == -signal.SIGKILL


@pytest.mark.skipif(
    not sys.platform.startswith("linux"), reason="only Linux tells a process of its parent's end"
)
def test_they_end_when_the_demo_is_killed(tmp_path: Path) -> None:
    program = f"""
from pathlib import Path
from apps.demo.children import Child
child = Child("worker", ({sys.executable!r}, "-c", {SLEEP!r}), Path({str(tmp_path)!r}) / "log" / "w.log", Path("."))
child.start(fresh_log=True)
print(child.process.pid, flush=True)
time.sleep(60)
"""
    parent = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True)
    assert parent.stdout is not None
    pid = int(parent.stdout.readline())
    assert command_line(pid)
    parent.kill()
    parent.communicate()
    assert wait_until(lambda: not command_line(pid), 10)
