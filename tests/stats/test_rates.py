from __future__ import annotations

import pytest

from apps.stats.rates import exact_share, rate


def test_it_works() -> None:
    found = rate(3, 60)
    assert (found.value, found.numerator, found.denominator) == (0.05, 3, 60)
    assert (found.low, found.high) == pytest.approx((0.01715, 0.137005), abs=1e-6)


def test_no_data_is_null_and_says_so() -> None:
    expected = {"value": None, "numerator": 0, "denominator": 0, "low": None, "high": None}
    assert rate(0, 0).to_json() == {**expected, "reason": "no data"}
    assert exact_share(0, 0).to_json() == {**expected, "reason": "no data", "exact": True}


def test_a_count_of_everything_has_no_interval() -> None:
    expected = {"value": 0.75, "numerator": 3, "denominator": 4, "low": None, "high": None, "exact": True}
    assert exact_share(3, 4).to_json() == expected


def test_a_sampled_rate_has_five_keys() -> None:
    assert list(rate(1, 2).to_json()) == ["value", "numerator", "denominator", "low", "high"]


def test_few_labels_are_marked_but_a_full_count_never_is() -> None:
    assert [rate(1, 29).has_few_labels, rate(1, 30).has_few_labels] == [True, False]
    assert not exact_share(1, 2).has_few_labels


@pytest.mark.parametrize(("k", "n"), [(2, 1), (-1, 3), (0, -1)])
def test_impossible_counts_are_refused(k: int, n: int) -> None:
    for make in (rate, exact_share):
        with pytest.raises(ValueError, match="0 <= k <= n"):
            make(k, n)
