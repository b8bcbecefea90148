from __future__ import annotations

import numpy as np
import pytest

from apps.stats.replay import ReplayCost, ReplayLoad, replay_cost

LOAD = ReplayLoad(days=10, automatic=2000, reviews=400, audits=100, review_cost=1.5)


def cost_of(load: ReplayLoad, costs: list[float]) -> ReplayCost:
    return replay_cost(load, costs, [20] * len(costs), c_max=40, w_max=20)


def test_it_works() -> None:
    found = cost_of(LOAD, [20.0] * 2 + [0.0] * 98)
    assert (found.error_cost_per_day, found.cost_per_day) == pytest.approx((80, 155))
    assert LOAD.automation.value == pytest.approx(0.833333, abs=1e-6)


def test_few_errors_take_the_wider_interval() -> None:
    few = cost_of(LOAD, [20.0] * 2 + [0.0] * 98)
    assert few.low is not None
    assert few.high is not None
    # The normal interval would end at 189.
    assert 0 < few.low < 80 < 200 < few.high


def test_many_errors_take_the_normal_interval() -> None:
    costs = [20.0] * 30 + [0.0] * 270
    half = 1.959964 * 200 * np.std(costs) / 300**0.5
    found = cost_of(LOAD, costs)
    assert (found.low, found.high) == pytest.approx((400 - half, 400 + half), rel=1e-6)


def test_nothing_labelled_is_open_and_nothing_automatic_costs_only_people() -> None:
    assert cost_of(LOAD, []) == ReplayCost(None, None, None, None)
    all_reviewed = ReplayLoad(days=10, automatic=0, reviews=400, audits=0, review_cost=1.5)
    assert cost_of(all_reviewed, []) == ReplayCost(0, 0, 0, 60)


def test_a_window_of_no_time_is_refused() -> None:
    with pytest.raises(ValueError, match="no time"):
        cost_of(ReplayLoad(0, 1, 1, 1, 1), [1.0])
