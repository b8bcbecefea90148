from __future__ import annotations

import os
import sys
import tempfile
from argparse import ArgumentParser
from pathlib import Path
from typing import Any, BinaryIO

from django.core.management.base import BaseCommand, CommandError

from apps.core.errors import InvalidInput
from apps.reviews.exports import LabelExport, export_labels, parse_label_query, why_empty
from apps.workflows.models import Workflow

_FILTERS = {
    "question": "key of a question",
    "value": "an option's id",
    "source": "review, consensus, adjudication or import",
    "since": "a day (2026-11-30, of the workflow's time zone) or an instant with its zone",
    "until": "the same; a day counts whole, an instant is excluded",
    "blind": "true: only answers given without seeing the model's; false: only the others",
}


class Command(BaseCommand):
    help = "Writes the settled labels of a workflow, in the same bytes as the labels page and the API."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--workflow", required=True, metavar="SLUG")
        parser.add_argument(
            "--format",
            default="jsonl",
            help="jsonl (exact), csv (for spreadsheets) or systemone (for training)",
        )
        parser.add_argument("--out", default="-", metavar="FILE", help="- is standard output (the default)")
        for name, about in _FILTERS.items():
            parser.add_argument(f"--{name}", default="", help=about)
        parser.add_argument("--bom", action="store_true", help="begin a CSV with a byte order mark")

    def handle(self, *args: Any, **options: Any) -> None:
        workflow = Workflow.objects.filter(slug=options["workflow"]).first()
        if workflow is None:
            raise CommandError(f"There is no workflow {options['workflow']}.")
        params = {name: options[name] for name in _FILTERS} | ({"bom": "1"} if options["bom"] else {})
        try:
            query = parse_label_query(params)
            export = export_labels(workflow=workflow, query=query, format=options["format"])
        except InvalidInput as error:
            raise CommandError(
                "; ".join(f"--{each.path} {each.message}" for each in error.problems)
            ) from error
        where = options["out"]
        if where != "-":
            _write(export, Path(where))
        elif not self._print(export):
            return
        rows = "1 record" if export.rows == 1 else f"{export.rows:,} records"
        self.stderr.write(f"{rows} written" + ("." if where == "-" else f" to {where}."))
        if not export.rows:
            self.stderr.write(why_empty(workflow=workflow, query=query))

    def _print(self, export: LabelExport) -> bool:
        """False when whoever reads it stopped reading."""
        # Bytes, not text: neither the terminal's encoding nor its line ends may touch them.
        out: BinaryIO = getattr(self.stdout, "buffer")  # noqa: B009 - the wrapper's type hides what it passes on
        try:
            for content in export:
                out.write(content)
            out.flush()
        except BrokenPipeError:
            # The reader has seen enough (`| head`). Python would complain once more at its end, when it flushes.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            return False
        return True


def _write(export: LabelExport, path: Path) -> None:
    """Whole or not at all: a file beside it is filled, then renamed. Only its owner may read it, for it holds
    customers' texts."""
    if path.is_dir():
        raise CommandError(f"--out {path} is a folder.")
    try:
        with tempfile.NamedTemporaryFile(dir=path.parent, prefix=f".{path.name}.", delete=False) as file:
            fresh = Path(file.name)
            try:
                file.writelines(export)
            except BaseException:
                fresh.unlink()
                raise
        fresh.replace(path)
    except OSError as error:
        raise CommandError(f"--out {path}: {error.strerror}.") from error
