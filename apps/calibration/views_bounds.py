"""Scores and maps: how far off levels are, and whether probabilities need mending."""

from __future__ import annotations

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect
from django.utils import timezone
from django.views.decorators.http import require_GET, require_POST

from apps.accounts.http import PersonRequest
from apps.calibration.fitting import propose_map, read_maps
from apps.calibration.scores import read_scores
from apps.core.errors import Conflict
from apps.core.htmx import render
from apps.workflows.access import get_workflow_for
from apps.workflows.models import Role


@require_GET
def bounds(request: PersonRequest, slug: str) -> HttpResponse:
    workflow = get_workflow_for(user=request.user, slug=slug, role=Role.MANAGER)
    now = timezone.now()
    context = {
        "workflow": workflow,
        "scores": read_scores(workflow=workflow, now=now),
        "maps": read_maps(workflow=workflow, now=now),
    }
    return render(request, "calibration/bounds.html", context)


@require_POST
def bounds_map(request: PersonRequest, slug: str) -> HttpResponse:
    """A draft with the map that helps, or without the one that no longer does."""
    workflow = get_workflow_for(user=request.user, slug=slug, role=Role.MANAGER)
    try:
        draft = propose_map(
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
