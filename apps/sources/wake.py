"""Tells workers that something has come in. A hint: with the broker away nothing is lost, beat says it again."""

from __future__ import annotations

import structlog
from celery import current_app
from kombu.exceptions import OperationalError

log = structlog.get_logger()
HINT_EXPIRES_S = 60


def wake(task: str) -> None:
    """`task` of apps.sources.tasks, by name."""
    try:
        current_app.send_task(f"apps.sources.tasks.{task}", expires=HINT_EXPIRES_S)
    except OperationalError as error:
        log.warning("wake_up_not_sent", task=task, error=str(error))
