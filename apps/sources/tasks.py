"""What workers are told about sources. A message carries no ids, may be lost, doubled or late: rows say what to do."""

from __future__ import annotations

from celery import shared_task
from django.utils import timezone

from apps.sources.webhooks import working


@shared_task
def work_off_deliveries() -> None:
    working.work_off_deliveries(now=timezone.now)


@shared_task
def sweep_deliveries() -> None:
    working.sweep_deliveries(now=timezone.now())
