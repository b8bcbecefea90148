"""`make demo`: prepares the ground, then runs `manage.py demo` in this very process.

The ground comes first because settings need it: whoever stops the demo while its servers still start up
leaves none behind, and what is in the way is told in a sentence.
"""

from __future__ import annotations

import argparse
import os
import signal
import sys
import time
from pathlib import Path
from types import FrameType

import django
from django.core.exceptions import ImproperlyConfigured
from django.core.management import CommandError, call_command

from apps.core.embedded import EmbeddedServers, EmbeddedUnavailable
from apps.demo.ground import CannotStart, check_port, erase, leave_usable, only_demo, read_port

ROOT = Path(__file__).resolve().parents[2]
SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Asked(BaseException):
    """To stop, by Ctrl-C, SIGTERM or a closed terminal."""


def stop_when_asked(number: int, frame: FrameType | None) -> None:
    let_finish()
    raise Asked


def run(var: Path, port: int, *, fresh: bool) -> None:
    check_port(port)
    if fresh:
        say("Deleting the demo's data …")
        erase(var)
    # Never open to the network, whatever else the environment says: the passwords are known to everybody.
    os.environ |= {
        "BIND": "127.0.0.1",
        "PORT": str(port),
        "ALLOWED_HOSTS": "127.0.0.1,localhost",
        "CSRF_TRUSTED_ORIGINS": "",
        "PLAIN_HTTP": "true",
        "TRUST_PROXY_HEADERS": "false",
        "DEBUG": "false",
        "FERMATA_VAR": str(var),
        "DJANGO_SETTINGS_MODULE": "apps.config.settings",
        # The models are small and so is the machine: threads of numeric libraries would only fight.
        "OMP_NUM_THREADS": "1",
        "OPENBLAS_NUM_THREADS": "1",
    }
    if os.environ.get("DATABASE_URL") or os.environ.get("DATABASE_URL_FILE"):
        run_command()
    else:
        run_with_servers(var)


def run_with_servers(var: Path) -> None:
    servers, started, are_up = EmbeddedServers(var), time.monotonic(), False
    try:
        servers.start()
        are_up = True
        say(f"PostgreSQL and Valkey run in {var} ({time.monotonic() - started:.1f} s)")
        run_command()
    finally:
        let_finish()
        if not are_up:
            time.sleep(1)  # a server that was being started needs a moment before it can be found
        leave_usable(var)
        servers.stop()


def run_command() -> None:
    django.setup()
    call_command("demo", prepared=True)


def let_finish() -> None:
    """Asking once is enough: stopping has bounds of its own, and must not be cut short."""
    for each in SIGNALS:
        signal.signal(each, signal.SIG_IGN)


def say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def main() -> int:
    parser = argparse.ArgumentParser(prog="make demo", description="Everything, running, with sample data.")
    parser.add_argument("--port", default=os.environ.get("PORT") or "8000", help="also PORT=…")
    parser.add_argument("--fresh", action="store_true", help="delete the demo's data first")
    options = parser.parse_args()
    for each in SIGNALS:
        signal.signal(each, stop_when_asked)
    var = Path(os.environ.get("FERMATA_VAR") or ROOT / "var").absolute()
    try:
        port = read_port(options.port)
        with only_demo(var):
            run(var, port, fresh=options.fresh)
    except Asked:
        say("Everything is stopped. The data stays for the next `make demo`.")
    except (CannotStart, CommandError, EmbeddedUnavailable, ImproperlyConfigured) as error:
        sys.stderr.write(f"{error}\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
