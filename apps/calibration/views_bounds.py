"""Limits of doubt and maps: what answers to each question say of the policy's holds, and of its probabilities."""

from __future__ import annotations

from datetime import datetime
from typing import Protocol

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect
from django.utils import timezone
from django.views.decorators.http import require_GET, require_POST

from apps.accounts.http import PersonRequest
from apps.accounts.models import User
from apps.calibration.fitting import propose_map, read_maps
from apps.calibration.models import CalibrationRun
from apps.calibration.scores import read_scores
from apps.calibration.side_certs import propose_limits, recompute_sides
from apps.calibration.sides import HoldInForce, holds_in_force, limits_from, sides_relied_on
from apps.core.errors import Conflict
from apps.core.htmx import render
from apps.policies.models import Policy
from apps.stats.certificates import FORMULA_VERSION
from apps.workflows.access import get_workflow_for
from apps.workflows.models import Role, Workflow


@require_GET
def bounds(request: PersonRequest, slug: str) -> HttpResponse:
    workflow = get_workflow_for(user=request.user, slug=slug, role=Role.MANAGER)
    now = timezone.now()
    holds = holds_in_force(workflow=workflow, now=now)
    run = _newest_run(workflow, holds)
    context = {
        "workflow": workflow,
        "run": run,
        "holds": [_hold(hold, run) for hold in holds],
        "scores": read_scores(workflow=workflow, now=now),
        "maps": read_maps(workflow=workflow, now=now),
    }
    return render(request, "calibration/bounds.html", context)


@require_POST
def bounds_limits(request: PersonRequest, slug: str) -> HttpResponse:
    return _propose(request, slug, propose_limits)


@require_POST
def bounds_map(request: PersonRequest, slug: str) -> HttpResponse:
    return _propose(request, slug, propose_map)


def _hold(hold: HoldInForce, run: CalibrationRun | None) -> dict[str, object]:
    """With what the newest run found of it: counting anew takes seconds, a page has none."""
    held = sides_relied_on(hold)
    low, high = limits_from(hold)
    results = recompute_sides(run).get(hold.question.key, []) if run else []
    found = {result["label"]: result for result in results}
    return {
        "hold": hold,
        "sides": [(entry, found.get(entry["label"]), held.get(entry["label"])) for entry in hold.asked],
        "low": low,
        "high": high,
        "differs": (low, high) != (hold.low, hold.high),
    }


def _newest_run(workflow: Workflow, holds: list[HoldInForce]) -> CalibrationRun | None:
    """None where it was of another model, other questions or another formula."""
    run = CalibrationRun.objects.filter(workflow=workflow).order_by("-id").first()
    if run is None or not holds or run.formula != FORMULA_VERSION:
        return None
    same = (run.model, run.question_set_id) == (holds[0].model, holds[0].question.question_set_id)
    return run if same else None


class _Proposer(Protocol):
    def __call__(self, *, workflow: Workflow, question: str, user: User, now: datetime) -> Policy: ...


def _propose(request: PersonRequest, slug: str, make: _Proposer) -> HttpResponse:
    workflow = get_workflow_for(user=request.user, slug=slug, role=Role.MANAGER)
    try:
        draft = make(
            workflow=workflow,
            question=request.POST.get("question", ""),
            user=request.user,
            now=timezone.now(),
        )
    except Conflict as conflict:
        messages.error(request, str(conflict))
        return redirect("calibration:bounds", workflow.slug)
    messages.success(request, f"Version {draft.version} is proposed. Nothing obeys it until it is activated.")
    return redirect("calibration:policy_version", workflow.slug, draft.version)
