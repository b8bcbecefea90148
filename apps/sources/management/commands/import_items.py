"""Items from tables, JSONL, mails, pictures and PDFs. Importing the same file again changes nothing."""

from __future__ import annotations

import sys
from argparse import ArgumentParser
from dataclasses import replace
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.utils import timezone

from apps.core.errors import InvalidInput
from apps.sources.images.files import is_picture_path, read_pictures
from apps.sources.mail.importing import MailImport
from apps.sources.mail.reading import is_mail_path, read_mails
from apps.sources.tables.csv_rows import UnreadableFile
from apps.sources.tables.importing import Import, RefusedRow
from apps.sources.tables.reading import read_rows, read_sample
from apps.sources.tables.times import TimeFormat
from apps.sources.tables.understanding import Overrides, Understanding, understand
from apps.workflows.models import Workflow

SOME_REFUSED = 3
NOTHING_READ = 2


class Command(BaseCommand):
    help = (
        "Adds items from JSONL, CSV and TSV files, from mails (.eml, mbox, Maildir) and from pictures and PDFs, also "
        "folders of them; the same again changes nothing. Prints each refused row, mail or picture with its reason. "
        "Exit code 0: all good, 3: some refused, 2: nothing could be read."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("paths", nargs="+", type=Path, metavar="PATH")
        parser.add_argument("--workflow", required=True, metavar="SLUG")
        parser.add_argument(
            "--id-field", metavar="NAME", help="holds the external id; else found by its name"
        )
        parser.add_argument(
            "--id-from-content", action="store_true", help="no column is the id: a row's content makes one"
        )
        parser.add_argument(
            "--text-field",
            metavar="NAME",
            action="append",
            help="holds the text; given several times, the item is an object of these; else found by its name",
        )
        parser.add_argument(
            "--time-field", metavar="NAME", help="when it was received; else found by its name"
        )
        parser.add_argument(
            "--time-format", choices=list(TimeFormat), help="such as dmy for 30.11.2026 09:00"
        )
        parser.add_argument("--encoding", metavar="NAME", help="such as windows-1256; else found out")
        parser.add_argument("--delimiter", metavar="CHARACTER", help="of a table; else found out")
        parser.add_argument("--dry-run", action="store_true", help="write nothing; say what would happen")

    def handle(self, *args: Any, **options: Any) -> None:
        workflow = Workflow.objects.filter(slug=options["workflow"]).first()
        if workflow is None:
            known = ", ".join(Workflow.objects.order_by("slug").values_list("slug", flat=True)) or "none yet"
            raise CommandError(
                f"There is no workflow {options['workflow']!r}; there are: {known}.", returncode=NOTHING_READ
            )
        run = Import(workflow, dry_run=options["dry_run"])
        unreadable = [path for path in options["paths"] if not self._take_file(run, path, options)]
        self.stdout.write(_summary(run))
        if not run.counts.rows:
            sys.exit(NOTHING_READ)
        if unreadable or run.counts.refused or run.counts.changed:
            sys.exit(SOME_REFUSED)

    def _take_file(self, run: Import, path: Path, options: dict[str, Any]) -> bool:
        try:
            holds_mails, holds_pictures = is_mail_path(path), is_picture_path(path)
            if holds_mails:
                self._take_mails(run, path)
            if holds_pictures:
                self._take_pictures(run, path)
            if holds_mails or holds_pictures:
                return True
            found = _understand(path, run.workflow, options)
            if options["dry_run"]:
                self.stdout.write(f"{path}: {_printable(found.sentence)}")
            with path.open("rb") as stream:
                for row in run.take(read_rows(stream, found), now=timezone.now(), reads_ahead=True):
                    self.stdout.write(_line(path, row))
        except UnreadableFile as error:
            self.stderr.write(f"{path} {error}.")
            return False
        return True

    def _take_pictures(self, run: Import, path: Path) -> None:
        for picture in read_pictures(path):
            # Each by itself: a batch of pictures would be in memory together.
            for row in run.take([picture.row], now=timezone.now()):
                where = path / picture.place if path.is_dir() else path
                why = "; ".join(problem.message for problem in row.problems)
                self.stdout.write(_printable(f"{where}: {why}"))

    def _take_mails(self, run: Import, path: Path) -> None:
        mails = MailImport(run.workflow, dry_run=run.dry_run, counts=run.counts)
        for raw, row in mails.take(read_mails(path), now=timezone.now()):
            where = path / raw.place if path.is_dir() else path.with_name(raw.place)
            why = "; ".join(problem.message for problem in row.problems)
            self.stdout.write(_printable(f"{where}: {why}"))


def _understand(path: Path, workflow: Workflow, options: dict[str, Any]) -> Understanding:
    """With what the options say. Raises UnreadableFile for what they would have to say."""
    overrides = Overrides(options["encoding"], options["delimiter"])
    try:
        found = understand(
            read_sample(path), name=path.name, overrides=overrides, time_zone=workflow.time_zone
        )
        if found.problem or not found.kind.has_columns:
            return found
        roles = found.roles
        roles = replace(
            roles,
            external_id="" if options["id_from_content"] else options["id_field"] or roles.external_id,
            texts=tuple(options["text_field"] or roles.texts),
            received_at=options["time_field"] or roles.received_at,
            time_format=TimeFormat(options["time_format"]) if options["time_format"] else roles.time_format,
        )
        found = found.with_roles(roles)
    except InvalidInput as error:
        raise UnreadableFile("; ".join(problem.message for problem in error.problems)) from error
    for question in found.questions:
        option = _OPTIONS[question.path]
        if question.path != "external_id" or not options["id_from_content"]:
            raise UnreadableFile(
                f"{question.message} by {option} (its columns: {', '.join(found.columns)[:300]})"
            )
    return found


_OPTIONS = {
    "external_id": "--id-field, or --id-from-content",
    "texts": "--text-field",
    "received_at": "--time-format",
}


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
