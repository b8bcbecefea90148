from __future__ import annotations

import os
import socket
from pathlib import Path

import pytest

from apps.demo.ground import CannotStart, check_port, erase, only_demo, read_port


def test_it_works(tmp_path: Path) -> None:
    with only_demo(tmp_path / "var"):
        assert (tmp_path / "var" / "demo.lock").read_text() == f"{os.getpid()}\n"


def test_a_second_demo_is_told_of_the_first(tmp_path: Path) -> None:
    with only_demo(tmp_path), pytest.raises(CannotStart, match=rf"process {os.getpid()}.*FERMATA_VAR"):
        only_demo(tmp_path).__enter__()


def test_the_folder_is_free_again_afterwards(tmp_path: Path) -> None:
    for _ in range(2):
        with only_demo(tmp_path):
            pass


def test_a_port_in_use_is_told_with_the_way_out() -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]
        with pytest.raises(CannotStart, match=rf"Port {port} is in use: `make demo PORT="):
            check_port(port)
    check_port(port)


@pytest.mark.parametrize("text", ["abc", "0", "65536", "-1", "٨٠٠٠", "8000.5"])
def test_what_is_no_port_is_refused(text: str) -> None:
    with pytest.raises(CannotStart, match="whole number from 1 to 65535"):
        read_port(text)
    assert read_port("8010") == 8010


def test_erasing_leaves_what_is_not_the_demos(tmp_path: Path) -> None:
    for name in ("demo.json", "beat-schedule.dat", "mine.txt"):
        (tmp_path / name).touch()
    erase(tmp_path)
    assert (tmp_path / "mine.txt").exists()
    assert not list(tmp_path.glob("demo.json"))
    assert not list(tmp_path.glob("beat-schedule*"))
