"""The desk: one item, its questions, and the reply to a decision is the next item."""

from __future__ import annotations

import json
import uuid
from typing import Any

from django.contrib import messages
from django.http import HttpResponse, JsonResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_GET, require_POST

from apps.accounts.http import PersonRequest
from apps.core.errors import Conflict, FieldProblem, InvalidInput
from apps.core.htmx import render
from apps.reviews import leases, selectors, services
from apps.reviews.bar import Bar, counted_on, session_bar
from apps.reviews.desk_page import around, desk_address, with_filter
from apps.reviews.errors import LeaseLost, NothingToUndo
from apps.reviews.forms import AnswerForm, LeaseForm, SkipForm
from apps.reviews.forms_queue import (
    EscalateForm,
    HandOverForm,
    blank_escalate_field,
    carried_filter,
    filter_of,
)
from apps.reviews.keys import keys_of
from apps.reviews.models import Lease
from apps.reviews.onward import submit_and_take
from apps.reviews.queue import QueueFilter, Seeker
from apps.reviews.standing import Waiting, waiting_for
from apps.workflows.access import get_workflow_for
from apps.workflows.models import Role, Workflow


@require_GET
def desk(request: PersonRequest, slug: str) -> HttpResponse:
    workflow = get_workflow_for(user=request.user, slug=slug, role=Role.REVIEWER)
    wanted = filter_of(request.GET, workflow)
    if wanted is None:
        # The queue's page says what is wrong with it.
        return redirect(f"{reverse('reviews:queue', args=[slug])}?{request.GET.urlencode()}")
    return _show_taken(request, workflow, wanted)


@require_POST
def task_submit(request: PersonRequest, slug: str) -> HttpResponse:
    workflow = get_workflow_for(user=request.user, slug=slug, role=Role.REVIEWER)
    form = AnswerForm(request.POST)
    if not form.is_valid():
        return _show_wrong(request, workflow, form, form.problems())
    answer: dict[str, Any] = {
        "user": request.user,
        "workflow": workflow,
        "lease_token": form.cleaned_data["lease"],
        "answers": form.answers(),
        "seconds": form.seconds,
        "note": form.cleaned_data["note"],
        "now": timezone.now(),
    }
    try:
        if request.htmx and not carried_filter(request, workflow):
            sent, following = submit_and_take(**answer)
        else:
            sent, following = services.submit_review(**answer), None
    except InvalidInput as wrong:
        return _show_wrong(request, workflow, form, wrong.problems)
    except LeaseLost as lost:
        return show_lost(request, workflow, lost, form.typed_note)
    bar = None if sent.repeated else counted_on(form.figures, sent.review.task.item)
    return show_next(request, workflow, "Saved.", bar, following)


@require_POST
def task_skip(request: PersonRequest, slug: str) -> HttpResponse:
    workflow = get_workflow_for(user=request.user, slug=slug, role=Role.REVIEWER)
    form = SkipForm(request.POST)
    if not form.is_valid():
        return _show_wrong(request, workflow, AnswerForm(request.POST), form.problems())
    token = form.cleaned_data["lease"]
    try:
        check_belongs(token, workflow)
        leases.skip_task(
            user=request.user, lease_token=token, reason=form.cleaned_data["reason"], now=timezone.now()
        )
    except LeaseLost as lost:
        return show_lost(request, workflow, lost, AnswerForm(request.POST).typed_note)
    return show_next(request, workflow, "Skipped.")


@require_POST
def task_undo(request: PersonRequest, slug: str) -> HttpResponse:
    """The last item comes back to the desk; when it cannot, what is on the desk stays as it is."""
    workflow = get_workflow_for(user=request.user, slug=slug, role=Role.REVIEWER)
    try:
        lease = services.undo_last_review(user=request.user, workflow=workflow, now=timezone.now())
    except NothingToUndo as refusal:
        if not request.htmx:
            messages.warning(request, str(refusal))
            return redirect(desk_address(workflow, carried_filter(request, workflow)))
        message = json.dumps({"message": {"text": str(refusal), "level": "warning"}})
        return HttpResponse(status=409, headers={"HX-Reswap": "none", "HX-Trigger": message})
    if not request.htmx:
        messages.success(request, "Taken back.")
        return redirect(desk_address(workflow, carried_filter(request, workflow)))
    return _show(request, workflow, lease, carried_filter(request, workflow), done="Taken back.")


@require_POST
def lease_renew(request: PersonRequest, slug: str) -> HttpResponse:
    """The heartbeat of a page that is looked at."""
    workflow = get_workflow_for(user=request.user, slug=slug, role=Role.REVIEWER)
    form = LeaseForm(request.POST)
    if not form.is_valid():
        return JsonResponse({"message": "The hold " + form.problems()[0].message + "."}, status=422)
    token = form.cleaned_data["lease"]
    try:
        check_belongs(token, workflow)
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


