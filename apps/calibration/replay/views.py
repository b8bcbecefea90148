"""The preview of a policy version: what it would do with the items of the last weeks, before anybody activates it."""

from __future__ import annotations

import re

from django.http import Http404, HttpResponse
from django.shortcuts import get_object_or_404
from django.utils import timezone
from django.views.decorators.http import require_GET

from apps.accounts.http import PersonRequest
from apps.calibration.counting.counts import WINDOW_WEEKS
from apps.calibration.replay.previewing import (
    CELLS,
    MAX_NOT_COVERED,
    Place,
    changes_load,
    is_in_sample,
    items_of_cell,
    sentences,
)
from apps.calibration.replay.replaying import replay
from apps.core.htmx import render
from apps.policies.models import Policy
from apps.policies.selectors import OPEN, active_policy, policy_versions
from apps.reviews.selectors import hidden_items
from apps.workflows.access import get_workflow_for
from apps.workflows.models import Role, Workflow

AT_ONCE_S = 2.0
WHOLE_S = 20.0
"""For those who ask for every item and wait; a million take a few seconds."""
_PLACE = re.compile(r"(\d{1,18})_(\d{1,18})", re.ASCII)


@require_GET
def preview(request: PersonRequest, slug: str, version: int) -> HttpResponse:
    workflow = get_workflow_for(user=request.user, slug=slug, role=Role.MANAGER)
    policy = _version(workflow, version)
    budget = WHOLE_S if request.GET.get("all") == "1" else AT_ONCE_S
    replayed = replay(workflow=workflow, rules=policy.rules, now=timezone.now(), budget_s=budget)
    context = {
        "workflow": workflow,
        "version": policy,
        "is_open": policy.status in OPEN,
        "active": active_policy(workflow),
        "weeks": WINDOW_WEEKS,
        "replayed": replayed,
    }
    if replayed is not None:
        context |= {
            "sentences": list(sentences(replayed)),
            "sides": [("in force", replayed.current), (f"version {policy.version}", replayed.candidate)],
            "cells": {name.replace("-", "_"): replayed.cells[each] for name, each in CELLS.items()},
            "changes_load": changes_load(replayed),
            "is_in_sample": is_in_sample(policy, replayed),
            "is_not_covered": (replayed.candidate.not_covered.value or 0) > MAX_NOT_COVERED,
            "is_part": replayed.replayed < replayed.found.replayable,
        }
    return render(request, "calibration/preview.html", context)


@require_GET
def preview_items(request: PersonRequest, slug: str, version: int, cell: str) -> HttpResponse:
    workflow = get_workflow_for(user=request.user, slug=slug, role=Role.MANAGER)
    policy = _version(workflow, version)
    if cell not in CELLS:
        raise Http404
    page = items_of_cell(
        workflow=workflow,
        rules=policy.rules,
        cell=cell,
        now=timezone.now(),
        before=_place(request.GET.get("before")),
    )
    # Who may still be asked blind must not read the model's answer here.
    hidden = hidden_items(request.user, [each.item.pk for each in page.items])
    context = {
        "workflow": workflow,
        "version": policy,
        "cell": cell,
        "page": page,
        "items": [each for each in page.items if each.item.pk not in hidden],
        "hidden": len(hidden),
        "older": f"?before={page.next[0]}_{page.next[1]}" if page.next else None,
    }
    return render(request, "calibration/preview_items.html", context)


def _place(written: str | None) -> Place | None:
    if written is None:
        return None
    found = _PLACE.fullmatch(written)
    # Beyond the years a calendar has there is nothing to look for.
    if found is None or int(found[1]) > 10**17:
        raise Http404
    return int(found[1]), int(found[2])


def _version(workflow: Workflow, version: int) -> Policy:
    return get_object_or_404(policy_versions(workflow), version=version)
