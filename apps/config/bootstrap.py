"""From a machine with Python, pip and make to a running command: the virtual environment, then the command in it.

    python3 apps/config/bootstrap.py run -- manage.py demo
    python3 apps/config/bootstrap.py test --browser -- -m pytest

`run` holds what the product needs, `test` more than that. Runs before anything is installed, so it imports the
standard library only, and it parses on older Pythons far enough to name the version it wants. Where packages
come from is the user's own pip configuration; what they must be is the hashes of the lock.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import NoReturn

ROOT = Path(__file__).resolve().parents[2]
LOCKS = {
    "run": "requirements.lock",
    "test": ".requirements-test.lock",
}  # each later one holds all of the earlier
OLDEST = (3, 11)
WINDOWLESS = "chromium-headless-shell"  # a third of the processor for each page
CHROMIUM_NAMES = (WINDOWLESS, "chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
ANOTHERS = (
    f"{ROOT / '.venv'} was made by another user and cannot be used or changed by this one: run as that user, or "
    "have it deleted."
)
USAGE = "usage: bootstrap.py run|test [--browser] [--mailbox] -- ARGUMENTS OF PYTHON…"


class CannotContinue(Exception):
    """The text says in a sentence what is missing, and the way out."""


class VirtualEnvironment:
    """`.venv`, and in it a stamp: the locks whose packages are in, or that installing them was begun."""

    def __init__(self, root: Path, which: str) -> None:
        self.root = root
        self.folder = root / ".venv"
        self.python = self.folder / "bin" / "python"
        self.stamp = self.folder / "installed.json"
        self.which = which
        self.lock = root / LOCKS[which]

    def is_complete(self) -> bool:
        is_installed = self._stamped().get(self.which) == digest(self.lock) and not self.missing()
        # The system's Python may have gone since, and what is in .venv only points to it.
        return is_installed and self._python_runs()

    def missing(self) -> list[str]:
        """Packages of the lock that this environment has not, or not whole; those for other systems not counted."""
        installed = {
            normal(record.parent.name.removesuffix(".dist-info"))
            for record in self.folder.glob("lib/python*/site-packages/*.dist-info/RECORD")
        }
        return [name for name in pinned(self.lock.read_text()) if name not in installed]

    def complete(self) -> None:
        """Make it, repair it or bring it up to date."""
        stamped = self._stamped()
        if self.folder.exists() and not os.access(self.folder, os.W_OK):
            raise CannotContinue(ANOTHERS)
        if not self.folder.exists():
            self._create("Making .venv, a virtual environment of this folder alone …")
        elif not self._python_runs():
            self._create("Making .venv anew: the one that is here has no working Python 3.11 or newer …")
        elif "begun" in stamped:
            self._create("Making .venv anew: installing into it was interrupted …")
        self._install()

    def _install(self) -> None:
        count = len(self.missing())
        say(f"Installing {count} packages of {self.lock.name} (the first time takes about a minute) …")
        self.stamp.write_text(json.dumps({"begun": self.which}))
        options = ("--require-hashes", "--only-binary=:all:", "--disable-pip-version-check", "--no-input")
        # pip would compile on one core, and the packages' own tests with them: half of its time.
        quiet = ("--no-compile", "--quiet", "--progress-bar=off", "--root-user-action=ignore")
        done = subprocess.run(  # noqa: S603 - our own arguments
            [*self._pip(), "install", *options, *quiet, "-r", str(self.lock)],
            # A user's own `user = true` in pip's configuration would point out of the environment.
            env={**os.environ, "PIP_USER": "0"},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,  # shown only when it matters: pip warns about every index it finds empty
            check=False,
        )
        if done.returncode != 0:
            say(done.stdout.decode(errors="replace"))
            raise CannotContinue(
                "The packages could not be installed; pip's reason is above. It is safe to run the same again; "
                "without a network, pip needs a mirror or a folder of wheels in its configuration."
            )
        self._compile()
        names = list(LOCKS)[: list(LOCKS).index(self.which) + 1]
        self.stamp.write_text(json.dumps({name: digest(self.root / LOCKS[name]) for name in names}))

    def _compile(self) -> None:
        """On all cores. What does not compile is for other Pythons; where it is wanted, its import says so."""
        all_but_their_tests = ("-qq", "-j", "0", "-x", r"site-packages.*[/\\]tests[/\\]")
        command = [str(self.python), "-m", "compileall", *all_but_their_tests]
        for folder in self.folder.glob("lib/python*/site-packages"):
            subprocess.run([*command, str(folder)], capture_output=True, check=False)  # noqa: S603 - our own arguments

    def _pip(self) -> list[str]:
        own = [str(self.python), "-m", "pip"]
        if ends_well([*own, "--version"]):
            return own
        # Debian splits ensurepip off into python3-venv; the pip outside can install into an environment, too.
        outer = [sys.executable, "-m", "pip", "--python", str(self.python)]
        if ends_well([*outer, "--version"]):
            return outer
        raise CannotContinue(
            "There is no pip 22.3 or newer for this Python. On Debian and Ubuntu: apt-get install python3-pip "
            "python3-venv; elsewhere: python3 -m ensurepip --upgrade."
        )

    def _create(self, why: str) -> None:
        say(why)
        make = [sys.executable, "-m", "venv", "--clear"]
        if not ends_well([*make, self.folder]) and not ends_well([*make, "--without-pip", self.folder]):
            raise CannotContinue(
                f"{sys.executable} -m venv does not work here. On Debian and Ubuntu: apt-get install python3-venv; "
                f"if {self.folder} belongs to somebody else, delete it."
            )

    def _python_runs(self) -> bool:
        return ends_well([self.python, "-c", f"import sys; sys.exit(sys.version_info < {OLDEST})"])

    def _stamped(self) -> dict[str, str]:
        try:
            stamped = json.loads(self.stamp.read_text())
        except (OSError, ValueError):  # none, or half-written: then nothing is known to be in
            return {}
        return stamped if isinstance(stamped, dict) else {}


def pinned(lock: str) -> list[str]:
    """`name-version` of each package that every system gets; those with a marker are left to pip."""
    return [normal(f"{name}-{version}") for name, version in re.findall(r"^([\w.-]+)==(\S+) \\$", lock, re.M)]


def normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def ends_well(command: list[str | Path]) -> bool:
    try:
        return subprocess.run(command, capture_output=True, check=False).returncode == 0  # noqa: S603 - our own arguments
    except OSError:
        return False


def find_chromium(named: str) -> str | None:
    if named:
        found = shutil.which(named)
        if found is None:
            raise CannotContinue(f"CHROMIUM names {named}, which is no program: correct it, or unset it.")
        return found
    return next(filter(None, map(shutil.which, CHROMIUM_NAMES)), None)


def ensure_chromium(named: str) -> str:
    """The program `named`, or the system's; with none of it, root gets it from Debian's packages."""
    found = find_chromium(named)
    if found is None and os.geteuid() == 0 and shutil.which("apt-get"):
        say("Installing Chromium for the browser tests from this system's packages …")
        _apt_get("update", limit_s=180)
        package = WINDOWLESS if ends_well(["apt-cache", "show", WINDOWLESS]) else "chromium"
        # fonts-noto-core: without it Arabic is drawn as boxes.
        _apt_get("install", "--yes", "--no-install-recommends", package, "fonts-noto-core", limit_s=600)
        found = find_chromium(named)
    if found is None:
        raise CannotContinue(
            f"The browser tests need Chromium: install it (Debian: apt-get install {WINDOWLESS} fonts-noto-core), or "
            "name its program in CHROMIUM."
        )
    return found


def ensure_dovecot() -> None:
    """The IMAP server of the mailbox tests, which skip where it is missing and cannot be had.

    Not on a machine that systemd runs: there Debian's package would start a mail server open to the network.
    """
    is_there = shutil.which("dovecot", path=os.environ.get("PATH", "") + ":/usr/sbin")
    if is_there or os.geteuid() != 0 or not shutil.which("apt-get") or Path("/run/systemd/system").exists():
        return
    say("Installing Dovecot for the mailbox tests from this system's packages …")
    _apt_get("update", limit_s=180)
    _apt_get("install", "--yes", "--no-install-recommends", "dovecot-imapd", limit_s=300)


def _apt_get(*arguments: str, limit_s: int) -> None:
    try:
        done = subprocess.run(  # noqa: S603 - our own arguments
            ["apt-get", "-qq", *arguments],  # noqa: S607 - wherever the system keeps it
            env={**os.environ, "DEBIAN_FRONTEND": "noninteractive"},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            timeout=limit_s,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        raise CannotContinue(
            f"apt-get {arguments[0]} took more than {limit_s} s: is the network there?"
        ) from error
    if done.returncode != 0:
        raise CannotContinue(f"apt-get {arguments[0]} failed; its reason is above.")


def prepare(which: str) -> VirtualEnvironment:
    """The environment with all of that lock in it; two at once take turns."""
    environment = VirtualEnvironment(ROOT, which)
    if environment.is_complete():
        return environment
    with Path(__file__).open() as turn:
        try:
            fcntl.flock(turn, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            say("Waiting for another command that is installing …")
            fcntl.flock(turn, fcntl.LOCK_EX)
        if not environment.is_complete():
            environment.complete()
    return environment


def say(text: str) -> None:
    sys.stderr.write(f"{text}\n")
    sys.stderr.flush()


def main(arguments: list[str]) -> NoReturn:
    if sys.version_info < OLDEST:
        sys.exit(
            f"Python 3.11 or newer is needed, this is {sys.version.split()[0]}: make PYTHON=python3.11 …"
        )
    if "--" not in arguments or arguments[0] not in LOCKS:
        sys.exit(USAGE)
    split = arguments.index("--")
    try:
        environment = prepare(arguments[0])
        if "--browser" in arguments[1:split]:
            os.environ["CHROMIUM"] = ensure_chromium(os.environ.get("CHROMIUM", ""))
        if "--mailbox" in arguments[1:split]:
            ensure_dovecot()
        # In place of this process, so that Ctrl-C and SIGTERM reach the command itself.
        os.execv(environment.python, [str(environment.python), *arguments[split + 1 :]])  # noqa: S606 - no shell is wanted
    except CannotContinue as error:
        sys.exit(str(error))
    except KeyboardInterrupt:
        sys.exit("Interrupted; the same command goes on from here.")
    except PermissionError:
        sys.exit(ANOTHERS)


if __name__ == "__main__":
    main(sys.argv[1:])
