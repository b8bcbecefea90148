"""What a person does with the item on their desk besides answering it: pass it on, or give it back."""

from __future__ import annotations

from django.contrib import messages
from django.http import Http404, HttpResponse, QueryDict
from django.shortcuts import redirect
from django.utils import timezone
from django.views.decorators.http import require_GET, require_POST

from apps.accounts.http import PersonRequest
from apps.core.errors import Conflict
from apps.core.htmx import render
from apps.reviews import handing, leases
from apps.reviews.forms import LeaseForm
from apps.reviews.forms_queue import EscalateForm, HandOverForm, filter_of
from apps.reviews.models import Lease
from apps.reviews.views import show_lost, show_next, show_passing
from apps.workflows.access import get_workflow_for
from apps.workflows.models import Role, Workflow


@require_GET
def hand_over(request: PersonRequest, slug: str) -> HttpResponse:
    """The form with who could take the item: fetched when somebody wants it, so that the next item need not wait."""
    workflow = get_workflow_for(user=request.user, slug=slug, role=Role.REVIEWER)
    form = LeaseForm(request.GET)
    lease = _lease(request, workflow, form) if form.is_valid() else None
    if lease is None:
        raise Http404
    context = {
        "workflow": workflow,
        "lease": lease,
        "hand_over": HandOverForm(people=handing.people_for(lease.task), takes_focus=True),
        "wanted": filter_of(QueryDict(str(request.GET.get("filter", ""))), workflow),
    }
    return render(request, "reviews/hand_over.html", context, fragment="reviews/_hand_over.html")


@require_POST
def task_hand_over(request: PersonRequest, slug: str) -> HttpResponse:
    workflow = get_workflow_for(user=request.user, slug=slug, role=Role.REVIEWER)
    typed = str(request.POST.get("why", ""))
    sent = LeaseForm(request.POST)
    lease = _lease(request, workflow, sent) if sent.is_valid() else None
    if lease is None:
        return _gone(request, workflow, typed)
    form = HandOverForm(request.POST, people=handing.people_for(lease.task))
    if not form.is_valid():
        return show_passing(request, workflow, lease, hand_over=form)
    try:
        handing.hand_over(
            user=request.user,
            lease_token=lease.token,
            to=form.person,
            note=form.cleaned_data["why"],
            now=timezone.now(),
        )
    except Conflict as lost:
        return show_lost(request, workflow, lost, typed)
    return show_next(request, workflow, f"Handed to {form.person}.")


@require_POST
def task_escalate(request: PersonRequest, slug: str) -> HttpResponse:
    workflow = get_workflow_for(user=request.user, slug=slug, role=Role.REVIEWER)
    typed = str(request.POST.get("why", ""))
    sent = LeaseForm(request.POST)
    lease = _lease(request, workflow, sent) if sent.is_valid() else None
    if lease is None:
        return _gone(request, workflow, typed)
    form = EscalateForm(request.POST)
    if not form.is_valid():
        return show_passing(request, workflow, lease, escalate=form)
    try:
        handing.escalate(
            user=request.user, lease_token=lease.token, note=form.cleaned_data["why"], now=timezone.now()
        )
    except Conflict as lost:
        return show_lost(request, workflow, lost, typed)
    return show_next(request, workflow, "Escalated.")


@require_POST
def task_give_back(request: PersonRequest, slug: str) -> HttpResponse:
    """Back to its place in the queue, where the person now is, too: the next item would be the same one."""
    workflow = get_workflow_for(user=request.user, slug=slug, role=Role.REVIEWER)
    form = LeaseForm(request.POST)
    lease = _lease(request, workflow, form) if form.is_valid() else None
    if lease is not None:
        leases.release_lease(user=request.user, lease_token=lease.token)
        messages.success(request, "Given back.")
    return redirect("reviews:queue", slug)


def _lease(request: PersonRequest, workflow: Workflow, form: LeaseForm) -> Lease | None:
    """Of this person and this workflow alone."""
    token = form.cleaned_data["lease"]
    mine = Lease.objects.select_related("task").filter(user=request.user, task__workflow=workflow)
    return mine.filter(token=token).first()


def _gone(request: PersonRequest, workflow: Workflow, typed: str) -> HttpResponse:
    lost = Conflict("This item is no longer on your desk: its hold has ended. Your next item is waiting.")
    return show_lost(request, workflow, lost, typed)
