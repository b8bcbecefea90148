"""What workers are told about sources. A message carries no ids, may be lost, doubled or late: rows say what to do."""

from __future__ import annotations

from celery import shared_task
from django.utils import timezone

from apps.sources.mailbox.looking import look_at_next_mailbox
from apps.sources.uploads import services
from apps.sources.uploads.working import work_on_next_upload
from apps.sources.wake import wake
from apps.sources.webhooks import working


@shared_task
def work_off_deliveries() -> None:
    working.work_off_deliveries(now=timezone.now)


@shared_task
def sweep_deliveries() -> None:
    working.sweep_deliveries(now=timezone.now())


@shared_task
def work_on_uploads() -> None:
    """One at a time, and then back into the queue: decisions stand there, too."""
    if work_on_next_upload(now=timezone.now):
        wake(services.TASK)


@shared_task
def sweep_uploads() -> None:
    services.sweep_uploads(now=timezone.now())


@shared_task
def look_at_mailboxes() -> None:
    """One at a time, and then back into the queue, as with uploads."""
    if look_at_next_mailbox(now=timezone.now):
        wake("look_at_mailboxes")