def check_belongs(token: uuid.UUID, workflow: Workflow) -> None:
    """A task is answered through its own workflow's address: there it was checked that the person is a member."""
    if Lease.objects.filter(token=token).exclude(task__workflow=workflow).exists():
        raise LeaseLost("This item belongs to another workflow. Open its desk to answer it.")


def _show(
    request: PersonRequest,
    workflow: Workflow,
    lease: Lease | None,
    wanted: QueueFilter,
    *,
    status: int = 200,
    done: str = "",
    bar: Bar | None = None,
    form: AnswerForm | None = None,
    problems: tuple[FieldProblem, ...] = (),
    hand_over: HandOverForm | None = None,
    escalate: EscalateForm | None = None,
) -> HttpResponse:
    task = None if lease is None else selectors.desk_task(lease, workflow=workflow, searched=wanted.text)
    context: dict[str, Any] = {
        "workflow": workflow,
        "desk": task,
        "bar": bar or _bar(request, workflow),
        "note": form.typed_note if form else "",
        "problems": [(problem.path.removeprefix("answers."), problem.message) for problem in problems],
        "done": done,
        **with_filter(workflow, wanted),
        **(around(task, wanted, form, problems) if task else _nothing(request, workflow, wanted)),
        "hand_over": hand_over,
        "escalate": escalate,
        "blank_escalate_field": blank_escalate_field,
    }
    return render(request, "reviews/desk.html", context, fragment="reviews/_desk.html", status=status)


def _bar(request: PersonRequest, workflow: Workflow) -> Bar:
    return session_bar(user=request.user, workflow=workflow, now=timezone.now(), counts_left=not request.htmx)


def _nothing(request: PersonRequest, workflow: Workflow, wanted: QueueFilter) -> dict[str, Any]:
    """Why there is nothing for this person."""
    seeker = Seeker.of(request.user, workflow)
    return {
        "desk_keys": keys_of(request.user),
        "waiting": waiting_for(seeker, wanted) if seeker else Waiting(),
    }


def show_next(
    request: PersonRequest,
    workflow: Workflow,
    done: str,
    bar: Bar | None = None,
    following: Lease | None = None,
) -> HttpResponse:
    """`bar`: the figures above the next item, where they are known; else they are counted. `following`: the next item,
    where it was taken already."""
    wanted = carried_filter(request, workflow)
    if not request.htmx:
        messages.success(request, done)
        return redirect(desk_address(workflow, wanted))
    if following is not None:
        return _show(request, workflow, following, wanted, done=done, bar=bar)
    return _show_taken(request, workflow, wanted, done=done, bar=bar)


def _show_taken(
    request: PersonRequest,
    workflow: Workflow,
    wanted: QueueFilter,
    *,
    done: str = "",
    bar: Bar | None = None,
) -> HttpResponse:
    try:
        lease = leases.take_next_task(user=request.user, workflow=workflow, wanted=wanted)
        return _show(request, workflow, lease, wanted, done=done, bar=bar)
    except InvalidInput as slow:
        return _show_lost(request, workflow, f"{done} {slow.problems[0].message}".strip(), wanted, "")


def _show_wrong(
    request: PersonRequest, workflow: Workflow, form: AnswerForm, problems: tuple[FieldProblem, ...]
) -> HttpResponse:
    """The same item with what was picked and typed; the item on the desk, when the form does not say which."""
    lease = _on_desk(request, workflow, form)
    wanted = carried_filter(request, workflow)
    return _show(request, workflow, lease, wanted, status=422, form=form, problems=problems)


def show_passing(
    request: PersonRequest,
    workflow: Workflow,
    lease: Lease,
    *,
    hand_over: HandOverForm | None = None,
    escalate: EscalateForm | None = None,
) -> HttpResponse:
    """The same item, with what is wrong in a form that passes it on."""
    wanted = carried_filter(request, workflow)
    return _show(request, workflow, lease, wanted, status=422, hand_over=hand_over, escalate=escalate)


def _on_desk(request: PersonRequest, workflow: Workflow, form: LeaseForm) -> Lease | None:
    """The hold that the form names, else what is on the desk."""
    if "lease" not in form.errors:
        token = form.cleaned_data["lease"]
        lease = Lease.objects.filter(token=token, user=request.user, task__workflow=workflow).first()
        if lease is not None:
            return lease
    return leases.take_next_task(user=request.user, workflow=workflow)


def show_lost(request: PersonRequest, workflow: Workflow, lost: Conflict, note: str) -> HttpResponse:
    return _show_lost(request, workflow, str(lost), carried_filter(request, workflow), note)


def _show_lost(
    request: PersonRequest, workflow: Workflow, lost: str, wanted: QueueFilter, note: str
) -> HttpResponse:
    context = {
        "workflow": workflow,
        "desk_keys": keys_of(request.user),
        "lost": lost,
        "note": note,
        **with_filter(workflow, wanted),
        "bar": _bar(request, workflow),
    }
    return render(request, "reviews/desk.html", context, fragment="reviews/_desk.html", status=409)
