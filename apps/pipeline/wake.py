"""Tells workers that there may be work. A hint: with the broker away nothing is lost, the next sweep finds the rows."""

from __future__ import annotations

from apps.core.wake import wake


def wake_deciders() -> None:
    wake("apps.pipeline.tasks.decide")


def wake_actors() -> None:
    wake("apps.pipeline.tasks.act")
