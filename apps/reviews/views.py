"""The desk: one item, its questions, and the reply to a decision is the next item."""

from __future__ import annotations

import json
import uuid
from typing import Any

from django.contrib import messages
from django.http import HttpResponse, JsonResponse
from django.shortcuts import redirect
from django.utils import timezone
from django.views.decorators.http import require_GET, require_POST

from apps.accounts.http import PersonRequest
from apps.core.errors import FieldProblem, InvalidInput
from apps.core.htmx import render
from apps.reviews import leases, selectors, services
from apps.reviews.errors import LeaseLost, NothingToUndo
from apps.reviews.forms import (
    CANNOT_TELL_REASONS,
    SKIP_REASONS,
    AnswerForm,
    LeaseForm,
    SkipForm,
    asked_questions,
)
from apps.reviews.models import Lease
from apps.workflows.access import get_workflow_for
from apps.workflows.models import Role, Workflow


@require_GET
def desk(request: PersonRequest, slug: str) -> HttpResponse:
    workflow = get_workflow_for(user=request.user, slug=slug, role=Role.REVIEWER)
    return _show(request, workflow, leases.take_next_task(user=request.user, workflow=workflow))


@require_POST
def task_submit(request: PersonRequest, slug: str) -> HttpResponse:
    workflow = get_workflow_for(user=request.user, slug=slug, role=Role.REVIEWER)
    form = AnswerForm(request.POST)
    if not form.is_valid():
        return _show_wrong(request, workflow, form, form.problems())
    token = form.cleaned_data["lease"]
    try:
        _check_belongs(token, workflow)
        services.submit_review(
            user=request.user,
            lease_token=token,
            answers=form.answers(),
            seconds=form.seconds,
            note=form.cleaned_data["note"],
            now=timezone.now(),
        )
    except InvalidInput as wrong:
        return _show_wrong(request, workflow, form, wrong.problems)
    except LeaseLost as lost:
        return _show_lost(request, workflow, lost, form)
    return _show_next(request, workflow, "Saved.")


@require_POST
def task_skip(request: PersonRequest, slug: str) -> HttpResponse:
    workflow = get_workflow_for(user=request.user, slug=slug, role=Role.REVIEWER)
    form = SkipForm(request.POST)
    if not form.is_valid():
        return _show_wrong(request, workflow, AnswerForm(request.POST), form.problems())
    token = form.cleaned_data["lease"]
    try:
        _check_belongs(token, workflow)
        leases.skip_task(
            user=request.user, lease_token=token, reason=form.cleaned_data["reason"], now=timezone.now()
        )
    except LeaseLost as lost:
        return _show_lost(request, workflow, lost, AnswerForm(request.POST))
    return _show_next(request, workflow, "Skipped.")


@require_POST
def task_undo(request: PersonRequest, slug: str) -> HttpResponse:
    """The last item comes back to the desk; when it cannot, what is on the desk stays as it is."""
    workflow = get_workflow_for(user=request.user, slug=slug, role=Role.REVIEWER)
    try:
        lease = services.undo_last_review(user=request.user, workflow=workflow, now=timezone.now())
    except NothingToUndo as refusal:
        if not request.htmx:
            messages.warning(request, str(refusal))
            return redirect("reviews:desk", slug)
        message = json.dumps({"message": {"text": str(refusal), "level": "warning"}})
        return HttpResponse(status=409, headers={"HX-Reswap": "none", "HX-Trigger": message})
    if not request.htmx:
        messages.success(request, "Taken back.")
        return redirect("reviews:desk", slug)
    return _show(request, workflow, lease, done="Taken back.")


@require_POST
def lease_renew(request: PersonRequest, slug: str) -> HttpResponse:
    """The heartbeat of a page that is looked at."""
    workflow = get_workflow_for(user=request.user, slug=slug, role=Role.REVIEWER)
    form = LeaseForm(request.POST)
    if not form.is_valid():
        return JsonResponse({"message": "The hold " + form.problems()[0].message + "."}, status=422)
    token = form.cleaned_data["lease"]
    try:
        _check_belongs(token, workflow)
        expires_at = leases.renew_lease(user=request.user, lease_token=token)
    except LeaseLost as lost:
        return JsonResponse({"message": str(lost)}, status=409)
    return JsonResponse({"expires_at": expires_at})


@require_POST
def lease_release(request: PersonRequest, slug: str) -> HttpResponse:
    """Sent by the browser while the page is left: nobody reads the answer."""
    workflow = get_workflow_for(user=request.user, slug=slug, role=Role.REVIEWER)
    form = LeaseForm(request.POST)
    if (
        form.is_valid()
        and Lease.objects.filter(token=form.cleaned_data["lease"], task__workflow=workflow).exists()
    ):
        leases.release_lease(user=request.user, lease_token=form.cleaned_data["lease"])
    return HttpResponse(status=204)


def _check_belongs(token: uuid.UUID, workflow: Workflow) -> None:
    """A task is answered through its own workflow's address: there it was checked that the person is a member."""
    if Lease.objects.filter(token=token).exclude(task__workflow=workflow).exists():
        raise LeaseLost("This item belongs to another workflow. Open its desk to answer it.")


def _show(
    request: PersonRequest,
    workflow: Workflow,
    lease: Lease | None,
    *,
    status: int = 200,
    done: str = "",
    form: AnswerForm | None = None,
    problems: tuple[FieldProblem, ...] = (),
) -> HttpResponse:
    task = None if lease is None else selectors.desk_task(lease)
    context: dict[str, Any] = {
        "workflow": workflow,
        "desk": task,
        "asked": asked_questions(task.asked, form, problems) if task else [],
        "can_accept": task is not None and all(question.suggestion for question in task.asked),
        "unasked": asked_questions(task.unasked, form, problems) if task else [],
        "cannot_tell_reasons": CANNOT_TELL_REASONS,
        "standing": selectors.queue_standing(user=request.user, workflow=workflow, now=timezone.now()),
        "skip_reasons": SKIP_REASONS,
        "note": form.typed_note if form else "",
        "problems": [(problem.path.removeprefix("answers."), problem.message) for problem in problems],
        "done": done,
    }
    return render(request, "reviews/desk.html", context, fragment="reviews/_desk.html", status=status)


def _show_next(request: PersonRequest, workflow: Workflow, done: str) -> HttpResponse:
    if not request.htmx:
        messages.success(request, done)
        return redirect("reviews:desk", workflow.slug)
    return _show(request, workflow, leases.take_next_task(user=request.user, workflow=workflow), done=done)


def _show_wrong(
    request: PersonRequest, workflow: Workflow, form: AnswerForm, problems: tuple[FieldProblem, ...]
) -> HttpResponse:
    """The same item with what was picked and typed; the item on the desk, when the form does not say which."""
    lease = None
    if "lease" not in form.errors:
        token = form.cleaned_data["lease"]
        lease = Lease.objects.filter(token=token, user=request.user, task__workflow=workflow).first()
    if lease is None:
        lease = leases.take_next_task(user=request.user, workflow=workflow)
    return _show(request, workflow, lease, status=422, form=form, problems=problems)


def _show_lost(request: PersonRequest, workflow: Workflow, lost: LeaseLost, form: AnswerForm) -> HttpResponse:
    context = {
        "workflow": workflow,
        "lost": str(lost),
        "note": form.typed_note,
        "standing": selectors.queue_standing(user=request.user, workflow=workflow, now=timezone.now()),
    }
    return render(request, "reviews/desk.html", context, fragment="reviews/_desk.html", status=409)
