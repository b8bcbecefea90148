"""Items from files: JSONL, CSV or TSV. Importing the same file again changes nothing."""

from __future__ import annotations

import sys
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.utils import timezone

from apps.sources.files import read_rows
from apps.sources.importing import Import, RefusedRow
from apps.sources.records import IDS, TEXTS, Fields
from apps.sources.tables import UnreadableFile
from apps.workflows.models import Workflow

SOME_REFUSED = 3
NOTHING_READ = 2


class Command(BaseCommand):
    help = (
        "Adds items from JSONL, CSV and TSV files; the same file again changes nothing. Prints each refused row "
        "with its reason. Exit code 0: all good, 3: some rows refused, 2: nothing could be read."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("paths", nargs="+", type=Path, metavar="PATH")
        parser.add_argument("--workflow", required=True, metavar="SLUG")
        parser.add_argument(
            "--id-field", metavar="NAME", help=f"holds the external id; else {' or '.join(IDS)}"
        )
        parser.add_argument("--text-field", metavar="NAME", help=f"holds the text; else {' or '.join(TEXTS)}")
        parser.add_argument("--dry-run", action="store_true", help="write nothing; say what would happen")

    def handle(self, *args: Any, **options: Any) -> None:
        workflow = Workflow.objects.filter(slug=options["workflow"]).first()
        if workflow is None:
            known = ", ".join(Workflow.objects.order_by("slug").values_list("slug", flat=True)) or "none yet"
            raise CommandError(
                f"There is no workflow {options['workflow']!r}; there are: {known}.", returncode=NOTHING_READ
            )
        fields = Fields(options["id_field"], options["text_field"])
        run = Import(workflow, dry_run=options["dry_run"])
        unreadable = [path for path in options["paths"] if not self._take_file(run, path, fields)]
        self.stdout.write(_summary(run))
        if not run.counts.rows:
            sys.exit(NOTHING_READ)
        if unreadable or run.counts.refused or run.counts.changed:
            sys.exit(SOME_REFUSED)

    def _take_file(self, run: Import, path: Path, fields: Fields) -> bool:
        try:
            for row in run.take(read_rows(path, fields), now=timezone.now()):
                self.stdout.write(_line(path, row))
        except UnreadableFile as error:
            self.stderr.write(f"{path} {error}.")
            return False
        return True


def _line(path: Path, row: RefusedRow) -> str:
    why = "; ".join(f"{problem.path} {problem.message}" for problem in row.problems)
    return f"{path} row {row.number}: {_printable(why)}"


def _printable(text: str) -> str:
    """What files say may hold characters that would steer a terminal."""
    return "".join(character if character.isprintable() else "�" for character in text)[:500]


def _summary(run: Import) -> str:
    counts = run.counts
    if run.dry_run:
        return (
            f"new {counts.accepted}, existing {counts.existing}, changed {counts.changed}, "
            f"refused {counts.refused}, repaired {counts.repaired}; nothing was written"
        )
    refused = counts.refused + counts.changed
    return f"accepted {counts.accepted}, existing {counts.existing}, refused {refused}, repaired {counts.repaired}"
