from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from apps.stats.betting import Bets, lower_bound

samples = st.lists(st.tuples(st.floats(1, 20), st.floats(0, 1)), min_size=1, max_size=40)


def test_it_works() -> None:
    bound = Bets(np.ones(200), np.zeros(200), w_max=1).upper_bound(0.05)
    assert 0.015 < bound < 0.06


@given(samples)
def test_wealth_grows_with_alpha(sample: list[tuple[float, float]]) -> None:
    w, loss = zip(*sample, strict=True)
    path = [Bets(w, loss, 20).log_wealth(alpha) for alpha in (0.01, 0.1, 0.3, 0.6, 0.9)]
    assert all(low <= high + 1e-9 for low, high in pairwise(path))


@given(samples, st.floats(0.1, 10))
def test_scaling_weights_and_their_maximum_changes_nothing(
    sample: list[tuple[float, float]], factor: float
) -> None:
    w, loss = (np.array(column) for column in zip(*sample, strict=True))
    plain, scaled = Bets(w, loss, 20), Bets(w * factor, loss, 20 * factor * (1 + 1e-15))
    assert scaled.log_wealth(0.2) == pytest.approx(plain.log_wealth(0.2), abs=1e-6)


def test_collapsing_gives_the_direct_product() -> None:
    w, loss, alpha = np.array([1, 1, 5, 20, 20.0]), np.array([1, 1, 0, 0.5, 0.5]), 0.3
    stakes = np.arange(1, 21)[:, None] / 20
    direct = np.prod(1 + stakes * w / 20 * (alpha - loss) / (1 - alpha), axis=1).mean()
    assert math.exp(Bets(w, loss, 20).log_wealth(alpha)) == pytest.approx(direct)


def test_nothing_labelled_rules_nothing_out() -> None:
    assert Bets([], [], 1).upper_bound(0.05) == 1
    assert lower_bound([], [], 1, 0.05) == 0


def test_all_wrong_rules_nothing_out_above_and_much_below() -> None:
    ones = np.ones(100)
    assert Bets(ones, ones, 1).upper_bound(0.05) == 1
    assert lower_bound(ones, ones, 1, 0.05) > 0.9


def test_ordinary_luck_is_no_evidence() -> None:
    errors = np.tile([1] + [0] * 9, 30)
    assert Bets(np.ones(300), errors, 1).p_value(0.1) > 0.5
    assert Bets(np.ones(300), errors, 1).p_value(0.2) < 0.01


@pytest.mark.parametrize(("w", "loss"), [([2.0], [0.0]), ([1.0], [1.5]), ([1.0], [0.0, 0.0])])
def test_impossible_bets_are_refused(w: list[float], loss: list[float]) -> None:
    with pytest.raises(ValueError, match=r"weight|losses"):
        Bets(w, loss, 1)
