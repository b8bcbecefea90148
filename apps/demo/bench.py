"""`python -m apps.demo.bench`: `manage.py bench` on servers of its own, so that nobody's data and load are mixed in."""

from __future__ import annotations

import argparse
import os
import signal
import sys
from pathlib import Path
from types import FrameType

import django
from django.core.management import CommandError, call_command

from apps.core.embedded import EmbeddedServers, EmbeddedUnavailable
from apps.demo.ground import CannotStart, only_demo
from apps.demo.measuring_options import add_options

ROOT = Path(__file__).resolve().parents[2]


def stop_when_asked(number: int, frame: FrameType | None) -> None:
    sys.exit(f"Stopped by signal {number}; nothing was measured to the end.")


def run(var: Path, options: argparse.Namespace) -> None:
    for name in ("DATABASE_URL", "REDIS_URL"):
        os.environ.pop(name, None)
        os.environ.pop(f"{name}_FILE", None)
    os.environ |= {
        "FERMATA_VAR": str(var),
        "DJANGO_SETTINGS_MODULE": "apps.config.settings",
        "ALLOWED_HOSTS": "testserver",
        "PLAIN_HTTP": "true",
        # What is drawn for checks hangs on it: the same items are drawn in every run.
        "SECRET_KEY": "measured-on-servers-that-nobody-else-reaches",
        "DEBUG": "false",
        "LOG_LEVEL": "WARNING",
        "OMP_NUM_THREADS": "1",
        "OPENBLAS_NUM_THREADS": "1",
    }
    servers = EmbeddedServers(var)
    try:
        servers.start()
        django.setup()
        call_command("bench", prepared=True, **vars(options))
    finally:
        servers.erase()


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="manage.py bench", description="Measures; ends with one JSON object."
    )
    add_options(parser)
    options = parser.parse_args()
    signal.signal(signal.SIGTERM, stop_when_asked)
    var = Path(os.environ.get("FERMATA_VAR") or ROOT / "var").absolute() / "bench"
    try:
        with only_demo(var):
            run(var, options)
    except KeyboardInterrupt:
        return 130
    except (CannotStart, CommandError, EmbeddedUnavailable) as error:
        sys.stderr.write(f"{error}\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
