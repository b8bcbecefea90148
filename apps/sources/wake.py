"""Tells workers that something has come in."""

from __future__ import annotations

from apps.core.wake import wake as wake_by_name


def wake(task: str) -> None:
    """`task` of apps.sources.tasks, by name."""
    wake_by_name(f"apps.sources.tasks.{task}")
