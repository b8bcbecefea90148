"""Uploads: hand files over, see what was understood before anything is written, import, stop, and what was refused."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.http import HttpResponse, StreamingHttpResponse, UnreadablePostError
from django.http.response import HttpResponseBase
from django.shortcuts import get_object_or_404, redirect
from django.utils import timezone
from django.views.decorators.csrf import csrf_exempt, csrf_protect
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from apps.accounts.http import PersonRequest
from apps.core.errors import Conflict, InvalidInput
from apps.core.htmx import render
from apps.core.text import whole_number
from apps.pipeline import limits
from apps.sources.models import Upload
from apps.sources.uploads.forms import UploadForm
from apps.sources.uploads.receiving import CUT_OFF, Receiver
from apps.sources.uploads.selectors import (
    first_refusals,
    open_questions,
    refusals_csv,
    seen_of,
    understanding_of,
    upload_page,
    view_of,
)
from apps.sources.uploads.services import ask_cancel, ask_import, check_room, decide, take_in
from apps.workflows.access import get_workflow_for
from apps.workflows.models import Role, Workflow

MOST_BODY_BYTES = 2 * limits.MAX_IMPORT_FILE_BYTES
TOO_MUCH = f"That is too much at once: a file may have {limits.MAX_IMPORT_FILE_BYTES // 1024**2} MB."
NO_FILE = "Choose a file first."


@require_GET
def uploads(request: PersonRequest, slug: str) -> HttpResponse:
    workflow = get_workflow_for(user=request.user, slug=slug, role=Role.MANAGER)
    before = whole_number(request.GET.get("before"))
    page = upload_page(workflow=workflow, before=before, now=timezone.now())
    return render(request, "sources/uploads.html", {"workflow": workflow, "page": page})


# Exempt here and protected below: the form may only be read, and its token found, once it is known where to.
@csrf_exempt
@require_http_methods(["GET", "HEAD", "POST"])
def upload_new(request: PersonRequest, slug: str) -> HttpResponseBase:
    workflow = get_workflow_for(user=request.user, slug=slug, role=Role.MANAGER)
    if request.method != "POST":
        return _new_page(request, workflow)
    if int(request.headers.get("Content-Length") or 0) > MOST_BODY_BYTES:
        return _new_page(request, workflow, problem=TOO_MUCH, status=413)
    try:
        check_room(workflow)
    except Conflict as conflict:
        return _new_page(request, workflow, problem=str(conflict), status=409)
    receiver = Receiver(request, workflow=workflow, user=request.user, now=timezone.now)
    request.upload_handlers = [receiver]
    try:
        return _receive(request, workflow, receiver)
    finally:
        receiver.give_up()


@csrf_protect
def _receive(request: PersonRequest, workflow: Workflow, receiver: Receiver) -> HttpResponse:
    try:
        request.POST.get("csrfmiddlewaretoken")  # reading the form is what receives the files
    except UnreadablePostError:
        return _new_page(request, workflow, problem=CUT_OFF, status=400)
    for upload in receiver.arrived:
        take_in(upload, now=timezone.now())
    if receiver.is_too_many:
        messages.warning(request, f"Only the first {limits.MAX_UPLOADS_AT_ONCE} files were taken.")
    taken = [*receiver.arrived, *receiver.refused]
    if not taken:
        return _new_page(request, workflow, problem=NO_FILE, status=422)
    if len(taken) == 1:
        return redirect("sources:upload", workflow.slug, taken[0].pk)
    return redirect("sources:uploads", workflow.slug)


@require_GET
def upload(request: PersonRequest, slug: str, upload_id: int) -> HttpResponse:
    workflow = get_workflow_for(user=request.user, slug=slug, role=Role.MANAGER)
    return _show(request, workflow, _upload(workflow, upload_id))


@require_POST
def upload_decide(request: PersonRequest, slug: str, upload_id: int) -> HttpResponse:
    workflow = get_workflow_for(user=request.user, slug=slug, role=Role.MANAGER)
    shown = _upload(workflow, upload_id)
    if not view_of(shown, now=timezone.now()).can_change:
        return _show(request, workflow, shown, problem="This file is not waiting for a decision.", status=409)
    form = UploadForm(request.POST, upload=shown, seen=seen_of(shown))
    if not form.is_valid():
        return _show(request, workflow, shown, form=form, status=422)
    said = form.cleaned_data
    try:
        decide(
            workflow=workflow,
            upload_id=upload_id,
            seen=said["seen"],
            encoding=said["encoding"],
            delimiter=said.get("delimiter", ""),
            roles=form.to_roles(),
            is_id_of_content=said["is_id_of_content"],
            now=timezone.now(),
        )
    except Conflict as conflict:
        return _show(request, workflow, _upload(workflow, upload_id), problem=str(conflict), status=409)
    except InvalidInput as wrong:
        form.add_error(None, "; ".join(f"{each.path} {each.message}" for each in wrong.problems))
        return _show(request, workflow, shown, form=form, status=422)
    return redirect("sources:upload", slug, upload_id)


@require_POST
def upload_import(request: PersonRequest, slug: str, upload_id: int) -> HttpResponse:
    workflow = get_workflow_for(user=request.user, slug=slug, role=Role.MANAGER)
    _upload(workflow, upload_id)
    seen = request.POST.get("seen", "")
    try:
        ask_import(workflow=workflow, upload_id=upload_id, seen=seen, user=request.user, now=timezone.now())
    except Conflict as conflict:
        return _show(request, workflow, _upload(workflow, upload_id), problem=str(conflict), status=409)
    return redirect("sources:upload", slug, upload_id)


@require_POST
def upload_cancel(request: PersonRequest, slug: str, upload_id: int) -> HttpResponse:
    workflow = get_workflow_for(user=request.user, slug=slug, role=Role.MANAGER)
    _upload(workflow, upload_id)
    cancelled = ask_cancel(workflow=workflow, upload_id=upload_id, now=timezone.now())
    if cancelled.status == Upload.Status.DONE:
        messages.info(request, "It was done already.")
    return redirect("sources:upload", slug, upload_id)


@require_GET
def upload_refused(request: PersonRequest, slug: str, upload_id: int) -> StreamingHttpResponse:
    """The report of what was not taken, for a spreadsheet."""
    workflow = get_workflow_for(user=request.user, slug=slug, role=Role.MANAGER)
    report = refusals_csv(_upload(workflow, upload_id))
    disposition = f'attachment; filename="{workflow.slug}-upload-{upload_id}-refused.csv"'
    return StreamingHttpResponse(
        report, content_type="text/csv; charset=utf-8", headers={"Content-Disposition": disposition}
    )


def _upload(workflow: Workflow, upload_id: int) -> Upload:
    found = get_object_or_404(
        Upload.objects.select_related("created_by"), workflow=workflow, pk=min(upload_id, 2**63 - 1)
    )
    found.workflow = workflow
    return found


def _new_page(
    request: PersonRequest, workflow: Workflow, *, problem: str = "", status: int = 200
) -> HttpResponse:
    context = {"workflow": workflow, "problem": problem, "limits": limits}
    return render(request, "sources/upload_new.html", context, status=status)


def _show(
    request: PersonRequest,
    workflow: Workflow,
    upload: Upload,
    *,
    form: UploadForm | None = None,
    problem: str = "",
    status: int = 200,
) -> HttpResponse:
    shown = view_of(upload, now=timezone.now())
    context: dict[str, Any] = {
        "workflow": workflow,
        "upload": upload,
        "shown": shown,
        "refusals": first_refusals(upload),
        "problem": problem,
    }
    if upload.understood:
        context |= {"found": understanding_of(upload), "questions": open_questions(upload)}
    if shown.can_change:
        context["form"] = form or UploadForm(upload=upload, seen=shown.seen)
    return render(
        request, "sources/upload.html", context, fragment="sources/_upload_live.html", status=status
    )
