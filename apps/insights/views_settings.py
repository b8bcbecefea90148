"""The settings of a workflow: shown whole; each form posts to its own address and comes back to this page."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.http import Http404, HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.utils import timezone
from django.views.decorators.http import require_POST, require_safe

from apps.accounts.http import PersonRequest
from apps.accounts.models import User
from apps.core.errors import Conflict, InvalidInput
from apps.core.htmx import render
from apps.insights.forms_settings import LimitsForm, MemberForm, ReadingForm, TokenForm, TopFieldsForm
from apps.insights.settings import put_person, remove_person, workflow_settings
from apps.outbox.selectors import subscriptions_of
from apps.workflows.access import get_workflow_for
from apps.workflows.models import ApiToken, Role, Workflow
from apps.workflows.people import revoke_token, update_limits
from apps.workflows.reading import set_top_fields, update_reading
from apps.workflows.services import create_token


@require_safe
def settings(request: PersonRequest, slug: str) -> HttpResponse:
    return _show(request, get_workflow_for(user=request.user, slug=slug, role=Role.MANAGER))


@require_POST
def member_add(request: PersonRequest, slug: str) -> HttpResponse:
    workflow = get_workflow_for(user=request.user, slug=slug, role=Role.MANAGER)
    form = MemberForm(request.POST)
    if not form.is_valid():
        return _show(request, workflow, status=422, member_form=form)
    try:
        member = put_person(
            workflow=workflow, username=form.cleaned_data["username"], role=Role(form.cleaned_data["role"])
        )
    except InvalidInput as wrong:
        form.add_problems(wrong)
        return _show(request, workflow, status=422, member_form=form)
    except Conflict as refusal:
        return _show(request, workflow, status=409, refusal=str(refusal), member_form=form)
    messages.success(request, f"{member.user} is a {member.role} now.")
    return redirect("insights:settings", slug)


@require_POST
def member_remove(request: PersonRequest, slug: str, user_id: int) -> HttpResponse:
    workflow = get_workflow_for(user=request.user, slug=slug, role=Role.MANAGER)
    person = get_object_or_404(User, pk=user_id, memberships__workflow=workflow)
    try:
        remove_person(workflow=workflow, user=person, now=timezone.now())
    except Conflict as refusal:
        return _show(request, workflow, status=409, refusal=str(refusal))
    messages.success(request, f"{person} was removed. Their answers stay.")
    # Whoever removed themselves may not see this page any more.
    return redirect("home") if person == request.user else redirect("insights:settings", slug)


@require_POST
def token_create(request: PersonRequest, slug: str) -> HttpResponse:
    """Answers with the page itself: the secret is nowhere but in this one reply."""
    workflow = get_workflow_for(user=request.user, slug=slug, role=Role.MANAGER)
    form = TokenForm(request.POST)
    if not form.is_valid():
        return _show(request, workflow, status=422, token_form=form)
    try:
        token, secret = create_token(
            workflow=workflow,
            user=request.user,
            name=form.cleaned_data["name"],
            scopes=form.cleaned_data["scopes"],
            expires_at=form.expires_at(),
        )
    except InvalidInput as wrong:
        form.add_problems(wrong)
        return _show(request, workflow, status=422, token_form=form)
    return _show(request, workflow, status=201, new_token=token, secret=secret)


@require_POST
def token_revoke(request: PersonRequest, slug: str, token_id: int) -> HttpResponse:
    workflow = get_workflow_for(user=request.user, slug=slug, role=Role.MANAGER)
    if not revoke_token(workflow=workflow, token_id=token_id, now=timezone.now()):
        raise Http404
    messages.success(request, "The token was revoked. It opens nothing any more.")
    return redirect("insights:settings", slug)


@require_POST
def limits_update(request: PersonRequest, slug: str) -> HttpResponse:
    workflow = get_workflow_for(user=request.user, slug=slug, role=Role.MANAGER)
    form = LimitsForm(request.POST)
    if form.is_valid():
        try:
            update_limits(workflow=workflow, **form.cleaned_data)
        except InvalidInput as wrong:
            form.add_problems(wrong)
    if form.errors:
        return _show(request, workflow, status=422, limits_form=form)
    messages.success(request, "Saved. It holds for items and answers from now on.")
    return redirect("insights:settings", slug)


@require_POST
def reading_update(request: PersonRequest, slug: str) -> HttpResponse:
    workflow = get_workflow_for(user=request.user, slug=slug, role=Role.MANAGER)
    form = ReadingForm(request.POST)
    if not form.is_valid():
        return _show(request, workflow, status=422, reading_form=form)
    update_reading(workflow=workflow, **form.cleaned_data)
    messages.success(request, "Saved. It holds for what the model reads from now on.")
    return redirect("insights:settings", slug)


@require_POST
def top_fields_update(request: PersonRequest, slug: str) -> HttpResponse:
    workflow = get_workflow_for(user=request.user, slug=slug, role=Role.MANAGER)
    form = TopFieldsForm(request.POST)
    if form.is_valid():
        try:
            set_top_fields(workflow=workflow, fields=form.cleaned_data["top_fields"])
        except InvalidInput as wrong:
            form.add_problems(wrong)
    if form.errors:
        return _show(request, workflow, status=422, top_fields_form=form)
    messages.success(request, "Saved. The desk shows these fields first.")
    return redirect("insights:settings", slug)


def _show(
    request: PersonRequest,
    workflow: Workflow,
    *,
    status: int = 200,
    refusal: str = "",
    new_token: ApiToken | None = None,
    secret: str = "",
    **forms: MemberForm | TokenForm | LimitsForm | ReadingForm | TopFieldsForm,
) -> HttpResponse:
    current = {name: getattr(workflow, name) for name in (*LimitsForm.base_fields, *ReadingForm.base_fields)}
    context: dict[str, Any] = {
        "workflow": workflow,
        "shown": workflow_settings(workflow),
        "subscriptions": subscriptions_of(workflow),
        "refusal": refusal,
        "new_token": new_token,
        "secret": secret,
        "now": timezone.now(),
        "member_form": MemberForm(),
        "token_form": TokenForm(),
        "limits_form": LimitsForm(initial=current),
        "reading_form": ReadingForm(initial=current),
        "top_fields_form": TopFieldsForm(initial={"top_fields": "\n".join(workflow.top_fields)}),
        **forms,
    }
    return render(request, "insights/settings.html", context, status=status)
