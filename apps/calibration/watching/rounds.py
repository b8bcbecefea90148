"""A look at every workflow, one after the other: what is wrong with one keeps no alarm of another back."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Protocol

import structlog

from apps.calibration.models import Incident
from apps.workflows.models import Workflow

log = structlog.get_logger()


class Look(Protocol):
    def __call__(self, *, workflow: Workflow, now: datetime) -> list[Incident]: ...


def look_at_every_workflow(look: Look, *, now: Callable[[], datetime]) -> list[Incident]:
    """The incidents opened in this round. What breaks is logged, and tried again in the next one."""
    opened: list[Incident] = []
    for workflow in Workflow.objects.order_by("pk"):
        try:
            found = look(workflow=workflow, now=now())
        except Exception:
            log.exception("watching_broke", workflow=workflow.slug)
            continue
        for incident in found:
            log.warning("incident_opened", workflow=workflow.slug, incident=incident.pk, kind=incident.kind)
        opened += found
    return opened
