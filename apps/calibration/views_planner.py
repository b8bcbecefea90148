"""The planner of the policy page: what share of checks shows which target, in how many weeks, at what load."""

from __future__ import annotations

from typing import Any

from django import forms
from django.http import HttpResponse, QueryDict
from django.utils import timezone
from django.views.decorators.http import require_GET

from apps.accounts.http import PersonRequest
from apps.calibration.forms import NumberInput
from apps.calibration.planner import Wish, plan
from apps.core.htmx import render
from apps.policies.selectors import active_policy
from apps.routing.types import AUDIT_FLOOR
from apps.workflows.access import get_workflow_for
from apps.workflows.models import Role, Workflow


def _share(label: str, help_text: str, *, low: float, high: float) -> forms.FloatField:
    return forms.FloatField(
        label=label,
        help_text=help_text,
        min_value=low,
        max_value=high,
        required=False,
        widget=NumberInput(attrs={"step": "any", "inputmode": "decimal"}),
    )


class PlannerForm(forms.Form):
    """Shares from 0 to 1, but `percent`, which is a slider."""

    percent = forms.IntegerField(
        label="Share of automatic items that is checked",
        min_value=round(100 * AUDIT_FLOOR),
        max_value=100,
        widget=forms.NumberInput(attrs={"type": "range", "step": "1"}),
    )
    target_error = _share("Target error", "Each label's own when empty.", low=0.001, high=0.5)
    likely_error = _share(
        "Likely error",
        "As measured when empty; half the target where too few answers are there.",
        low=0,
        high=0.5,
    )
    threshold = _share("Threshold", "Each label's own when empty.", low=0, high=1)

    def to_wish(self) -> Wish:
        said = self.cleaned_data
        return Wish(said["percent"] / 100, said["target_error"], said["likely_error"], said["threshold"])


@require_GET
def planner(request: PersonRequest, slug: str) -> HttpResponse:
    workflow = get_workflow_for(user=request.user, slug=slug, role=Role.MANAGER)
    context = {"workflow": workflow} | planner_context(workflow, request.GET)
    return render(
        request,
        "calibration/planner.html",
        context,
        fragment="calibration/_planner_found.html",
        status=422 if context["planner_form"].errors else 200,
    )


def planner_context(workflow: Workflow, asked: QueryDict | None = None) -> dict[str, Any]:
    """What `calibration/_planner.html` shows: as asked, or at the audit share in force."""
    active = active_policy(workflow)
    percent = max(1, round(100 * active.rules["audit_rate"])) if active else 5
    data = {name: asked.get(name, "") for name in PlannerForm.base_fields} if asked else {}
    form = PlannerForm({"percent": percent} | {name: value for name, value in data.items() if value})
    plans = plan(workflow=workflow, wish=form.to_wish(), now=timezone.now()) if form.is_valid() else None
    return {"planner_form": form, "percent": form.data["percent"], "plans": plans}
