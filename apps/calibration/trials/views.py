"""Trials: put examples together, run them through models, look at what came of it."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.db.models import Count, Q
from django.http import HttpResponse, StreamingHttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.utils import timezone
from django.views.decorators.csrf import csrf_exempt, csrf_protect
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from apps.accounts.http import PersonRequest
from apps.calibration.models import Trial, TrialAnswer
from apps.calibration.trials.adoption import adopt
from apps.calibration.trials.draws import draw_labelled, draw_recent
from apps.calibration.trials.export import csv_of
from apps.calibration.trials.files import Example, read_examples
from apps.calibration.trials.forms import FILE, LABELLED, StartForm, TrialForm
from apps.calibration.trials.results import result_of
from apps.calibration.trials.services import (
    ASKED_FOR,
    NOWHERE_ASKED_FOR,
    ask_again,
    choices_for,
    create_trial,
    delete_trial,
    start_trial,
    unlabelled,
)
from apps.core.errors import Conflict, InvalidInput
from apps.core.htmx import render
from apps.core.text import whole_number
from apps.pipeline.limits import MAX_TRIAL_EXAMPLES, MAX_TRIAL_FILE_BYTES
from apps.sources.tables.understanding import SAMPLE_BYTES
from apps.workflows.access import get_workflow_for
from apps.workflows.models import Role, Workflow
from apps.workflows.selectors import current_question_set

PAGE = 50
AT_WORK = (Trial.Status.WAITING, Trial.Status.RUNNING)
TOO_LARGE = f"The file is too large: a trial's may have {MAX_TRIAL_FILE_BYTES // 1024**2} MB."


def find_trial(workflow: Workflow, trial_id: int) -> Trial:
    found = Trial.objects.select_related("question_set", "created_by", "workflow")
    return get_object_or_404(found, workflow=workflow, pk=trial_id)


@require_GET
def trials(request: PersonRequest, slug: str) -> HttpResponse:
    workflow = get_workflow_for(user=request.user, slug=slug, role=Role.MANAGER)
    before = whole_number(request.GET.get("before"))
    rows = Trial.objects.filter(workflow=workflow).select_related("created_by").order_by("-pk")
    if before is not None:
        rows = rows.filter(pk__lt=before)
    shown = list(rows.annotate(size=Count("examples"))[: PAGE + 1])
    older = shown[PAGE - 1].pk if len(shown) > PAGE else None
    context = {"workflow": workflow, "trials": shown[:PAGE], "older": older}
    return render(request, "calibration/trials.html", context)


# Exempt here and protected below: a body that is too large is refused before it is read for its token.
@csrf_exempt
@require_http_methods(["GET", "HEAD", "POST"])
def trial_new(request: PersonRequest, slug: str) -> HttpResponse:
    workflow = get_workflow_for(user=request.user, slug=slug, role=Role.MANAGER)
    if request.method != "POST":
        return _new_page(request, workflow, TrialForm(workflow=workflow))
    if int(request.headers.get("Content-Length") or 0) > MAX_TRIAL_FILE_BYTES + 64 * 1024:
        return _new_page(request, workflow, TrialForm(workflow=workflow), problems=[TOO_LARGE], status=413)
    return _create(request, workflow)


@csrf_protect
def _create(request: PersonRequest, workflow: Workflow) -> HttpResponse:
    form = TrialForm(request.POST, request.FILES, workflow=workflow)
    if not form.is_valid():
        return _new_page(request, workflow, form, status=422)
    try:
        made = create_trial(
            workflow=workflow,
            name=form.cleaned_data["name"],
            examples=_examples(workflow, form),
            user=request.user,
            now=timezone.now(),
        )
    except InvalidInput as wrong:
        problems = [f"{each.path}: {each.message}" for each in wrong.problems]
        return _new_page(request, workflow, form, problems=problems, status=422)
    except Conflict as conflict:
        return _new_page(request, workflow, form, problems=[str(conflict)], status=409)
    return redirect("calibration:trial", workflow.slug, made.pk)


def _examples(workflow: Workflow, form: TrialForm) -> list[Example]:
    said = form.cleaned_data
    if said["origin"] == FILE:
        file = said["file"]
        sample = file.read(SAMPLE_BYTES)
        file.seek(0)
        questions = list(current_question_set(workflow).questions.all())
        return read_examples(file, sample, name=file.name, questions=questions)
    draw = draw_labelled if said["origin"] == LABELLED else draw_recent
    return draw(workflow=workflow, draw=form.to_draw())


@require_GET
def trial(request: PersonRequest, slug: str, trial_id: int) -> HttpResponse:
    workflow = get_workflow_for(user=request.user, slug=slug, role=Role.MANAGER)
    return _show(request, workflow, find_trial(workflow, trial_id))


@require_GET
def trial_csv(request: PersonRequest, slug: str, trial_id: int) -> StreamingHttpResponse:
    workflow = get_workflow_for(user=request.user, slug=slug, role=Role.MANAGER)
    rows = csv_of(find_trial(workflow, trial_id), request.user)
    disposition = f'attachment; filename="{workflow.slug}-trial-{trial_id}.csv"'
    return StreamingHttpResponse(
        rows, content_type="text/csv; charset=utf-8", headers={"Content-Disposition": disposition}
    )


@require_POST
def trial_start(request: PersonRequest, slug: str, trial_id: int) -> HttpResponse:
    workflow = get_workflow_for(user=request.user, slug=slug, role=Role.MANAGER)
    shown = find_trial(workflow, trial_id)
    form = StartForm(request.POST, workflow=workflow)
    if not form.is_valid():
        return _show(request, workflow, shown, form=form, problem="Choose among what is listed.", status=422)
    try:
        start_trial(trial=shown, models=choices_for(workflow, form.names))
    except (Conflict, InvalidInput) as refused:
        status = 422 if isinstance(refused, InvalidInput) else 409
        return _show(request, workflow, shown, form=form, problem=str(refused), status=status)
    return redirect("calibration:trial", slug, trial_id)


@require_POST
def trial_again(request: PersonRequest, slug: str, trial_id: int) -> HttpResponse:
    workflow = get_workflow_for(user=request.user, slug=slug, role=Role.MANAGER)
    shown = find_trial(workflow, trial_id)
    try:
        ask_again(trial=shown)
    except Conflict as conflict:
        return _show(request, workflow, shown, problem=str(conflict), status=409)
    return redirect("calibration:trial", slug, trial_id)


@require_POST
def trial_adopt(request: PersonRequest, slug: str, trial_id: int) -> HttpResponse:
    workflow = get_workflow_for(user=request.user, slug=slug, role=Role.MANAGER)
    shown = find_trial(workflow, trial_id)
    try:
        adopted = adopt(trial=shown, now=timezone.now())
    except Conflict as conflict:
        return _show(request, workflow, shown, problem=str(conflict), status=409)
    messages.success(
        request,
        f"{adopted.items} items with {adopted.labels} labels were added; {adopted.there} were there already. "
        "They are marked as imported and enter no certificate.",
    )
    return redirect("calibration:trial", slug, trial_id)


@require_POST
def trial_delete(request: PersonRequest, slug: str, trial_id: int) -> HttpResponse:
    workflow = get_workflow_for(user=request.user, slug=slug, role=Role.MANAGER)
    shown = find_trial(workflow, trial_id)
    try:
        delete_trial(trial=shown)
    except Conflict as conflict:
        return _show(request, workflow, shown, problem=str(conflict), status=409)
    messages.success(request, "The trial is gone, with its examples and answers.")
    return redirect("calibration:trials", slug)


def _new_page(
    request: PersonRequest,
    workflow: Workflow,
    form: TrialForm,
    *,
    problems: list[str] | None = None,
    status: int = 200,
) -> HttpResponse:
    context = {
        "workflow": workflow,
        "form": form,
        "problems": problems or [],
        "questions": current_question_set(workflow).questions.all(),
        "asked_for": ASKED_FOR,
        "nowhere_asked_for": NOWHERE_ASKED_FOR,
        "most": MAX_TRIAL_EXAMPLES,
    }
    return render(request, "calibration/trial_new.html", context, status=status)


def _show(
    request: PersonRequest,
    workflow: Workflow,
    shown: Trial,
    *,
    form: StartForm | None = None,
    problem: str = "",
    status: int = 200,
) -> HttpResponse:
    shown.refresh_from_db()
    context: dict[str, Any] = {
        "workflow": workflow,
        "trial": shown,
        "is_at_work": shown.status in AT_WORK,
        "left": unlabelled(shown).count(),
        "size": shown.examples.count(),
        "problem": problem,
    }
    if shown.status == Trial.Status.DRAFT:
        context["form"] = form or StartForm(workflow=workflow)
        context["given"] = shown.models.order_by("position")
        context["nowhere"] = shown.examples.filter(is_out_of_scope=True).count()
        context["nowhere_asked_for"], context["asked_for"] = NOWHERE_ASKED_FOR, ASKED_FOR
    elif context["is_at_work"]:
        context["progress"] = shown.models.filter(endpoint__isnull=False).annotate(
            done=Count("answers"), failed=Count("answers", filter=~Q(answers__error=""))
        )
    else:
        asked = TrialAnswer.objects.filter(trial_model__trial=shown, trial_model__endpoint__isnull=False)
        context |= {"result": result_of(shown, request.user), "failed": asked.exclude(error="").count()}
    return render(
        request, "calibration/trial.html", context, fragment="calibration/_trial_live.html", status=status
    )
