"""What workers are told. A message carries no ids, may be lost, doubled or late: the rows say what to do."""

from __future__ import annotations

from celery import shared_task
from django.core.cache import cache
from django.utils import timezone

from apps.pipeline.acting import act_on_due_runs
from apps.pipeline.processing import decide_waiting_items
from apps.pipeline.sweep import sweep_rows
from apps.pipeline.wake import wake_actors, wake_deciders

WORKER_SEEN = "fermata:worker_seen_at"
"""Cache key of the last sign of life of a worker; health checks and the operator's page read it."""


@shared_task
def decide() -> None:
    if decide_waiting_items(now=timezone.now):
        wake_deciders()


@shared_task
def act() -> None:
    act_on_due_runs(now=timezone.now)


@shared_task
def sweep() -> None:
    cache.set(WORKER_SEEN, timezone.now().isoformat(), timeout=None)
    swept = sweep_rows(now=timezone.now())
    if swept.to_decide:
        wake_deciders()
    if swept.to_act:
        wake_actors()
