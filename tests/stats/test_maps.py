from __future__ import annotations

import numpy as np
import pytest
from scipy.special import expit, logit, softmax
from sklearn.isotonic import IsotonicRegression

from apps.stats.intervals import Floats
from apps.stats.maps import fit_beta, fit_isotonic, fit_temperature, is_improvement


def overconfident(n: int, seed: int) -> tuple[Floats, Floats, Floats]:
    """Reported and honest probabilities of three labels, and the labels drawn from the honest ones."""
    chance = np.random.default_rng(seed)
    logits = chance.normal(0, 1.5, (n, 3))
    honest = softmax(logits, axis=1)
    y = (chance.random(n)[:, None] > np.cumsum(honest, axis=1)).sum(axis=1).astype(float)
    return softmax(2 * logits, axis=1), honest, np.minimum(y, 2)


def test_it_works() -> None:
    p, honest, y = overconfident(20_000, 1)
    found = fit_temperature(p, y, np.ones(len(y)))
    assert found.t == pytest.approx(2, abs=0.1)
    assert found.apply(p) == pytest.approx(honest, abs=0.03)


def test_a_map_that_helps_on_other_items_is_kept() -> None:
    p, _, y = overconfident(2000, 2)
    found = fit_temperature(p[:1200], y[:1200], np.ones(1200))
    assert is_improvement(p[1200:], found.apply(p[1200:]), y[1200:], np.ones(800))


def test_a_map_that_does_nothing_or_harm_is_not() -> None:
    _, honest, y = overconfident(1000, 3)
    assert not is_improvement(honest, honest, y, np.ones(1000))
    assert not is_improvement(honest, honest**3 / (honest**3).sum(axis=1)[:, None], y, np.ones(1000))
    assert not is_improvement([], [], [], [])


def test_isotonic_is_that_of_scikit_learn() -> None:
    chance = np.random.default_rng(4)
    x = chance.integers(0, 40, 300) / 40
    y, w, query = chance.random(300) < x**2, chance.uniform(1, 20, 300), chance.random(50)
    expected = IsotonicRegression(out_of_bounds="clip").fit(x, y, sample_weight=w)
    assert fit_isotonic(x, y, w).curve(query) == pytest.approx(expected.predict(query))


def test_isotonic_promises_no_certainty() -> None:
    found = fit_isotonic([0.5, 0.9], [0, 1], [1, 1])
    assert found.apply([0.1, 0.99]).tolist() == [0.25, 0.75]


def test_beta_finds_the_curve_the_answers_came_from() -> None:
    chance = np.random.default_rng(5)
    c = chance.uniform(0.02, 0.98, 40_000)
    y = chance.random(len(c)) < expit(0.5 * logit(c) - 0.3)
    found = fit_beta(c, y, np.ones(len(c)))
    assert (found.a, found.b, found.m) == pytest.approx((0.5, 0.5, -0.3), abs=0.08)


def test_beta_drops_a_falling_term() -> None:
    chance = np.random.default_rng(6)
    c = chance.uniform(0.02, 0.98, 20_000)
    y = chance.random(len(c)) < expit(-0.8 * np.log(c) - 1.0 * np.log(1 - c))
    assert fit_beta(c, y, np.ones(len(c))).a == 0


def test_nothing_to_fit_is_refused() -> None:
    for fit in (fit_isotonic, fit_beta):
        with pytest.raises(ValueError, match=r"a map needs|a beta map"):
            fit([], [], [])
    with pytest.raises(ValueError, match="a beta map"):
        fit_beta([0.5, 0.6], [1, 1], [1, 1])
