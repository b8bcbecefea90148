"""The delays that recalibration.md section 5.3 publishes, in runs of a known error. Seeded."""

from __future__ import annotations

from datetime import UTC, datetime
from statistics import median

import numpy as np
import pytest

from apps.calibration.watching.audit_stream import Check
from apps.calibration.watching.watching import follow

AT = datetime(2026, 1, 1, tzinfo=UTC)


def delays(error: float, target: float, *, runs: int, checks: int, seed: int) -> list[int | None]:
    """Checks until the alarm, one entry a run; None where there was none in `checks`."""
    chance = np.random.default_rng(seed)
    found: list[int | None] = []
    for _ in range(runs):
        wrong = chance.random(checks) < error
        standing = follow([Check(AT, "spam", 0.05, bool(each)) for each in wrong], target, 0.05)
        found.append(standing.checks if standing.raised_at else None)
    return found


@pytest.mark.parametrize(
    ("target", "error", "published"),
    [(0.05, 0.10, 253), (0.05, 0.15, 97), (0.05, 0.20, 55), (0.02, 0.06, 243)],
)
def test_it_works(target: float, error: float, published: int) -> None:
    found = delays(error, target, runs=60, checks=2_000, seed=5)
    reached = [each for each in found if each is not None]
    assert len(reached) == 60
    assert published / 1.35 < median(reached) < published * 1.35


@pytest.mark.slow
def test_at_the_target_a_false_alarm_is_rare() -> None:
    found = delays(0.05, 0.05, runs=60, checks=2_000, seed=6)
    assert sum(each is not None for each in found) <= 8


@pytest.mark.slow
def test_at_half_the_target_there_is_none() -> None:
    assert set(delays(0.025, 0.05, runs=40, checks=2_000, seed=7)) == {None}
