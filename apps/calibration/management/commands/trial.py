"""Labelled examples through several models, from the shell: the tables of the trial's page, printed."""

from __future__ import annotations

import sys
import time
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.utils import timezone

from apps.calibration.models import Trial
from apps.calibration.trials.files import read_examples
from apps.calibration.trials.report import report_lines
from apps.calibration.trials.results import result_of
from apps.calibration.trials.running import work_on_next_trial
from apps.calibration.trials.services import choices_for, create_trial, start_trial
from apps.core.errors import Conflict, InvalidInput
from apps.pipeline.limits import MAX_TRIAL_FILE_BYTES
from apps.sources.tables.csv_rows import UnreadableFile
from apps.sources.tables.reading import read_sample
from apps.workflows.models import Endpoint, Workflow
from apps.workflows.selectors import current_question_set

SOME_UNANSWERED = 3
NOTHING_READ = 2


class Command(BaseCommand):
    help = (
        "The 50-message test: runs labelled examples (CSV, TSV, JSONL: external_id, text, a column named like each "
        "question; out_of_scope, present and NAME:question as they apply) through models and prints who was wrong "
        "about what, what that costs, and what so few examples cannot show. The trial stays, with its page. Exit "
        "code 0: every model answered everything, 3: some answers are missing, 2: nothing could be run."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--workflow", required=True, metavar="SLUG")
        parser.add_argument("--labels", required=True, type=Path, metavar="FILE")
        parser.add_argument(
            "--model",
            action="append",
            default=[],
            metavar="NAME",
            help="an endpoint by its name, else a model of the workflow's endpoint; may be given several times",
        )
        parser.add_argument("--name", default="", help="what the trial is called")

    def handle(self, *args: Any, **options: Any) -> None:
        workflow = _workflow(options["workflow"])
        try:
            trial = self._start(workflow, options["labels"], options["model"], options["name"])
        except (Conflict, InvalidInput, UnreadableFile) as refused:
            endpoints = ", ".join(Endpoint.objects.order_by("name").values_list("name", flat=True))
            raise CommandError(f"{refused}. Endpoints: {endpoints}.", returncode=NOTHING_READ) from refused
        while trial.status in (Trial.Status.WAITING, Trial.Status.RUNNING):
            # A worker may have it: then it is waited for.
            if not work_on_next_trial(now=timezone.now, trial_id=trial.pk):
                time.sleep(0.5)
            trial.refresh_from_db()
        result = result_of(trial)
        for line in report_lines(result):
            self.stdout.write(line)
        self.stdout.write(f"/w/{workflow.slug}/calibration/trials/{trial.pk}/")
        if trial.status == Trial.Status.FAILED or any(each.errors for each in result.facts):
            sys.exit(SOME_UNANSWERED)

    def _start(self, workflow: Workflow, path: Path, models: list[str], name: str) -> Trial:
        sample = read_sample(path)
        if path.stat().st_size > MAX_TRIAL_FILE_BYTES:
            raise UnreadableFile(f"has more than {MAX_TRIAL_FILE_BYTES:,} bytes")
        choices = choices_for(workflow, models)
        questions = list(current_question_set(workflow).questions.all())
        with path.open("rb") as stream:
            examples = read_examples(stream, sample, name=path.name, questions=questions)
        if any(each.truth is None for each in examples):
            bare = sum(each.truth is None for each in examples)
            raise Conflict(f"{bare} examples have no label: upload the file on the page to label them there")
        trial = create_trial(
            workflow=workflow, name=name or path.name, examples=examples, user=None, now=timezone.now()
        )
        return start_trial(trial=trial, models=choices)


def _workflow(slug: str) -> Workflow:
    workflow = Workflow.objects.select_related("endpoint").filter(slug=slug).first()
    if workflow is None:
        known = ", ".join(Workflow.objects.order_by("slug").values_list("slug", flat=True)) or "none yet"
        raise CommandError(f"There is no workflow {slug!r}; there are: {known}.", returncode=NOTHING_READ)
    return workflow
