from __future__ import annotations

import random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from apps.stats.probability import bin_count, brier, log_loss, reliability, risk_coverage

# Whole thousandths, all different: ties keep the order they came in, and that is not what is tested here.
items = st.lists(
    st.tuples(st.integers(1, 999), st.booleans(), st.floats(1, 20)),
    min_size=6,
    max_size=60,
    unique_by=lambda item: item[0],
)
Items = list[tuple[int, bool, float]]


def columns(rows: Items) -> tuple[list[float], list[bool], list[float]]:
    return [row[0] / 1000 for row in rows], [row[1] for row in rows], [row[2] for row in rows]


def test_it_works() -> None:
    assert brier([[0.9, 0.1], [0.4, 0.6]], [0, 0]) == pytest.approx((0.02 + 0.72) / 2)


def test_the_worst_forecast_scores_two_and_the_clip_is_counted() -> None:
    assert brier([[0.0, 1.0]], [0]) == 2
    assert log_loss([[0.0, 1.0], [1.0, 0.0]], [0, 0]).clipped == 1


def test_without_items_everything_is_open() -> None:
    assert (brier([], []), log_loss([], []).value, risk_coverage([], []).aurc) == (None, None, None)
    assert reliability([], []).ece is None


def test_few_labels_show_no_calibration_error() -> None:
    assert [bin_count(n) for n in (99, 100, 149, 150, 749, 750, 10_000)] == [None, 2, 2, 3, 14, 15, 15]
    assert reliability([0.9] * 99, [1] * 99).ece is None


@given(items, st.randoms(use_true_random=False), st.floats(0.1, 10))
def test_order_and_scale_of_weights_change_nothing(rows: Items, chance: random.Random, factor: float) -> None:
    conf, hit, w = columns(rows)
    chance.shuffle(rows)
    other = columns(rows)
    scaled = [factor * weight for weight in other[2]]
    one, two = reliability(conf, hit, w, bins=3), reliability(other[0], other[1], scaled, bins=3)
    assert two.ece == pytest.approx(one.ece)
    assert risk_coverage(other[0], other[1], scaled).aurc == pytest.approx(risk_coverage(conf, hit, w).aurc)


def test_bins_have_intervals_on_their_effective_size() -> None:
    found = reliability([0.6, 0.7, 0.8, 0.9], [0, 1, 1, 1], [1, 3, 1, 1], bins=2)
    assert found.bins[0].accuracy.denominator == pytest.approx(16 / 10)
    assert found.bins[0].is_hollow


def test_an_exactly_calibrated_model_shows_about_the_reference() -> None:
    chance = np.random.default_rng(7)
    conf = chance.uniform(0.5, 1, 3000)
    found = [reliability(conf, chance.random(3000) < conf) for _ in range(20)]
    mean = np.mean([r.ece for r in found])
    assert mean == pytest.approx(np.mean([r.reference for r in found]), rel=0.15)


def test_the_best_order_has_no_excess() -> None:
    found = risk_coverage([0.9, 0.8, 0.7, 0.6], [0, 0, 1, 1])
    assert found.excess == pytest.approx(0)
    assert (risk_coverage([0.6, 0.7, 0.8, 0.9], [0, 0, 1, 1]).excess or 0) > 0.3


def test_shapes_that_do_not_fit_are_refused() -> None:
    with pytest.raises(ValueError, match="one row"):
        brier([[0.5, 0.5]], [0, 1])
    with pytest.raises(ValueError, match="not a column"):
        log_loss([[0.5, 0.5]], [2])
