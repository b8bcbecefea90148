"""How many people look at an item and who decides between them: the page where managers set it and see what it did."""

from __future__ import annotations

from django.contrib import messages
from django.http import Http404, HttpResponse
from django.shortcuts import redirect
from django.utils import timezone
from django.views.decorators.http import require_POST, require_safe

from apps.accounts.http import PersonRequest
from apps.core.errors import InvalidInput
from apps.core.htmx import render
from apps.reviews.forms_rules import RulesForm
from apps.reviews.handing import change_senior
from apps.reviews.proposals import what_people_said
from apps.reviews.rules import change_rules, routing_labels, rules_in_force
from apps.reviews.rules_told import most_wanted, told_history, waiting_for_seniors
from apps.workflows.access import get_workflow_for
from apps.workflows.models import Membership, Role, Workflow


@require_safe
def opinions(request: PersonRequest, slug: str) -> HttpResponse:
    return _show(request, get_workflow_for(user=request.user, slug=slug, role=Role.MANAGER))


@require_POST
def opinions_change(request: PersonRequest, slug: str) -> HttpResponse:
    workflow = get_workflow_for(user=request.user, slug=slug, role=Role.MANAGER)
    form = RulesForm(request.POST, labels=routing_labels(workflow))
    if not form.is_valid():
        return _show(request, workflow, form=form, status=422)
    try:
        change_rules(workflow=workflow, user=request.user, change=form.change, now=timezone.now())
    except InvalidInput as wrong:
        form.add_problems(wrong)
        return _show(request, workflow, form=form, status=422)
    messages.success(request, "Saved. It holds for items that come from now on.")
    return redirect("reviews:opinions", slug)


@require_POST
def senior_change(request: PersonRequest, slug: str, user_id: int) -> HttpResponse:
    workflow = get_workflow_for(user=request.user, slug=slug, role=Role.MANAGER)
    is_senior = request.POST.get("senior") == "yes"
    member = change_senior(workflow=workflow, user_id=user_id, is_senior=is_senior)
    if member is None:
        raise Http404
    messages.success(request, f"{member.user} is {'a senior' if is_senior else 'no senior'} now.")
    return redirect("reviews:opinions", slug)


def _show(
    request: PersonRequest, workflow: Workflow, *, form: RulesForm | None = None, status: int = 200
) -> HttpResponse:
    labels = routing_labels(workflow)
    rules = rules_in_force(workflow)
    members = Membership.objects.filter(workflow=workflow, user__is_active=True).select_related("user")
    context = {
        "workflow": workflow,
        "form": form or RulesForm.of(rules, labels),
        "history": told_history(workflow, labels),
        "members": members.order_by("user__username"),
        "most_wanted": most_wanted(rules),
        "waiting": waiting_for_seniors(workflow),
        "said": what_people_said(user=request.user, workflow=workflow),
    }
    return render(request, "reviews/opinions.html", context, status=status)
