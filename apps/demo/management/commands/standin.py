"""The stand-in model alone, for trying the product or another program against it."""

from __future__ import annotations

import os
import sys
from argparse import ArgumentParser
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand


class Command(BaseCommand):
    help = "Runs the local stand-in model on loopback, as `python -m apps.clef.local.server` does."
    requires_system_checks = ()

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--port", type=int, default=8787, help="0 takes a free one")
        parser.add_argument("--delay-ms", type=float, default=0.0, help="the least a decision takes in all")

    def handle(self, *args: Any, **options: Any) -> None:
        where = ("--port", str(options["port"]), "--delay-ms", str(options["delay_ms"]))
        os.chdir(settings.BASE_DIR)
        # In place of this process: the server needs neither Django nor its memory.
        os.execv(sys.executable, [sys.executable, "-m", "apps.clef.local.server", *where])  # noqa: S606 - no shell
