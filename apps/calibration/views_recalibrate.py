"""Asking for a calibration run: what it would try and spend first, then the run."""

from __future__ import annotations

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect
from django.utils import timezone
from django.views.decorators.http import require_http_methods, require_POST

from apps.accounts.http import PersonRequest
from apps.calibration.looking import look
from apps.calibration.models import CalibrationRun
from apps.calibration.overview import RunRow, newest_runs
from apps.calibration.running import run_calibration
from apps.calibration.side_certs import propose_limits
from apps.calibration.sides import holds_in_force
from apps.core.errors import Conflict
from apps.core.htmx import render
from apps.policies.selectors import active_policy
from apps.workflows.access import get_workflow_for
from apps.workflows.models import Role, Workflow


@require_http_methods(["GET", "POST"])
def recalibrate(request: PersonRequest, slug: str) -> HttpResponse:
    """`forced` are labels to try before their time, which spends their next attempt."""
    workflow = get_workflow_for(user=request.user, slug=slug, role=Role.MANAGER)
    try:
        return _run(request, workflow) if request.method == "POST" else _ask(request, workflow)
    except Conflict as conflict:
        messages.error(request, str(conflict))
        return redirect("calibration:overview", workflow.slug)


@require_POST
def hold_propose(request: PersonRequest, slug: str) -> HttpResponse:
    """A draft with the limits that certificates allow for the hold on `question`."""
    workflow = get_workflow_for(user=request.user, slug=slug, role=Role.MANAGER)
    key = request.POST.get("question", "")
    try:
        draft = propose_limits(workflow=workflow, question=key, user=request.user, now=timezone.now())
    except Conflict as conflict:
        messages.error(request, str(conflict))
        return redirect("calibration:overview", workflow.slug)
    messages.success(request, "This is what is proposed; nothing obeys it until it is activated.")
    return redirect("calibration:policy_version", workflow.slug, draft.version)


def _ask(request: PersonRequest, workflow: Workflow) -> HttpResponse:
    found = look(workflow=workflow, now=timezone.now())
    # Their answers are read route by route, which a page does not wait for.
    holds = holds_in_force(workflow=workflow, now=timezone.now())
    results = {result["label"]: result for result in found.results}
    context = {
        "workflow": workflow,
        "settings": found.inputs["settings"],
        "risk": 1 - found.inputs["settings"]["confidence"],
        "model": found.basis.model if found.basis else None,
        "rows": [
            (entry, results[entry["label"]]) for entry in found.inputs["labels"] if not entry["refusal"]
        ],
        "sides": [(hold.question, entry) for hold in holds for entry in hold.asked],
        "attempts": len(found.attempts),
    }
    return render(request, "calibration/recalibrate.html", context)


def _run(request: PersonRequest, workflow: Workflow) -> HttpResponse:
    policy = active_policy(workflow)
    known = policy.rules["labels"] if policy else {}
    run = run_calibration(
        workflow=workflow,
        trigger=CalibrationRun.Trigger.ASKED,
        user=request.user,
        now=timezone.now(),
        forced=[label for label in request.POST.getlist("forced") if label in known],
    )
    messages.success(request, _outcome(next(row for row in newest_runs(workflow) if row.run.pk == run.pk)))
    if run.proposal is not None:
        return redirect("calibration:policy_version", workflow.slug, run.proposal.version)
    return redirect("calibration:overview", workflow.slug)


def _outcome(row: RunRow) -> str:
    if not row.tried:
        return "Nothing was tried, so nothing is spent: no label is due that has answers enough."
    tried = "1 label was tried" if row.tried == 1 else f"{row.tried} labels were tried"
    certified = f"{tried}, {row.certified or 'none'} certified."
    if row.run.proposal is not None:
        return f"{certified} This is what is proposed; nothing obeys it until it is activated."
    return f"{certified} The policy stays as it is."
