"""Incidents: what was raised, in numbers, the items to look at, and the note it is closed with."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, TypeVar

from django.contrib import messages
from django.db.models import QuerySet
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.utils import timezone
from django.views.decorators.http import require_POST, require_safe

from apps.accounts.http import PersonRequest
from apps.calibration.models import Incident
from apps.calibration.watching.incidents import (
    accepted_before,
    all_incidents,
    answered_routes,
    close_incident,
    hidden_routes,
    labels_to_look_at,
    side_of,
)
from apps.core.errors import Conflict, InvalidInput
from apps.core.htmx import render
from apps.core.text import whole_number
from apps.items.models import Route
from apps.policies.readable import share
from apps.stats.rates import Rate
from apps.workflows.access import get_workflow_for
from apps.workflows.models import Role, Workflow
from apps.workflows.selectors import current_question_set

PAGE = 50
SIDE_NAMES = {"true": "Yes", "false": "No"}
Row = TypeVar("Row", Incident, Route)


@require_safe
def incidents(request: PersonRequest, slug: str) -> HttpResponse:
    """Every incident, newest first; `?before=` is the id to page on with."""
    workflow = get_workflow_for(user=request.user, slug=slug, role=Role.MANAGER)
    shown, older = _page(all_incidents(workflow), request.GET.get("before"))
    context = {"workflow": workflow, "shown": shown, "older": _address(older), "newer": _newest(request)}
    return render(request, "calibration/incidents.html", context)


@require_safe
def incident(request: PersonRequest, slug: str, incident_id: int) -> HttpResponse:
    workflow = get_workflow_for(user=request.user, slug=slug, role=Role.MANAGER)
    return _show(request, workflow, _incident(workflow, incident_id))


@require_POST
def incident_close(request: PersonRequest, slug: str, incident_id: int) -> HttpResponse:
    workflow = get_workflow_for(user=request.user, slug=slug, role=Role.MANAGER)
    found = _incident(workflow, incident_id)
    try:
        close_incident(
            incident=found, user=request.user, note=request.POST.get("note", ""), now=timezone.now()
        )
    except InvalidInput as error:
        problem = f"The note {error.problems[0].message}."
        return _show(request, workflow, found, problem=problem, status=422)
    except Conflict as conflict:
        return _show(request, workflow, _incident(workflow, incident_id), problem=str(conflict), status=409)
    messages.success(request, "It is closed. The policy stays as it is.")
    return redirect("calibration:incident", workflow.slug, incident_id)


def _show(
    request: PersonRequest, workflow: Workflow, found: Incident, *, problem: str = "", status: int = 200
) -> HttpResponse:
    # Who may still be asked blind must not read the model's answer here.
    accepted, hidden = accepted_before(found), hidden_routes(request.user)
    routes, older = _page(accepted.filter(~hidden), request.GET.get("before"))
    names = _names(workflow)
    context = {
        "workflow": workflow,
        "incident": found,
        "facts": list(_facts(found, names)),
        "rates": _rates(found),
        "after": _after(found),
        "looks": bool(labels_to_look_at(found) or _passes(found)),
        "items": [
            (
                route,
                _accepted_as(found, route, names),
                _answer(route, SIDE_NAMES if side_of(found) else names),
            )
            for route in routes
        ],
        "accepted": accepted.count(),
        "answered": accepted.filter(answered_routes(found)).count(),
        "hidden": accepted.filter(hidden).count(),
        "older": _address(older),
        "newer": _newest(request),
        "problem": problem,
        "typed": request.POST.get("note", "")[:500],
    }
    return render(request, "calibration/incident.html", context, status=status)


def _incident(workflow: Workflow, incident_id: int) -> Incident:
    return get_object_or_404(all_incidents(workflow), pk=incident_id)


def _page(rows: QuerySet[Row], before: str | None) -> tuple[list[Row], int | None]:
    """Ids fall along `rows`; one row more is fetched instead of counting. A place that is none is the first."""
    place = whole_number(before)
    if place is not None:
        rows = rows.filter(pk__lt=place)
    found = list(rows[: PAGE + 1])
    return found[:PAGE], found[PAGE - 1].pk if len(found) > PAGE else None


def _address(older: int | None) -> str:
    return "" if older is None else f"?before={older}"


def _newest(request: PersonRequest) -> str:
    return request.path if request.GET.get("before") else ""


def _names(workflow: Workflow) -> dict[str, str]:
    questions = current_question_set(workflow).questions.all()
    return next((each.option_names for each in questions if each.is_routing), {})


def _passes(found: Incident) -> bool:
    """Whether it is about what a hold let pass."""
    return found.level == Incident.Level.ALARM and bool(side_of(found))


def _accepted_as(found: Incident, route: Route, names: dict[str, str]) -> str:
    if side_of(found):
        return SIDE_NAMES[side_of(found)]
    return names.get(route.label or "", route.label or "")


def _answer(route: Any, names: dict[str, str]) -> str:
    """What people said in the item's check; "" where nobody did."""
    if not route.is_answered:
        return ""
    return "None of these" if route.answer is None else names.get(route.answer, route.answer)


