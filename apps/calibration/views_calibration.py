"""The calibration page: what people's answers allow each label to do by itself, with all that it rests on."""

from __future__ import annotations

from typing import Any

from django.http import Http404, HttpResponse
from django.utils import timezone
from django.utils.http import urlencode
from django.views.decorators.http import require_GET

from apps.accounts.http import PersonRequest
from apps.calibration.chart_files import FORMATS, LABEL_CHARTS, QUESTION_CHARTS, chart_file, curve_rows
from apps.calibration.counting.counts import WINDOW_WEEKS
from apps.calibration.counting.evidence import model_in_use
from apps.calibration.looking import look
from apps.calibration.overview import (
    MOST_CARDS,
    Card,
    cards_of,
    confusion_rows,
    history_of,
    label_charts,
    newest_runs,
    question_charts,
    slider_data,
)
from apps.calibration.overview_sides import Side, hold_of
from apps.calibration.quality import quality
from apps.calibration.watching.incidents import open_incidents
from apps.core.errors import Conflict
from apps.core.htmx import render
from apps.workflows.access import get_workflow_for
from apps.workflows.models import Question, Role, Workflow
from apps.workflows.selectors import current_question_set


@require_GET
def overview(request: PersonRequest, slug: str) -> HttpResponse:
    """`?question=` is the one whose figures are shown, `?label=` the label that is shown where there are many."""
    workflow = get_workflow_for(user=request.user, slug=slug, role=Role.MANAGER)
    questions = _questions(workflow)
    question = _question(questions, request.GET.get("question"))
    model = model_in_use(workflow)
    context = {
        "workflow": workflow,
        "questions": questions,
        "question": question,
        "model": model,
        "weeks": WINDOW_WEEKS,
        "incidents": open_incidents(workflow),
        "runs": newest_runs(workflow),
    }
    if question.is_routing:
        context |= _labels(workflow, question, request.GET.get("label"), model)
    elif question.kind == Question.Kind.NOUL:
        context["hold"] = hold_of(workflow=workflow, question=question, now=timezone.now())
    return render(request, "calibration/overview.html", context)


@require_GET
def measured(request: PersonRequest, slug: str) -> HttpResponse:
    """One question's probabilities against what people said; a part of the overview, or a page of its own."""
    workflow = get_workflow_for(user=request.user, slug=slug, role=Role.MANAGER)
    question = _question(_questions(workflow), request.GET.get("question"))
    found = quality(workflow=workflow, question=question, now=timezone.now())
    context = {
        "workflow": workflow,
        "question": question,
        "model": found.model,
        "weeks": WINDOW_WEEKS,
        "quality": found,
        "charts": question_charts(found),
        "question_query": f"?{urlencode({'question': question.key})}",
        "confusion": confusion_rows(found),
    }
    return render(request, "calibration/quality.html", context, fragment="calibration/_quality_part.html")


@require_GET
def chart(request: PersonRequest, slug: str, name: str, form: str) -> HttpResponse:
    """One of the page's charts as a file: SVG, or its numbers as CSV. `?question=` or `?label=` as on the page."""
    workflow = get_workflow_for(user=request.user, slug=slug, role=Role.MANAGER)
    if form not in FORMATS:
        raise Http404("A chart is svg or csv.")
    if name in QUESTION_CHARTS:
        question = _question(_questions(workflow), request.GET.get("question"))
        found = quality(workflow=workflow, question=question, now=timezone.now())
        drawn, rows = question_charts(found).get(name), QUESTION_CHARTS[name](found)
    elif name in LABEL_CHARTS:
        card = _card(workflow, request.GET.get("label"))
        drawn = label_charts(card, model_in_use(workflow))[name]
        rows = LABEL_CHARTS[name](card)
    elif name == "side":
        side = _side(workflow, request.GET.get("question"), request.GET.get("label"))
        drawn, rows = side.drawing, curve_rows(side.curve)
    else:
        raise Http404("There is no such chart.")
    if drawn is None:
        raise Http404("There are too few answers for this chart.")
    return chart_file(form, f"{workflow.slug}-{name}", drawn, rows)


def _questions(workflow: Workflow) -> list[Question]:
    return list(current_question_set(workflow).questions.all())


def _question(questions: list[Question], key: str | None) -> Question:
    """The one asked for, the routing question unless one is."""
    found = next((each for each in questions if (each.key == key if key else each.is_routing)), None)
    if found is None:
        raise Http404("There is no such question.")
    return found


def _card(workflow: Workflow, label: str | None) -> Card:
    try:
        cards = cards_of(look(workflow=workflow, now=timezone.now()), {})
    except Conflict as conflict:
        raise Http404(str(conflict)) from conflict
    found = next((card for card in cards if card.label == label), None)
    if found is None:
        raise Http404("The policy in force names no such label.")
    return found


def _side(workflow: Workflow, key: str | None, label: str | None) -> Side:
    hold = hold_of(workflow=workflow, question=_question(_questions(workflow), key), now=timezone.now())
    found = next((side for side in (hold.sides if hold else ()) if side.entry["label"] == label), None)
    if found is None:
        raise Http404("The policy in force has no such hold, or no run has read it yet.")
    return found


def _labels(workflow: Workflow, question: Question, label: str | None, model: str | None) -> dict[str, Any]:
    """Every label's line, and the cards of those that are shown."""
    try:
        found = look(workflow=workflow, now=timezone.now())
    except Conflict:
        # No policy in force that names a label: the page says so.
        return {"cards": []}
    cards = cards_of(found, history_of(workflow, question))
    shown = cards
    if len(cards) > MOST_CARDS:
        shown = [card for card in cards if card.label == label] or cards[:1]
    drawn = [(card, label_charts(card, model)) for card in shown]
    return {
        "cards": cards,
        "settings": found.inputs["settings"],
        "following": found.inputs["following"],
        "shown": [(card, charts, slider_data(card.curve, charts["label"])) for card, charts in drawn],
        "shows_all": shown is cards,
    }
