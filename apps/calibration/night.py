"""What is done once a night for each workflow: runs that are due, certificates that have run out."""

from __future__ import annotations

from datetime import datetime, timedelta
from zoneinfo import ZoneInfo

import structlog
from django.db import transaction
from django.utils import timezone

from apps.calibration.expiring import expire
from apps.calibration.looking import look
from apps.calibration.models import CalibrationRun, CalibrationSettings
from apps.calibration.recounting import is_recount_owed
from apps.calibration.running import run_calibration
from apps.calibration.sides import holds_in_force, look_at_holds
from apps.policies.selectors import active_policy
from apps.workflows.models import Workflow

FROM_HOUR = 2
"""Of the workflow's time zone; a night that was missed is made up for on the same day."""

READ_EVERY = timedelta(days=7)

log = structlog.get_logger()


def look_tonight(*, now: datetime) -> list[CalibrationRun]:
    """Every workflow's night, where it is time and was not done yet today. What breaks is logged, and tried again
    half an hour later; it keeps no other workflow back."""
    runs = []
    for workflow in Workflow.objects.order_by("pk"):
        try:
            run = _look_at(workflow, now)
        except Exception:
            log.exception("night_broke", workflow=workflow.slug)
            continue
        if run is not None:
            runs.append(run)
    return runs


@transaction.atomic
def _look_at(workflow: Workflow, now: datetime) -> CalibrationRun | None:
    local = timezone.localtime(now, ZoneInfo(workflow.time_zone))
    if local.hour < FROM_HOUR or active_policy(workflow) is None:
        return None
    if not _claim(workflow, local):
        return None
    run = None
    # Whatever is due is tried, and nobody can switch that off: to ask only on days on which a reading passes would
    # certify what is false several times as often as promised.
    if _is_owed(workflow, now):
        run = run_calibration(workflow=workflow, trigger=CalibrationRun.Trigger.SCHEDULED, user=None, now=now)
    # After the run, which may have renewed what would run out.
    expire(workflow=workflow, now=now)
    return run


def _is_owed(workflow: Workflow, now: datetime) -> bool:
    return bool(
        is_recount_owed(workflow=workflow, now=now)
        or look(workflow=workflow, now=now).attempts
        or _sides_are_due(workflow, now)
    )


def _sides_are_due(workflow: Workflow, now: datetime) -> bool:
    """Whether a side of a hold would be tried; or is to be read, which pages show, and was not for a week."""
    if not holds_in_force(workflow=workflow, now=now):
        return False
    lately = CalibrationRun.objects.filter(workflow=workflow, created_at__gt=now - READ_EVERY)
    if not lately.exists():
        return True
    holds = look_at_holds(workflow=workflow, now=now)
    return any(result["is_attempt"] for hold in holds for result in hold.results)


def _claim(workflow: Workflow, local: datetime) -> bool:
    """False when another worker has, or had, this day."""
    CalibrationSettings.objects.get_or_create(workflow=workflow)
    settings = CalibrationSettings.objects.select_for_update().get(workflow=workflow)
    if settings.looked_on is not None and settings.looked_on >= local.date():
        return False
    settings.looked_on = local.date()
    settings.save(update_fields=["looked_on"])
    return True
