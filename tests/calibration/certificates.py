"""The certificates of one label of the routing question."""

from __future__ import annotations

from django.db.models import QuerySet

from apps.calibration.certs import certificates_in_force
from apps.calibration.models import Certificate
from apps.workflows.models import Workflow


def certificate_in_force(workflow: Workflow, label: str) -> Certificate | None:
    return certificates_in_force(workflow).get(label)


def history(workflow: Workflow, label: str) -> QuerySet[Certificate]:
    """Every attempt, newest first, those of earlier models and questions included."""
    found = Certificate.objects.filter(workflow=workflow, label=label, question__is_routing=True)
    return found.order_by("-issued_at", "-id")
