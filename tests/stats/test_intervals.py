from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom
from statsmodels.stats.proportion import confint_proportions_2indep, proportion_confint

from apps.stats.intervals import (
    audits_needed,
    clopper_pearson,
    exact_p,
    newcombe,
    plan_audits,
    upper_bound,
    upper_bounds,
    wilson,
)

counts = st.integers(1, 2000).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n)))
confidences = st.sampled_from([0.8, 0.9, 0.95, 0.99, 0.999])


def test_it_works() -> None:
    assert wilson(3, 60) == pytest.approx((0.01715, 0.137005), abs=1e-6)


@given(counts, confidences)
def test_wilson_is_that_of_statsmodels(k_n: tuple[int, int], conf: float) -> None:
    expected = proportion_confint(*k_n, alpha=1 - conf, method="wilson")
    assert wilson(*k_n, conf) == pytest.approx(expected, abs=1e-9)


@given(counts, confidences)
def test_clopper_pearson_is_that_of_statsmodels(k_n: tuple[int, int], conf: float) -> None:
    expected = proportion_confint(*k_n, alpha=1 - conf, method="beta")
    assert clopper_pearson(*k_n, conf) == pytest.approx(expected, abs=1e-9)


@given(counts, counts)
def test_newcombe_is_that_of_statsmodels(one: tuple[int, int], two: tuple[int, int]) -> None:
    gap = newcombe(*one, *two)
    expected = confint_proportions_2indep(*one, *two, method="newcomb", compare="diff")
    assert (gap.low, gap.high) == pytest.approx(expected, abs=1e-9)


def test_nothing_known_is_everything_possible() -> None:
    assert wilson(0, 0) == clopper_pearson(0, 0) == (0.0, 1.0)
    assert upper_bound(0, 0, 0.05) == upper_bound(7, 7, 0.05) == 1.0


@given(st.integers(1, 5000), st.floats(1e-6, 0.5))
def test_bound_without_errors_has_a_closed_form(n: int, delta: float) -> None:
    assert upper_bound(0, n, delta) == pytest.approx(1 - delta ** (1 / n), rel=1e-9)


@given(counts, st.floats(0.01, 0.5))
def test_bound_and_exact_test_agree(k_n: tuple[int, int], alpha: float) -> None:
    p = exact_p(*k_n, alpha)
    if abs(p - 0.05) > 1e-9:
        assert (p <= 0.05) == (upper_bound(*k_n, 0.05) <= alpha)


@given(counts, st.floats(0.001, 0.3))
def test_a_wrong_answer_never_lowers_the_bound_and_a_right_one_never_raises_it(
    k_n: tuple[int, int], delta: float
) -> None:
    k, n = k_n
    now, after_wrong, after_right = upper_bounds([k, k + 1, k], [n, n + 1, n + 1], delta)
    assert after_right <= now <= after_wrong


@pytest.mark.parametrize(("k", "n"), [(-1, 5), (6, 5), (0, float("nan")), (0, float("inf"))])
def test_impossible_counts_are_refused(k: float, n: float) -> None:
    with pytest.raises(ValueError, match="0 <= k <= n"):
        wilson(k, n)


@pytest.mark.parametrize("delta", [0.0, 1.0, -0.1, float("nan")])
def test_impossible_risks_are_refused(delta: float) -> None:
    with pytest.raises(ValueError, match="delta"):
        upper_bound(1, 10, delta)


@pytest.mark.parametrize(
    ("x", "delta", "expected"),
    [
        (0.01, 0.05, [299, 473, 628, 773, 1049]),
        (0.03, 0.05, [99, 157, 208, 257, 348]),
        (0.05, 0.05, [59, 93, 124, 153, 208]),
        (0.02, 0.10, [114, 194, 265, 333, 462]),
        (0.10, 0.10, [22, 38, 52, 65, 91]),
    ],
)
def test_audits_needed(x: float, delta: float, expected: list[int]) -> None:
    assert [audits_needed(x, delta, k) for k in (0, 1, 2, 3, 5)] == expected


@given(st.floats(0.005, 0.5), st.integers(0, 30))
def test_one_audit_fewer_would_not_do(x: float, k: int) -> None:
    n = audits_needed(x, 0.05, k)
    assert binom.cdf(k, n, x) <= 0.05 < binom.cdf(k, n - 1, x)


@pytest.mark.parametrize(
    ("x", "e", "at_5", "at_10"),
    [(0.05, 0.03, 694, 515), (0.05, 0.01, 124, 105), (0.02, 0.01, 1091, 828), (0.01, 0.005, 2185, 1658)],
)
def test_sustained_plans(x: float, e: float, at_5: int, at_10: int) -> None:
    plans = [plan_audits(x, e, delta, sustained=True) for delta in (0.05, 0.10)]
    assert [plan and plan.n for plan in plans] == [at_5, at_10]


def test_a_target_at_the_true_error_has_no_plan() -> None:
    assert plan_audits(0.05, 0.05, 0.05) is None
