"""Twice the checks for 14 days, when something looks wrong and nothing is proven. What was doubled stands on its
incident (`numbers["doubled"]`), so that it can be taken back."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

import structlog
from django.db import transaction
from django.db.models import QuerySet

from apps.calibration.models import Incident
from apps.calibration.watching.demotion import audit_rates, change_audit_rates, doubled
from apps.core.errors import InvalidInput
from apps.policies.models import Policy
from apps.policies.selectors import active_policy
from apps.workflows.models import Workflow

log = structlog.get_logger()
LASTS = timedelta(days=14)


def doubling_for(policy: Policy, now: datetime) -> dict[str, Any] | None:
    """What to write on the incident; None while rates are doubled already, or when everything is checked anyway."""
    before = audit_rates(policy)
    after = doubled(before)
    if after == before or _doublings(policy.workflow).exists():
        return None
    return {"before": before, "after": after, "until": (now + LASTS).isoformat()}


@transaction.atomic
def end_doublings(*, workflow: Workflow, now: datetime) -> list[Policy]:
    """Rates that are due go back, where nobody has changed them since; the versions that did it."""
    made = []
    for incident in _doublings(workflow).select_for_update(of=("self",)):
        written = incident.numbers["doubled"]
        if datetime.fromisoformat(written["until"]) > now:
            continue
        active = active_policy(workflow)
        if active is not None and audit_rates(active) == written["after"]:
            because = "The doubled audit rates of the last 14 days are over."
            try:
                made.append(
                    change_audit_rates(workflow=workflow, rates=written["before"], because=because, now=now)
                )
            except InvalidInput as error:
                # More is checked than need be: no harm, and a manager sees the rates on the policy page.
                log.warning("audit_rates_stay_doubled", workflow=workflow.slug, error=str(error))
        incident.numbers["doubled"] = written | {"ended": now.isoformat()}
        incident.save(update_fields=["numbers"])
    return made


def _doublings(workflow: Workflow) -> QuerySet[Incident]:
    found = Incident.objects.filter(workflow=workflow, numbers__has_key="doubled")
    return found.exclude(numbers__doubled__has_key="ended")
