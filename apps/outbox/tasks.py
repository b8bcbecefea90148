"""What workers are told. A message carries no ids, may be lost, doubled or late: the rows say what to do."""

from __future__ import annotations

from celery import shared_task
from django.utils import timezone

from apps.outbox.sending import send_next
from apps.outbox.services import sweep_events, wake_senders


@shared_task
def send() -> None:
    """One subscription's round, and then back into the queue: decisions stand there, too."""
    if send_next(now=timezone.now):
        wake_senders()


@shared_task
def sweep() -> None:
    sweep_events(now=timezone.now())
