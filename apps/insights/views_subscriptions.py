"""Who is told what happens: each subscription with all that was sent to it, every attempt, and once more by hand."""

from __future__ import annotations

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.utils import timezone
from django.views.decorators.http import require_POST, require_safe

from apps.accounts.http import PersonRequest
from apps.core.errors import Conflict
from apps.core.htmx import render
from apps.core.text import whole_number
from apps.outbox.models import Sending, Subscription
from apps.outbox.selectors import sending_page, told_of
from apps.outbox.services import pause, resume, send_again
from apps.workflows.access import get_workflow_for
from apps.workflows.models import Role


@require_safe
def subscription(request: PersonRequest, slug: str, subscription_id: int) -> HttpResponse:
    workflow = get_workflow_for(user=request.user, slug=slug, role=Role.MANAGER)
    found = get_object_or_404(Subscription, pk=subscription_id, workflow=workflow)
    page = sending_page(subscription=found, before=whole_number(request.GET.get("before")))
    context = {
        "workflow": workflow,
        "told": told_of(found),
        "page": page,
        "older": f"?before={page.older}" if page.older else "",
    }
    return render(request, "insights/subscription.html", context)


@require_POST
def subscription_pause(request: PersonRequest, slug: str, subscription_id: int) -> HttpResponse:
    workflow = get_workflow_for(user=request.user, slug=slug, role=Role.MANAGER)
    found = get_object_or_404(Subscription, pk=subscription_id, workflow=workflow)
    pause(subscription=found)
    messages.success(request, f"{found.address} is told nothing until it is resumed.")
    return redirect("insights:subscription", slug, found.pk)


@require_POST
def subscription_resume(request: PersonRequest, slug: str, subscription_id: int) -> HttpResponse:
    workflow = get_workflow_for(user=request.user, slug=slug, role=Role.MANAGER)
    found = get_object_or_404(Subscription, pk=subscription_id, workflow=workflow)
    resume(subscription=found)
    messages.success(request, f"{found.address} is told again, beginning with what waits.")
    return redirect("insights:subscription", slug, found.pk)


@require_POST
def sending_again(request: PersonRequest, slug: str, sending_id: int) -> HttpResponse:
    workflow = get_workflow_for(user=request.user, slug=slug, role=Role.MANAGER)
    sending = get_object_or_404(Sending, pk=sending_id, subscription__workflow=workflow)
    try:
        send_again(sending=sending, now=timezone.now())
    except Conflict as refusal:
        messages.error(request, str(refusal))
    else:
        messages.success(request, "It is sent again, under the same id.")
    return redirect("insights:subscription", slug, sending.subscription_id)
