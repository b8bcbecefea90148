"""What the checks of the last weeks allow each label to do by itself: computed, kept, proposed; or computed again."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import transaction
from django.template.defaultfilters import pluralize
from django.utils import timezone

from apps.calibration.computing import Json
from apps.calibration.models import CalibrationRun
from apps.calibration.running import recompute, run_calibration
from apps.calibration.side_certs import recompute_sides
from apps.core.errors import Conflict, FermataError
from apps.workflows.models import Workflow

DIFFERENT = 1
_KEPT_OF_SIDES = ("outcome", "certified", "steps", "sentence")


class Command(BaseCommand):
    help = (
        "Tries every label that is due on the answers of the last eight weeks, keeps the run with its certificates, "
        "and drafts a proposal where more is allowed than is in force. Nothing that lets more through takes effect "
        "before a manager activates it."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        what = parser.add_mutually_exclusive_group(required=True)
        what.add_argument("--workflow", metavar="SLUG")
        what.add_argument(
            "--check", type=int, metavar="RUN", help="compute a kept run again; exit 1 when it differs"
        )
        parser.add_argument(
            "--dry-run", action="store_true", help="print what would come of it, keep nothing"
        )
        parser.add_argument(
            "--force",
            action="append",
            default=[],
            metavar="LABEL",
            help="try this label before its time, which spends its next attempt; repeatable",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        if options["check"] is not None:
            self._check(options["check"])
            return
        workflow = _workflow(options["workflow"])
        try:
            with transaction.atomic():
                run = run_calibration(
                    workflow=workflow,
                    trigger=CalibrationRun.Trigger.ASKED,
                    user=None,
                    now=timezone.now(),
                    forced=options["force"],
                )
                self._print(run, is_kept=not options["dry_run"])
                transaction.set_rollback(options["dry_run"])
        except FermataError as error:
            raise CommandError(str(error)) from error

    def _print(self, run: CalibrationRun, *, is_kept: bool) -> None:
        for entry, result in zip(run.inputs["labels"], run.results, strict=True):
            self.stdout.write("\n".join(_lines(entry, result)) + "\n")
        if is_kept:
            self.stdout.write(f"Kept as run {run.pk}, which took {run.seconds:.1f} s.\n")
        if run.proposal is not None:
            version = f"is version {run.proposal.version}" if is_kept else "would be"
            self.stdout.write(f"The proposal {version}: {run.proposal.note}\n")

    def _check(self, number: int) -> None:
        run = CalibrationRun.objects.filter(pk=number).first()
        if run is None:
            raise CommandError(f"There is no calibration run {number}.")
        try:
            labels, sides = recompute(run), recompute_sides(run)
        except Conflict as conflict:
            raise CommandError(str(conflict)) from conflict
        differing = [
            stored["label"]
            for stored, computed in zip(run.results, labels, strict=True)
            if stored != json.loads(json.dumps(computed))
        ] + [
            f"{certificate.question.key}: {certificate.label}"
            for certificate, computed in sides
            if any(getattr(certificate, name) != computed[name] for name in _KEPT_OF_SIDES)
        ]
        if differing:
            raise CommandError(
                f"Run {number} differs when computed again: {', '.join(differing)}.", returncode=DIFFERENT
            )
        tried = f" and {len(sides)} side{pluralize(len(sides))} of holds" if sides else ""
        self.stdout.write(
            f"Run {number}: {len(labels)} labels{tried} computed again, all as they were kept.\n"
        )


def _workflow(slug: str) -> Workflow:
    workflow = Workflow.objects.filter(slug=slug).first()
    if workflow is None:
        known = ", ".join(Workflow.objects.order_by("slug").values_list("slug", flat=True)) or "none"
        raise CommandError(f"There is no workflow {slug!r}. There are: {known}.")
    return workflow


def _lines(entry: Mapping[str, Any], result: Json) -> Iterator[str]:
    yield (
        f"{entry['label']}: {entry['autonomy']}, threshold {entry['threshold']:g}, "
        f"target {entry['target_error']:g}"
    )
    yield from _counted(entry)
    if result["certified"]:
        steps = {step["threshold"]: step for step in result["steps"]}
        bound = steps[result["last"]]["bound"]
        yield f"  certified from {result['start']:g} down to {result['last']:g}, where the bound is {bound:.4f}"
        yield f"  {result['sentence']}"
        if entry["threshold"] not in result["certified"]:
            yield f"  the threshold in force, {entry['threshold']:g}, is none of these"
    else:
        more = f" About {result['more']:,} labels more." if result.get("more") else ""
        yield f"  not certified: {result['sentence']}{more}"
    if result["is_attempt"]:
        yield f"  attempt {entry['attempt']}, which spends {entry['delta']:.4f} of the risk"
    if result["cost_test"]:
        yield f"  attempt {result['cost_test']['attempt']}: {result['cost_test']['sentence']}"


def _counted(entry: Mapping[str, Any]) -> Iterator[str]:
    if not entry["end_on"]:
        return
    # Bins from 1 up are those of the grid, which begins at 0.50.
    above = [row for row in entry["rows"] if row[0] >= 1]

    def added(stratum: str, column: int) -> int:
        return sum(row[column] for row in above if row[1] == stratum)

    yield (
        f"  counted from {entry['start_on']} to {entry['end_on']}, from 0.50 up: "
        f"{added('reviewed', 3)} of {added('reviewed', 2)} reviews answered, "
        f"{added('reviewed', 4)} otherwise; "
        f"{added('audited', 3)} checks of {added('audited', 2)} automatic items, "
        f"{added('audited', 4)} otherwise"
    )
    yield f"  waiting for an answer: {entry['pending']}; unanswered checks: {entry['unanswered']}"
