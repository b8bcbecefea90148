"""What managers choose about certificates: how sure, for what together, and whether nights try by themselves."""

from __future__ import annotations

from django import forms
from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_http_methods

from apps.accounts.http import PersonRequest
from apps.calibration.certs import settings_of
from apps.calibration.forms import NumberInput
from apps.calibration.models import CalibrationSettings
from apps.core.htmx import render
from apps.workflows.access import get_workflow_for
from apps.workflows.models import Role


class PromiseForm(forms.Form):
    confidence = forms.FloatField(
        min_value=0.80,
        max_value=0.999,
        help_text="From 0.80 to 0.999. The rest is the risk that a certificate is wrong, spent little by little "
        "over all attempts.",
        widget=NumberInput(attrs={"step": "any", "inputmode": "decimal"}),
    )
    scope = forms.ChoiceField(
        label="Promised",
        choices=CalibrationSettings.Scope.choices,
        help_text="For all labels at once the risk is shared among them: each needs more checks.",
    )


@require_http_methods(["GET", "HEAD", "POST"])
def promise(request: PersonRequest, slug: str) -> HttpResponse:
    workflow = get_workflow_for(user=request.user, slug=slug, role=Role.MANAGER)
    current = settings_of(workflow)
    form = PromiseForm(
        request.POST if request.method == "POST" else None,
        initial={name: getattr(current, name) for name in PromiseForm.base_fields},
    )
    if form.is_valid():
        CalibrationSettings.objects.update_or_create(workflow=workflow, defaults=form.cleaned_data)
        messages.success(request, "Saved. Certificates that were issued keep the confidence they have.")
        return redirect("calibration:overview", workflow.slug)
    status = 422 if form.errors else 200
    return render(request, "calibration/promise.html", {"workflow": workflow, "form": form}, status=status)
