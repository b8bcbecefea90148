"""The calibration page: what people's answers allow each label to do by itself, with all that it rests on."""

from __future__ import annotations

from dataclasses import dataclass

from django.http import HttpResponse
from django.utils import timezone
from django.views.decorators.http import require_GET

from apps.accounts.http import PersonRequest
from apps.calibration.counts import WINDOW_WEEKS
from apps.calibration.evidence import model_in_use
from apps.calibration.recalibration import CONFIDENCE, LabelFinding, certificates
from apps.core.htmx import render
from apps.policies.readable import share
from apps.stats.certificates import Step
from apps.stats.rates import Rate, rate, unknown
from apps.workflows.access import get_workflow_for
from apps.workflows.models import Role


@dataclass(frozen=True, slots=True)
class StepRow:
    threshold: str
    step: Step
    passes: bool


@dataclass(frozen=True, slots=True)
class Card:
    """A finding with its numbers as people read them; `certified` is "" where nothing is."""

    finding: LabelFinding
    threshold: str
    target: str
    certified: str
    progress: float | None
    steps: tuple[StepRow, ...]
    reviewed: Rate
    audited: Rate

    @property
    def standing(self) -> str:
        """ "certified", "other" when only other thresholds than the one in force are, "open" or "none"."""
        if self.finding.certificate is None:
            return "none"
        if not self.certified:
            return "open"
        return "certified" if self.finding.is_certified else "other"


@require_GET
def overview(request: PersonRequest, slug: str) -> HttpResponse:
    workflow = get_workflow_for(user=request.user, slug=slug, role=Role.MANAGER)
    findings = certificates(workflow=workflow, now=timezone.now())
    context = {
        "workflow": workflow,
        "cards": [_card(finding) for finding in findings],
        "model": model_in_use(workflow),
        "weeks": WINDOW_WEEKS,
        "confidence": CONFIDENCE,
    }
    return render(request, "calibration/overview.html", context)


def _card(finding: LabelFinding) -> Card:
    certificate, bands = finding.certificate, finding.evidence.bands
    certified = certificate.certified if certificate else ()
    needed = certificate.needed if certificate else None
    return Card(
        finding=finding,
        threshold=share(finding.rule.threshold),
        target=share(finding.rule.target_error),
        certified=_range(certified),
        progress=certificate.labelled / needed if certificate and needed else None,
        steps=tuple(
            StepRow(share(step.threshold), step, step.threshold in certified)
            for step in (certificate.walked if certificate else ())
        ),
        reviewed=_sum([band.reviewed for band in bands]),
        # Pooled over bands, checks drawn at unequal rates would need weights.
        audited=unknown("audit rates differed: see each band")
        if finding.evidence.thinned_to is not None
        else _sum([band.audited for band in bands]),
    )


def _range(certified: tuple[float, ...]) -> str:
    if not certified:
        return ""
    if len(certified) == 1:
        return share(certified[0])
    return f"{share(certified[-1])} to {share(certified[0])}"


def _sum(rates: list[Rate]) -> Rate:
    return rate(sum(each.numerator for each in rates), sum(each.denominator for each in rates))
