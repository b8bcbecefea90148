"""The policy page: what is in force, drafts of it, and the step from one to the other."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.utils import timezone
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from apps.accounts.http import PersonRequest
from apps.calibration.counting.counts import count_labels
from apps.calibration.counting.evidence import changed_gates
from apps.calibration.policy_form import PolicyForm
from apps.calibration.uncertified import uncertified
from apps.calibration.views_planner import planner_context
from apps.core.errors import Conflict, InvalidInput
from apps.core.htmx import render
from apps.core.text import whole_number
from apps.policies.errors import NotADraft
from apps.policies.models import Policy
from apps.policies.readable import policy_diff, to_readable
from apps.policies.selectors import OPEN, active_policy, policy_versions, previous_policy, stamp_of
from apps.policies.services import activate, create_draft, discard_draft, go_back, update_draft
from apps.workflows.access import get_workflow_for
from apps.workflows.models import Question, QuestionSet, Role, Workflow
from apps.workflows.selectors import current_question_set


@require_GET
def policy(request: PersonRequest, slug: str) -> HttpResponse:
    return _policy_page(request, get_workflow_for(user=request.user, slug=slug, role=Role.MANAGER))


@require_GET
def policy_version(request: PersonRequest, slug: str, version: int) -> HttpResponse:
    workflow = get_workflow_for(user=request.user, slug=slug, role=Role.MANAGER)
    return _version_page(request, workflow, _version(workflow, version))


@require_http_methods(["GET", "HEAD", "POST"])
def policy_new(request: PersonRequest, slug: str) -> HttpResponse:
    """A draft that starts from the active version, or from what was typed into another draft's form."""
    workflow = get_workflow_for(user=request.user, slug=slug, role=Role.MANAGER)
    active = get_object_or_404(Policy, workflow=workflow, status=Policy.Status.ACTIVE)
    if request.method != "POST":
        return _form_page(request, workflow, active, _form(request, workflow, active.rules))
    form = _form(request, workflow, active.rules)
    if not form.is_valid(_questions(workflow)):
        return _form_page(request, workflow, active, form, status=422)
    draft = create_draft(
        workflow=workflow, rules=form.to_rules(), based_on=active, user=request.user, note=form.note
    )
    messages.success(
        request, f"Version {draft.version} is a draft: look at the differences, then activate it."
    )
    return redirect("calibration:policy_version", workflow.slug, draft.version)


@require_http_methods(["GET", "HEAD", "POST"])
def policy_draft(request: PersonRequest, slug: str, version: int) -> HttpResponse:
    workflow = get_workflow_for(user=request.user, slug=slug, role=Role.MANAGER)
    if request.method == "POST":
        return _save_draft(request, workflow, version)
    draft = _version(workflow, version)
    if draft.status not in OPEN:
        return redirect("calibration:policy_version", workflow.slug, draft.version)
    return _form_page(request, workflow, draft, _form(request, workflow, draft.rules, draft.note))


def _save_draft(request: PersonRequest, workflow: Workflow, number: int) -> HttpResponse:
    draft = policy_versions(workflow).filter(version=number).first()
    shown = draft or get_object_or_404(Policy, workflow=workflow, status=Policy.Status.ACTIVE)
    form = _form(request, workflow, shown.rules)
    is_valid = form.is_valid(_questions(workflow))
    try:
        if draft is None:
            raise NotADraft(f"Version {number} was discarded.")
        if not is_valid:
            return _form_page(request, workflow, draft, form, status=422)
        seen = request.POST.get("seen", "")
        update_draft(policy=draft, rules=form.to_rules(), user=request.user, note=form.note, seen=seen)
    except Conflict as conflict:
        return _form_page(request, workflow, shown, form, conflict=str(conflict), status=409)
    messages.success(request, f"Version {number} is saved. Nothing obeys it until it is activated.")
    return redirect("calibration:policy_version", workflow.slug, number)


@require_POST
def policy_activate(request: PersonRequest, slug: str, version: int) -> HttpResponse:
    workflow = get_workflow_for(user=request.user, slug=slug, role=Role.MANAGER)
    draft = _version(workflow, version)
    try:
        activate(policy=draft, user=request.user, now=timezone.now(), seen=request.POST.get("seen", ""))
    except Conflict as conflict:
        return _version_page(request, workflow, draft, problem=str(conflict), status=409)
    except InvalidInput as error:
        problem = f"It no longer fits the workflow's questions. {error}."
        return _version_page(request, workflow, draft, problem=problem, status=422)
    messages.success(request, f"Version {draft.version} is in force from now on.")
    return redirect("calibration:policy", workflow.slug)


