"""What workers are told about calibration. A message carries no ids, may be lost, doubled or late: rows say what."""

from __future__ import annotations

from celery import shared_task
from django.utils import timezone

from apps.calibration.counting.days import refresh
from apps.calibration.night import look_tonight
from apps.calibration.trials.running import work_on_next_trial
from apps.calibration.trials.services import TASK
from apps.calibration.watching import side_alarms, warnings, watching
from apps.calibration.watching.rounds import look_at_every_workflow
from apps.core.wake import wake
from apps.workflows.models import Workflow


@shared_task
def run_trials() -> None:
    """A slice of one, and then back into the queue: decisions stand there, too."""
    if work_on_next_trial(now=timezone.now):
        wake(TASK)


@shared_task
def count_days() -> None:
    """Pages count what has changed before they read; often done, that is never much."""
    for workflow in Workflow.objects.order_by("pk"):
        refresh(workflow)


@shared_task
def watch_alarms() -> None:
    look_at_every_workflow(watching.watch_alarms, now=timezone.now)
    look_at_every_workflow(side_alarms.watch_side_alarms, now=timezone.now)


@shared_task
def watch_warnings() -> None:
    look_at_every_workflow(warnings.watch_warnings, now=timezone.now)
    look_at_every_workflow(side_alarms.watch_side_warnings, now=timezone.now)


@shared_task
def recalibrate() -> None:
    look_tonight(now=timezone.now())
