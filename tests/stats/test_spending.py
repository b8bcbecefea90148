from __future__ import annotations

import pytest

from apps.stats.spending import attempt_delta, label_delta


def test_it_works() -> None:
    assert attempt_delta(0.05, 1) == pytest.approx(0.030396, abs=1e-6)


def test_all_attempts_together_spend_no_more_than_delta() -> None:
    spent = sum(attempt_delta(0.05, attempt) for attempt in range(1, 10_000))
    assert 0.04999 < spent < 0.05


def test_one_promise_for_all_labels() -> None:
    assert label_delta(0.05, 5) == pytest.approx(0.01)


def test_counts_start_at_one() -> None:
    for share in (attempt_delta, label_delta):
        with pytest.raises(ValueError, match="got 0"):
            share(0.05, 0)
