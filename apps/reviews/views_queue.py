"""The queue as a page: what is open, who has it, and what a manager may do about it."""

from __future__ import annotations

from django.contrib import messages
from django.http import Http404, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_GET, require_POST

from apps.accounts.http import PersonRequest
from apps.core.errors import Conflict, InvalidInput
from apps.core.htmx import render
from apps.core.text import whole_number
from apps.reviews import handing, leases
from apps.reviews.desk_page import desk_address
from apps.reviews.forms_queue import (
    HandOverForm,
    PriorityForm,
    QueueFilterForm,
    carried_filter,
    recent_places,
)
from apps.reviews.models import ReviewTask
from apps.reviews.queue import EVERYTHING, QueueFilter, Seeker
from apps.reviews.queue_page import QueuePage, events_of, queue_page, queue_row
from apps.reviews.standing import MOST_LOOKED_AT, waiting_for
from apps.workflows.access import get_workflow_for, is_manager
from apps.workflows.models import Role, Workflow


@require_GET
def queue(request: PersonRequest, slug: str) -> HttpResponse:
    workflow = get_workflow_for(user=request.user, slug=slug, role=Role.REVIEWER)
    seeker = _seeker(request, workflow)
    form = QueueFilterForm(request.GET, workflow=workflow)
    page, wanted = None, EVERYTHING
    if form.is_valid():
        wanted = form.to_filter()
        page = _page(request, seeker, form, wanted)
    sources, languages = recent_places(workflow)
    context = {
        "workflow": workflow,
        "form": form,
        "wanted": wanted,
        "page": page,
        "waiting": waiting_for(seeker, most=MOST_LOOKED_AT),
        "desk": desk_address(workflow, wanted),
        "next": _address(workflow, wanted, "after", page.next_after if page else None),
        "previous": _address(workflow, wanted, "before", page.previous_before if page else None),
        "is_first": page is None or page.previous_before is None,
        "sources": sources,
        "languages": languages,
    }
    status = 200 if page else 422
    return render(request, "reviews/queue.html", context, fragment="reviews/_queue.html", status=status)


def _page(
    request: PersonRequest, seeker: Seeker, form: QueueFilterForm, wanted: QueueFilter
) -> QueuePage | None:
    after, before = (whole_number(request.GET.get(name)) for name in ("after", "before"))
    try:
        return queue_page(seeker, wanted, after=after, before=before, now=timezone.now())
    except InvalidInput as slow:
        form.add_error("q", slow.problems[0].message)
        return None


def _address(workflow: Workflow, wanted: QueueFilter, name: str, task_id: int | None) -> str:
    """Of the page that `name` and the task say; "" without one."""
    if task_id is None:
        return ""
    here = reverse("reviews:queue", args=[workflow.slug])
    return f"{here}?{wanted.query}{'&' if wanted else ''}{name}={task_id}"


@require_GET
def queue_task(request: PersonRequest, slug: str, task_id: int) -> HttpResponse:
    workflow = get_workflow_for(user=request.user, slug=slug, role=Role.REVIEWER)
    return _show(request, workflow, task_id)


def _show(
    request: PersonRequest,
    workflow: Workflow,
    task_id: int,
    *,
    hand_over: HandOverForm | None = None,
    priority: PriorityForm | None = None,
) -> HttpResponse:
    row = queue_row(_seeker(request, workflow), task_id, now=timezone.now())
    if row is None:
        # Answered meanwhile: its item tells how.
        task = ReviewTask.objects.filter(pk=task_id, workflow=workflow).first()
        if task is None:
            raise Http404
        return redirect("insights:item", workflow.slug, task.item_id)
    manages = is_manager(user=request.user, workflow=workflow)
    context = {
        "workflow": workflow,
        "row": row,
        "events": events_of(row.task),
        "manages": manages,
        "hand_over": hand_over or HandOverForm(people=handing.people_for(row.task) if manages else []),
        "priority": priority or PriorityForm(initial={"priority": row.task.priority}),
    }
    status = 422 if hand_over or priority else 200
    return render(request, "reviews/queue_task.html", context, status=status)


@require_POST
def task_take(request: PersonRequest, slug: str, task_id: int) -> HttpResponse:
    workflow = get_workflow_for(user=request.user, slug=slug, role=Role.REVIEWER)
    wanted = carried_filter(request, workflow)
    try:
        leases.take_task(user=request.user, workflow=workflow, task_id=task_id)
    except Conflict as barred:
        messages.warning(request, str(barred))
        here = reverse("reviews:queue", args=[slug])
        return redirect(f"{here}?{wanted.query}" if wanted else here)
    # Without the filter: the item taken need not match it.
    return redirect("reviews:desk", slug)


@require_POST
def queue_hand_over(request: PersonRequest, slug: str, task_id: int) -> HttpResponse:
    workflow = get_workflow_for(user=request.user, slug=slug, role=Role.MANAGER)
    task = ReviewTask.objects.filter(pk=task_id, workflow=workflow).first()
    if task is None:
        raise Http404
    form = HandOverForm(request.POST, people=handing.people_for(task))
    if not form.is_valid():
        return _show(request, workflow, task_id, hand_over=form)
    try:
        handing.assign(
            manager=request.user,
            workflow=workflow,
            task_id=task_id,
            to=form.person,
            note=form.cleaned_data["why"],
            now=timezone.now(),
        )
    except Conflict as barred:
        form.add_error(None, str(barred))
        return _show(request, workflow, task_id, hand_over=form)
    messages.success(request, f"Handed to {form.person}.")
    return redirect("reviews:queue_task", slug, task_id)


@require_POST
def queue_prioritise(request: PersonRequest, slug: str, task_id: int) -> HttpResponse:
    workflow = get_workflow_for(user=request.user, slug=slug, role=Role.MANAGER)
    form = PriorityForm(request.POST)
    if not form.is_valid():
        return _show(request, workflow, task_id, priority=form)
    try:
        handing.prioritise(
            manager=request.user,
            workflow=workflow,
            task_id=task_id,
            priority=form.cleaned_data["priority"],
            note=form.cleaned_data["why"],
            now=timezone.now(),
        )
    except Conflict as barred:
        form.add_error(None, str(barred))
        return _show(request, workflow, task_id, priority=form)
    messages.success(request, "Saved.")
    return redirect("reviews:queue_task", slug, task_id)


def _seeker(request: PersonRequest, workflow: Workflow) -> Seeker:
    seeker = Seeker.of(request.user, workflow)
    if seeker is None:
        raise Http404
    return seeker
