"""First attempts wait for a fair chance, by what was counted and never by what was answered."""

from __future__ import annotations

from random import Random
from typing import Any

import numpy as np
import pytest
from scipy import stats

from apps.calibration.computing import Json, compute
from apps.calibration.fair_chance import ASSUMED, FULL_WEEKS, POWER, certifying_chance
from apps.stats.intervals import plan_audits, upper_bound
from apps.stats.spending import attempt_delta
from apps.stats.thresholds import BinCount, Counts, counts_by_label

TARGET, RISK = 0.05, 0.05
SETTINGS = {"confidence": 0.95, "scope": "per_label", "labels": 1}
WAITING = SETTINGS | {"power": POWER, "assumed": ASSUMED}


def counted(reviewed: int, audited: int = 0, of: int = 0, uncovered: int = 0) -> Counts:
    rows = [
        BinCount("spam", 30, "reviewed", reviewed, reviewed, 0, float(reviewed)),
        BinCount("spam", 40, "audited", of, audited, 0, float(audited)),
        BinCount("spam", 40, "uncovered", uncovered, 0, 0, 0.0),
    ]
    return counts_by_label(rows)["spam"]


def chance(counts: Counts) -> float:
    return certifying_chance(counts, alpha=TARGET, delta=0.03, error=0.02)


def entry(labelled: int, wrong: int = 0, **more: Any) -> Json:
    attempt = more.get("attempt", 1)
    return {
        "label": "spam",
        "refusal": "",
        "target_error": TARGET,
        "attempt": attempt,
        "delta": attempt_delta(RISK, attempt),
        "next_delta": attempt_delta(RISK, attempt + 1),
        "is_due": True,
        "is_forced": False,
        "is_full": False,
        "due_on": "2026-11-30",
        "cost_threshold": 0.5,
        "start_on": "2026-11-01",
        "end_on": "2026-11-30",
        "weeks": 4.0,
        "drawn": 0,
        "unanswered": 0,
        "pending": 0,
        "rows": [[30, "reviewed", labelled, labelled, wrong, float(labelled)]],
    } | more


def result(labelled: int, wrong: int = 0, *, settings: Json = WAITING, **more: Any) -> Json:
    return compute({"labels": [entry(labelled, wrong, **more)], "settings": settings})[0]


def test_it_works() -> None:
    waiting = result(300)
    assert (waiting["could_pass"], waiting["is_attempt"], waiting["waits_for"]) == (True, False, 432)
    assert waiting["sentence"].startswith(
        "A reading, which certifies nothing: attempt 1 waits for a fair chance, with 432 answers or so (there are "
        "300) or those of 7 weeks. With 95% confidence"
    )
    assert result(600)["is_attempt"]


def test_the_chance_is_the_planners() -> None:
    plan = plan_audits(TARGET, 0.02, 0.03)
    assert plan is not None
    assert chance(counted(plan.n)) == pytest.approx(plan.power, abs=1e-9)
    assert chance(counted(plan.n - 1)) < POWER


def test_two_strata_are_enumerated() -> None:
    bounds = [[200 * upper_bound(r, 200, 0.03 * 0.15) for r in range(60)], []]
    bounds[1] = [1_000 * upper_bound(a, 250, 0.03 * 0.85) for a in range(60)]
    expected = sum(
        stats.binom.pmf(r, 200, 0.02) * stats.binom.pmf(a, 250, 0.02)
        for r, one in enumerate(bounds[0])
        for a, other in enumerate(bounds[1])
        if one + other + 10 <= TARGET * 1_210
    )
    assert chance(counted(200, 250, 1_000, uncovered=10)) == pytest.approx(expected, abs=1e-7)


def test_without_answers_there_is_none() -> None:
    assert chance(counted(0, 0, 500)) == 0


@pytest.mark.parametrize("more", [{"is_full": True}, {"is_forced": True}, {"attempt": 2}])
def test_nothing_else_waits(more: dict[str, Any]) -> None:
    assert result(300, **more)["is_attempt"]


def test_runs_from_before_are_computed_as_they_were() -> None:
    assert result(300, settings=SETTINGS)["is_attempt"]


@pytest.mark.parametrize("wrong", [0, 3, 300])
def test_what_was_answered_never_enters(wrong: int) -> None:
    assert [result(n, min(n, wrong))["is_attempt"] for n in (100, 300, 432)] == [False, False, True]


def weeks_of(error: float, seed: int, settings: Json) -> tuple[bool, int]:
    """Half a year of 56 answers a week to one label: whether it was ever certified, after how many attempts."""
    chance, wrong, made, last = Random(seed), [], 0, -9
    for week in range(26):
        wrong.append(sum(chance.random() < error for _ in range(56)))
        if made and week - last < (1 if made < 4 else 4):
            continue
        window = wrong[-8:]
        found = result(
            56 * len(window), sum(window), settings=settings, attempt=made + 1, is_full=week >= FULL_WEEKS
        )
        if found["is_attempt"]:
            made, last = made + 1, week
            if found["certified"]:
                return True, made
    return False, made


@pytest.mark.slow
def test_less_is_wasted_and_the_promise_is_kept() -> None:
    # Its error is half the target: worth certifying.
    at_once, waiting = (
        np.mean([weeks_of(0.025, seed, settings) for seed in range(80)], axis=0)
        for settings in (SETTINGS, WAITING)
    )
    assert waiting[0] > at_once[0] + 0.05
    assert waiting[1] < at_once[1] / 1.5
    # Over its target: certified at any time in half a year in at most the 5 % promised, and a margin for 80 draws.
    assert np.mean([weeks_of(0.055, seed, WAITING)[0] for seed in range(80)]) <= 0.1
