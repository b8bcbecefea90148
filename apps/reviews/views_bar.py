"""What goes on while an item stands on the desk; the page asks again and again while it is looked at."""

from __future__ import annotations

from django.http import HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.views.decorators.http import require_GET

from apps.accounts.http import PersonRequest
from apps.reviews.bar import session_bar, why_gone
from apps.reviews.forms import LeaseForm
from apps.workflows.access import get_workflow_for
from apps.workflows.models import Role


@require_GET
def bar(request: PersonRequest, slug: str) -> HttpResponse:
    """The figures anew, and for a `lease` that is no longer this person's, why."""
    workflow = get_workflow_for(user=request.user, slug=slug, role=Role.REVIEWER)
    form = LeaseForm(request.GET)
    held = form.cleaned_data["lease"] if form.is_valid() else None
    context = {
        "workflow": workflow,
        "bar": session_bar(user=request.user, workflow=workflow, now=timezone.now(), counts_left=True),
        "gone": why_gone(user=request.user, lease_token=held) if held else "",
    }
    return render(request, "reviews/_desk_figures.html", context)
