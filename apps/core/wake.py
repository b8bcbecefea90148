"""Tells workers that there is something to do. A hint: with the broker away nothing is lost, beat says it again."""

from __future__ import annotations

import structlog
from celery import current_app
from kombu.exceptions import OperationalError

log = structlog.get_logger()
HINT_EXPIRES_S = 60


def wake(task: str) -> None:
    """`task` by its whole name, as Celery knows it."""
    try:
        current_app.send_task(task, expires=HINT_EXPIRES_S)
    except OperationalError as error:
        log.warning("wake_up_not_sent", task=task, error=str(error))
