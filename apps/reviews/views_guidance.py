"""Guidelines: beside the desk for whoever answers, and where managers write them and choose examples."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.http import Http404, HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.urls import reverse
from django.utils import timezone
from django.utils.http import urlencode
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from apps.accounts.http import PersonRequest
from apps.core.errors import Conflict, InvalidInput
from apps.core.htmx import render
from apps.items.models import Item
from apps.reviews.forms_guidance import ExampleForm, GuidelineForm
from apps.reviews.guidance import versions_of, write_guideline
from apps.reviews.guidance_examples import add_example, guides_for, showable
from apps.reviews.markdown import to_html
from apps.reviews.models import GuidelineExample
from apps.reviews.questions_file import questions_file
from apps.workflows.access import get_workflow_for
from apps.workflows.models import Question, QuestionSet, Role, Workflow


@require_safe
def guidelines_panel(request: PersonRequest, slug: str, version: int) -> HttpResponse:
    """Of the questions' version that the item on the desk is asked by."""
    workflow = get_workflow_for(user=request.user, slug=slug, role=Role.REVIEWER)
    question_set = get_object_or_404(QuestionSet, workflow=workflow, version=version)
    context = {
        "workflow": workflow,
        "question_set": question_set,
        "guides": guides_for(user=request.user, question_set=question_set),
    }
    return render(request, "reviews/guidelines_read.html", context, fragment="reviews/_guidelines.html")


@require_safe
def guidelines(request: PersonRequest, slug: str) -> HttpResponse:
    workflow = get_workflow_for(user=request.user, slug=slug, role=Role.MANAGER)
    question_set = _current(workflow)
    context = {
        "workflow": workflow,
        "question_set": question_set,
        "guides": guides_for(user=request.user, question_set=question_set),
    }
    return render(request, "reviews/guidelines.html", context)


@require_safe
def guidelines_file(request: PersonRequest, slug: str) -> HttpResponse:
    workflow = get_workflow_for(user=request.user, slug=slug, role=Role.MANAGER)
    name = f"{workflow.slug}-questions.toml"
    return HttpResponse(
        questions_file(_current(workflow)),
        "application/toml; charset=utf-8",
        headers={"Content-Disposition": f'attachment; filename="{name}"'},
    )


@require_http_methods(["GET", "HEAD", "POST"])
def guideline_edit(request: PersonRequest, slug: str) -> HttpResponse:
    """`?question=` and `option=` say which; without `option` it is about the question as a whole."""
    workflow = get_workflow_for(user=request.user, slug=slug, role=Role.MANAGER)
    question, option = _asked_for(request, workflow)
    versions = versions_of(question=question, option=option)
    if request.method != "POST":
        form = GuidelineForm(initial={"text": versions[0].text if versions else ""})
        return _show_editor(request, workflow, question, option, form)
    form = GuidelineForm(request.POST)
    if form.is_valid():
        try:
            is_new = write_guideline(
                question=question,
                option=option,
                text=form.cleaned_data["text"],
                user=request.user,
                now=timezone.now(),
            )
        except InvalidInput as wrong:
            form.add_problems(wrong)
    if form.errors:
        return _show_editor(request, workflow, question, option, form, status=422)
    messages.success(request, "Saved. Reviewers read it from now on." if is_new else "Nothing was changed.")
    return redirect("reviews:guidelines", slug)


@require_POST
def guideline_preview(request: PersonRequest, slug: str) -> HttpResponse:
    get_workflow_for(user=request.user, slug=slug, role=Role.MANAGER)
    form = GuidelineForm(request.POST)
    html = to_html(form.cleaned_data["text"], top=3) if form.is_valid() else None
    return render(request, "reviews/_guidelines_preview.html", {"html": html, "form": form})


@require_POST
def example_add(request: PersonRequest, slug: str, item_id: int) -> HttpResponse:
    workflow = get_workflow_for(user=request.user, slug=slug, role=Role.MANAGER)
    item = get_object_or_404(Item.objects.select_related("workflow"), pk=item_id, workflow=workflow)
    form = ExampleForm(request.POST, showable=showable(user=request.user, item=item))
    try:
        if not form.is_valid():
            raise Conflict("This is no example of what people settled for the item.")
        add_example(
            item=item,
            question_key=form.question_key,
            option=form.option,
            is_good=form.is_good,
            note=form.cleaned_data["note"],
            user=request.user,
            now=timezone.now(),
        )
        messages.success(request, "Reviewers see it beside the guidelines from now on.")
    except (InvalidInput, Conflict) as refusal:
        messages.warning(request, str(refusal))
    return redirect("insights:item", slug, item_id)


@require_POST
def example_remove(request: PersonRequest, slug: str, example_id: int) -> HttpResponse:
    workflow = get_workflow_for(user=request.user, slug=slug, role=Role.MANAGER)
    example = get_object_or_404(GuidelineExample, pk=example_id, item__workflow=workflow)
    example.delete()
    messages.success(request, "It is no example any more. The item stays as it is.")
    return redirect("reviews:guidelines", slug)


def _current(workflow: Workflow) -> QuestionSet:
    return get_object_or_404(
        QuestionSet.objects.prefetch_related("questions"), workflow=workflow, is_current=True
    )


def _asked_for(request: PersonRequest, workflow: Workflow) -> tuple[Question, str]:
    questions = _current(workflow).questions.all()
    key, option = request.GET.get("question", ""), request.GET.get("option", "")
    question = next((each for each in questions if each.key == key), None)
    if question is None or (option and option not in question.option_ids):
        raise Http404
    return question, option


def _show_editor(
    request: PersonRequest,
    workflow: Workflow,
    question: Question,
    option: str,
    form: GuidelineForm,
    *,
    status: int = 200,
) -> HttpResponse:
    versions = versions_of(question=question, option=option)
    text = form["text"].value() or ""
    context: dict[str, Any] = {
        "workflow": workflow,
        "question": question,
        "about": question.option_names.get(option, ""),
        "form": form,
        "html": to_html(text, top=3),
        "versions": [(version, to_html(version.text, top=4)) for version in versions],
        "address": f"{reverse('reviews:guideline_edit', args=[workflow.slug])}?"
        f"{urlencode({'question': question.key, 'option': option})}",
    }
    return render(request, "reviews/guidelines_edit.html", context, status=status)
