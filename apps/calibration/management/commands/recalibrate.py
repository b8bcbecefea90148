"""What the checks of the last weeks allow each label to do by itself, printed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.utils import timezone

from apps.calibration.recalibration import LabelFinding, certificates
from apps.workflows.models import Workflow


class Command(BaseCommand):
    help = (
        "Prints which thresholds the checks of the last eight weeks certify, label by label. It stores and changes "
        "nothing, and so far wants --dry-run to make that plain."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--workflow", required=True, metavar="SLUG")
        parser.add_argument("--dry-run", action="store_true", help="print, store nothing; required")

    def handle(self, *args: Any, **options: Any) -> None:
        workflow = _workflow(options["workflow"])
        if not options["dry_run"]:
            raise CommandError(
                "Storing a run and proposing thresholds from it is not built yet. "
                "--dry-run prints what the checks certify; a threshold is changed on the policy page.",
                returncode=2,
            )
        findings = certificates(workflow=workflow, now=timezone.now())
        if not findings:
            raise CommandError(f"Workflow {workflow.slug} has no policy in force that names a label.")
        for finding in findings:
            self.stdout.write("\n".join(_lines(finding)) + "\n")


def _workflow(slug: str) -> Workflow:
    workflow = Workflow.objects.filter(slug=slug).first()
    if workflow is None:
        known = ", ".join(Workflow.objects.order_by("slug").values_list("slug", flat=True)) or "none"
        raise CommandError(f"There is no workflow {slug!r}. There are: {known}.")
    return workflow


def _lines(finding: LabelFinding) -> Iterator[str]:
    rule, evidence, certificate = finding.rule, finding.evidence, finding.certificate
    yield f"{finding.label}: {rule.autonomy.value}, threshold {rule.threshold:g}, target {rule.target_error:g}"
    if evidence.end_on:
        counts = evidence.counts
        yield (
            f"  counted from {evidence.start_on} to {evidence.end_on}, from 0.50 up: "
            f"{counts.reviewed.labelled[0]:.0f} of {counts.reviewed.items[0]:.0f} reviews answered, "
            f"{counts.reviewed.wrong[0]:.0f} otherwise; "
            f"{counts.audited.labelled[0]:.0f} checks of {counts.audited.items[0]:.0f} automatic items, "
            f"{counts.audited.wrong[0]:.0f} otherwise"
        )
        yield f"  waiting for an answer: {evidence.pending}; unanswered checks: {evidence.unanswered}"
    if certificate and certificate.last_step:
        first, last, bound = certificate.start, certificate.last, certificate.last_step.bound
        yield f"  certified from {first:g} down to {last:g}, where the bound is {bound:.4f}"
        yield f"  {finding.sentence}"
        if not finding.is_certified:
            yield f"  the threshold in force, {rule.threshold:g}, is none of these"
        return
    more = f" About {certificate.more:,} labels more." if certificate and certificate.more else ""
    yield f"  not certified: {finding.sentence}{more}"
