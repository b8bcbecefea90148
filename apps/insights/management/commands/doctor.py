"""Looks at everything an installation needs: one line each, and a non-zero exit when something is wrong."""

from __future__ import annotations

import os
import sys
from typing import Any

from django.core.management.base import BaseCommand
from django.utils import timezone

from apps.insights.checkup import check_up


class Command(BaseCommand):
    help = "Checks configuration, database, broker, migrations, model endpoints and workers; one line each."
    requires_system_checks = ()

    def handle(self, *args: Any, **options: Any) -> None:
        is_well = True
        try:
            for finding in check_up(now=timezone.now()):
                self.stdout.write(f"{'✓' if finding.is_well else '✗'} {finding.part}: {finding.text}")
                self.stdout.flush()
                is_well = is_well and finding.is_well
        except BrokenPipeError:
            # Whoever read this has seen enough, as `head` has. Python would complain once more at its own end.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            sys.exit(1)
        if not is_well:
            sys.exit(1)
