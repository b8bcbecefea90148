"""What workers are told about exports. No ids: the rows say what to do, and beat repeats it for lost messages."""

from __future__ import annotations

from celery import shared_task
from django.utils import timezone

from apps.api.exporting import make_waiting_exports


@shared_task
def make_exports() -> None:
    make_waiting_exports(now=timezone.now)
