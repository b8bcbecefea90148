from __future__ import annotations

import random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from apps.stats.rates import rate
from apps.stats.sampling import (
    hajek,
    keep_chances,
    kish_n_eff,
    linearised_se,
    too_rare_to_thin,
    weighted_rate,
)

samples = st.lists(st.tuples(st.floats(1, 100), st.booleans()), min_size=1, max_size=60)


def test_it_works() -> None:
    assert hajek([1, 1, 20], [1, 0, 0]) == pytest.approx(1 / 22)


@given(st.floats(1, 50), st.lists(st.booleans(), min_size=1))
def test_equal_weights_give_the_plain_rate(weight: float, err: list[bool]) -> None:
    found, plain = weighted_rate([weight] * len(err), err), rate(sum(err), len(err))
    assert (found.value, found.low, found.high) == pytest.approx(
        (plain.value, plain.low, plain.high), abs=1e-9
    )


@given(samples, st.floats(0.01, 100))
def test_scaling_all_weights_changes_nothing(sample: list[tuple[float, bool]], factor: float) -> None:
    w, err = np.array([row[0] for row in sample]), [row[1] for row in sample]
    for figure in (hajek, linearised_se):
        assert figure(w * factor, err) == pytest.approx(figure(w, err), abs=1e-9)
    assert kish_n_eff(w * factor) == pytest.approx(kish_n_eff(w))


@given(samples, st.randoms(use_true_random=False))
def test_shuffling_changes_nothing(sample: list[tuple[float, bool]], chance: random.Random) -> None:
    shuffled = list(sample)
    chance.shuffle(shuffled)
    before, after = (weighted_rate(*zip(*rows, strict=True)) for rows in (sample, shuffled))
    assert (after.value, after.low) == pytest.approx((before.value, before.low), abs=1e-9)


def test_nothing_labelled_is_open() -> None:
    assert (hajek([], []), linearised_se([], []), kish_n_eff([])) == (None, None, 0)
    assert weighted_rate([], []).to_json()["reason"] == "no data"


@pytest.mark.parametrize("weight", [0, -1, float("nan"), float("inf")])
def test_impossible_weights_are_refused(weight: float) -> None:
    with pytest.raises(ValueError, match="positive and finite"):
        hajek([1, weight], [0, 0])


def test_thinning_brings_all_to_the_smallest_chance() -> None:
    pi = np.array([0.1, 0.05, 0.2])
    assert (pi * keep_chances(pi)).tolist() == pytest.approx([0.05] * 3)


def test_a_chance_of_nothing_cannot_be_thinned() -> None:
    with pytest.raises(ValueError, match="above 0"):
        keep_chances([0.5, 0.0])


def test_days_with_a_third_of_the_usual_rate_stand_out() -> None:
    assert too_rare_to_thin([0.05, 0.05, 0.05, 0.01]).tolist() == [False, False, False, True]
    assert too_rare_to_thin([]).tolist() == []
