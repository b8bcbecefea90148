"""Tells workers that there may be work. A hint: with the broker away nothing is lost, the next sweep finds the rows."""

from __future__ import annotations

import structlog
from celery import current_app
from kombu.exceptions import OperationalError

log = structlog.get_logger()
HINT_EXPIRES_S = 60


def wake_deciders() -> None:
    _send("apps.pipeline.tasks.decide")


def wake_actors() -> None:
    _send("apps.pipeline.tasks.act")


def _send(task: str) -> None:
    try:
        current_app.send_task(task, expires=HINT_EXPIRES_S)
    except OperationalError as error:
        log.warning("wake_up_not_sent", task=task, error=str(error))