def _after(found: Incident) -> str:
    """What comes next, if nobody does anything but close it."""
    if found.level == Incident.Level.WARNING:
        return "The same warning is not opened again for 14 days."
    if side_of(found) or found.kind == Incident.Kind.SIDE_ANCHORED:
        return "The hold keeps its limits until a manager changes them; what is certified next rests on other answers."
    from_what = "answers given after the alarm"
    if found.kind == Incident.Kind.ANCHORED:
        from_what = "blind answers"
    return (
        f"A label that went back to people acts by itself again when a new certificate, from {from_what}, is proposed "
        "and a manager activates it."
    )


_RATES = {
    "error": "Decided otherwise",
    "recent": "Changed in the last 14 days",
    "before": "Changed before",
    "visible": "Agreed where the model’s answer was shown",
    "blind": "Agreed where it was hidden",
}


def _rates(found: Incident) -> list[tuple[str, Rate]]:
    """Rates as they were written; how many labels they rest on stands in them."""
    return [(words, Rate(**found.numbers[name])) for name, words in _RATES.items() if name in found.numbers]


def _facts(found: Incident, names: dict[str, str]) -> Iterator[tuple[str, str]]:
    numbers = found.numbers
    if "target" in numbers:
        yield "Target", share(round(numbers["target"], 6))
    if "checks" in numbers:
        yield "Checks", f"{numbers['wrong']:,} of {numbers['checks']:,} decided otherwise"
    if "statistic" in numbers:
        yield "Evidence", f"{numbers['statistic']:,.0f}, an alarm from {numbers['raised_from']:,.0f}"
    if "cusum" in numbers:
        yield "CUSUM", f"{numbers['cusum']:.1f}, a warning from {numbers['raised_from']:.0f}"
    if "psi" in numbers:
        yield "PSI", f"{numbers['psi']:.3f} (p = {numbers['p']:.2g}); a warning from 0.10, strong from 0.25"
        yield "Items", f"{numbers['items_recent']:,} lately, {numbers['items_before']:,} before"
    if "ks" in numbers:
        yield "Largest distance", f"{numbers['ks']:.3f} (Kolmogorov-Smirnov, p = {numbers['ks_p']:.2g})"
    for label, (before, recent) in numbers.get("labels", {}).items():
        yield names.get(label, label), f"{recent:,} lately, {before:,} before"
    for name, words in (("model", "Model"), ("model_before", "Model before")):
        if name in numbers:
            yield words, str(numbers[name])
    if numbers.get("demoted"):
        yield "Back with people", ", ".join(names.get(label, label) for label in numbers["demoted"])
    if "doubled" in numbers:
        rates = numbers["doubled"]
        was, now = (share(rates[when]["audit_rate"]) for when in ("before", "after"))
        yield "Audit rate", f"{now} instead of {was}, until {rates['until'][:10]}"
