"""Labelling a trial's examples: one at a time, one key an answer, and no model's answer beside it."""

from __future__ import annotations

from typing import Any

from django.http import HttpResponse
from django.views.decorators.http import require_http_methods, require_POST

from apps.accounts.http import PersonRequest
from apps.calibration.models import Trial
from apps.calibration.trials.forms import LabelForm
from apps.calibration.trials.services import label_example, take_label_back, unlabelled
from apps.calibration.trials.views import find_trial
from apps.core.errors import Conflict, InvalidInput
from apps.core.htmx import render
from apps.workflows.access import get_workflow_for
from apps.workflows.models import Role, Workflow


@require_http_methods(["GET", "HEAD", "POST"])
def trial_label(request: PersonRequest, slug: str, trial_id: int) -> HttpResponse:
    """One example at a time and one key an answer. No model's answer is on this page, nor a colleague's."""
    workflow = get_workflow_for(user=request.user, slug=slug, role=Role.REVIEWER)
    shown = find_trial(workflow, trial_id)
    if request.method != "POST":
        return _desk(request, workflow, shown)
    questions = list(shown.question_set.questions.all())
    form = LabelForm(request.POST, questions)
    if form.next_of(questions) is not None:
        return _desk(request, workflow, shown, form=form)
    try:
        label_example(trial=shown, example_id=form.example_id, values=form.values, user=request.user)
    except Conflict as conflict:
        return _desk(request, workflow, shown, problem=str(conflict), status=409)
    except InvalidInput as wrong:
        return _desk(request, workflow, shown, problem=str(wrong), status=422)
    return _desk(request, workflow, shown)


@require_POST
def trial_label_undo(request: PersonRequest, slug: str, trial_id: int) -> HttpResponse:
    workflow = get_workflow_for(user=request.user, slug=slug, role=Role.REVIEWER)
    shown = find_trial(workflow, trial_id)
    try:
        take_label_back(trial=shown, user=request.user)
    except Conflict as conflict:
        return _desk(request, workflow, shown, problem=str(conflict), status=409)
    return _desk(request, workflow, shown)


def _desk(
    request: PersonRequest,
    workflow: Workflow,
    shown: Trial,
    *,
    form: LabelForm | None = None,
    problem: str = "",
    status: int = 200,
) -> HttpResponse:
    questions = list(shown.question_set.questions.all())
    waiting = unlabelled(shown)
    example = waiting.filter(pk=form.example_id).first() if form else None
    if example is None:
        # Somebody else was faster, or a new one begins: nothing of the last one's answers comes along.
        form, example = None, waiting.first()
    question = form.next_of(questions) if form else questions[0]
    context: dict[str, Any] = {
        "workflow": workflow,
        "trial": shown,
        "example": example if shown.status == Trial.Status.DRAFT else None,
        "asked": [{"question": question}],
        # Beside an option stands nothing of any model.
        "chances": {question.key: dict.fromkeys(question.option_ids, "")} if question else {},
        "hidden": form.hidden if form else {},
        "number": questions.index(question) + 1 if question else 0,
        "of": len(questions),
        "left": waiting.count(),
        "can_undo": shown.examples.filter(labelled_by=request.user).exists(),
        "problem": problem,
    }
    return render(
        request,
        "calibration/trial_desk.html",
        context,
        fragment="calibration/_trial_desk.html",
        status=status,
    )
