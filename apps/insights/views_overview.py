from __future__ import annotations

from django.http import HttpResponse
from django.utils import timezone
from django.views.decorators.http import require_safe

from apps.accounts.http import PersonRequest
from apps.core.htmx import render
from apps.insights.selectors import Overview
from apps.workflows.access import get_workflow_for
from apps.workflows.models import Role

WINDOWS: dict[str, int | None] = {"7": 7, "28": 28, "90": 90, "all": None}
USUAL = "28"


@require_safe
def overview(request: PersonRequest, slug: str) -> HttpResponse:
    """An unknown window is told and the usual one shown. The tiles ask for themselves again, and for nothing else."""
    workflow = get_workflow_for(user=request.user, slug=slug, role=Role.MANAGER)
    asked = request.GET.get("days") or USUAL
    is_known = asked in WINDOWS
    chosen = asked if is_known else USUAL
    context = {
        "workflow": workflow,
        "overview": Overview(workflow, WINDOWS[chosen], timezone.now()),
        "windows": WINDOWS,
        "chosen": chosen,
        "unknown_window": "" if is_known else asked,
    }
    return render(
        request,
        "insights/overview.html",
        context,
        fragment="insights/_overview_live.html",
        status=200 if is_known else 422,
    )