@require_POST
def policy_discard(request: PersonRequest, slug: str, version: int) -> HttpResponse:
    workflow = get_workflow_for(user=request.user, slug=slug, role=Role.MANAGER)
    draft = _version(workflow, version)
    try:
        discard_draft(policy=draft, seen=request.POST.get("seen", ""))
    except Conflict as conflict:
        return _version_page(request, workflow, draft, problem=str(conflict), status=409)
    messages.success(request, f"The draft that was version {version} is gone.")
    return redirect("calibration:policy", workflow.slug)


@require_POST
def policy_back(request: PersonRequest, slug: str) -> HttpResponse:
    workflow = get_workflow_for(user=request.user, slug=slug, role=Role.MANAGER)
    try:
        back = go_back(
            workflow=workflow,
            user=request.user,
            now=timezone.now(),
            seen_version=whole_number(request.POST.get("seen_version")) or 0,
        )
    except Conflict as conflict:
        return _policy_page(request, workflow, problem=str(conflict), status=409)
    messages.success(request, f"Version {back.version} is in force again.")
    return redirect("calibration:policy", workflow.slug)


def _policy_page(
    request: PersonRequest, workflow: Workflow, *, problem: str = "", status: int = 200
) -> HttpResponse:
    questions = _questions(workflow)
    active, previous = active_policy(workflow), previous_policy(workflow)
    context: dict[str, Any] = {
        "workflow": workflow,
        "problem": problem,
        "active": active,
        "rules": to_readable(active.rules, questions) if active else None,
        "previous": previous,
        "acts_uncertified": uncertified(workflow, active) if active else [],
        "back_uncertified": uncertified(workflow, previous) if active and previous else [],
        "way_back": policy_diff(active.rules, previous.rules, questions) if active and previous else [],
        "versions": policy_versions(workflow),
        **(planner_context(workflow) if active else {}),
    }
    return render(request, "calibration/policy.html", context, status=status)


def _version_page(
    request: PersonRequest, workflow: Workflow, version: Policy, *, problem: str = "", status: int = 200
) -> HttpResponse:
    questions = _questions(workflow)
    active = active_policy(workflow)
    # Fresh, because after a conflict the row may say something else, or be gone.
    version = policy_versions(workflow).filter(pk=version.pk).first() or version
    context: dict[str, Any] = {
        "workflow": workflow,
        "problem": problem,
        "version": version,
        "is_open": version.status in OPEN,
        "seen": stamp_of(version),
        "active": active,
        "rules": to_readable(version.rules, questions),
        "changes": policy_diff(active.rules, version.rules, questions) if active else [],
        "uncertified": uncertified(workflow, version) if version.status in OPEN else [],
        **_evidence_at_stake(workflow, active, version, questions),
    }
    return render(request, "calibration/policy_version.html", context, status=status)


def _evidence_at_stake(
    workflow: Workflow, active: Policy | None, version: Policy, questions: list[Question]
) -> dict[str, Any]:
    """What starts over when this version is activated: nothing, unless a gate differs."""
    gates = changed_gates(active, version) if active and version.status in OPEN else ()
    if not gates:
        return {}
    names = next((each.option_names for each in questions if each.is_routing), {})
    counted = count_labels(workflow=workflow, now=timezone.now())
    at_stake = [(names.get(label, label), each.answered) for label, each in counted.items() if each.answered]
    return {"changed_gates": gates, "at_stake": at_stake}


def _form_page(
    request: PersonRequest,
    workflow: Workflow,
    version: Policy,
    form: PolicyForm,
    *,
    conflict: str = "",
    status: int = 200,
) -> HttpResponse:
    context: dict[str, Any] = {
        "workflow": workflow,
        "form": form,
        "version": version,
        "is_draft": version.status in OPEN,
        "conflict": conflict,
        "has_errors": status == 422,
        # What was looked at stays what was looked at: saving again must not undo a colleague's change.
        "seen": request.POST.get("seen") or stamp_of(version),
        "questions_version": request.POST.get("questions_version") or current_question_set(workflow).version,
    }
    return render(request, "calibration/policy_edit.html", context, status=status)


def _form(request: PersonRequest, workflow: Workflow, rules: dict[str, Any], note: str = "") -> PolicyForm:
    data = request.POST if request.method == "POST" else None
    shown = whole_number(request.POST.get("questions_version")) or 0
    version = QuestionSet.objects.filter(workflow=workflow, version=shown).first()
    questions = list(version.questions.all()) if version else _questions(workflow)
    return PolicyForm(questions=questions, rules=rules, note=note, data=data)


def _version(workflow: Workflow, version: int) -> Policy:
    return get_object_or_404(policy_versions(workflow), version=version)


def _questions(workflow: Workflow) -> list[Question]:
    return list(current_question_set(workflow).questions.all())
