"""The sources of a workflow: how each is doing, pause and resume, and what was refused once more."""

from __future__ import annotations

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.utils import timezone
from django.views.decorators.http import require_POST, require_safe

from apps.accounts.http import PersonRequest
from apps.core.errors import Conflict
from apps.core.htmx import render
from apps.sources.models import Delivery, Source
from apps.sources.selectors import sources_of
from apps.sources.uploads.selectors import upload_page
from apps.sources.webhooks.working import pause, resume, work_again
from apps.workflows.access import get_workflow_for
from apps.workflows.models import Role

SHOWN_UPLOADS = 5


@require_safe
def overview(request: PersonRequest, slug: str) -> HttpResponse:
    workflow = get_workflow_for(user=request.user, slug=slug, role=Role.MANAGER)
    now = timezone.now()
    context = {
        "workflow": workflow,
        "sources": sources_of(workflow, now=now),
        "site": request.build_absolute_uri("/").rstrip("/"),
        "page": upload_page(workflow=workflow, before=None, now=now, size=SHOWN_UPLOADS),
    }
    return render(request, "sources/sources.html", context)


@require_POST
def source_pause(request: PersonRequest, slug: str, source_id: int) -> HttpResponse:
    workflow = get_workflow_for(user=request.user, slug=slug, role=Role.MANAGER)
    source = get_object_or_404(Source, pk=source_id, workflow=workflow)
    pause(source=source)
    messages.success(request, f"{source.name} is paused.")
    return redirect("sources:overview", slug)


@require_POST
def source_resume(request: PersonRequest, slug: str, source_id: int) -> HttpResponse:
    workflow = get_workflow_for(user=request.user, slug=slug, role=Role.MANAGER)
    source = get_object_or_404(Source, pk=source_id, workflow=workflow)
    resume(source=source)
    messages.success(request, f"{source.name} goes on.")
    return redirect("sources:overview", slug)


@require_POST
def delivery_again(request: PersonRequest, slug: str, delivery_id: int) -> HttpResponse:
    workflow = get_workflow_for(user=request.user, slug=slug, role=Role.MANAGER)
    delivery = get_object_or_404(Delivery.objects.defer("body"), pk=delivery_id, source__workflow=workflow)
    try:
        work_again(delivery=delivery)
    except Conflict as refusal:
        messages.error(request, str(refusal))
    else:
        messages.success(request, "It is worked off again. What it brought before is recognised.")
    return redirect("sources:overview", slug)
