from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from apps.stats.intervals import upper_bound
from apps.stats.thresholds import (
    GRID,
    Stratum,
    counts_by_label,
    cumulative,
    empty_counts,
    fixed_sequence,
    grid_bin,
    grid_value_at_least,
    start_index,
    start_mass,
    two_stratum_bounds,
)
from tests.stats.counting import audited_at, counts_of, reviewed_at, uncovered_at

strata = st.integers(1, 400).flatmap(lambda n: st.tuples(st.just(n), st.integers(0, n)))


def test_it_works() -> None:
    bounds = two_stratum_bounds(counts_of(reviewed_at(0.7, 400, 60), audited_at(0.95, 100, 2)), 0.1)
    assert bounds[GRID.index(0.9)] == pytest.approx(upper_bound(2, 100, 0.1))
    assert bounds[0] == pytest.approx(
        0.8 * upper_bound(60, 400, 0.015) + 0.2 * upper_bound(2, 100, 0.085), abs=1e-9
    )


def test_the_grid_is_the_fixed_one() -> None:
    assert (len(GRID), GRID[0], GRID[49:]) == (52, 0.5, (0.99, 0.995, 0.999))
    assert list(GRID) == sorted(GRID)


@pytest.mark.parametrize("t", GRID)
def test_a_confidence_on_a_grid_value_is_in(t: float) -> None:
    as_read = json.loads(f"{t}")
    assert GRID[int(grid_bin(as_read)) - 1] == t
    assert int(grid_bin(np.nextafter(t, 0))) == GRID.index(t)


def test_bins_count_as_width_bucket_does() -> None:
    assert grid_bin([0.0, 0.499, 0.5, 0.505, 0.999, 1.0]).tolist() == [0, 0, 1, 1, 52, 52]


@given(st.lists(st.floats(0, 1), max_size=50))
def test_cumulative_counts_are_those_of_the_items(conf: list[float]) -> None:
    found = cumulative(np.bincount(grid_bin(conf), minlength=len(GRID) + 1))
    assert found.tolist() == [sum(value >= t for value in conf) for t in GRID]


@given(strata)
def test_an_empty_stratum_leaves_the_plain_exact_bound(n_k: tuple[int, int]) -> None:
    n, k = n_k
    for row in (audited_at(0.97, n, k), reviewed_at(0.97, n, k)):
        assert two_stratum_bounds(counts_of(row), 0.1)[0] == pytest.approx(upper_bound(k, n, 0.1))


@given(strata, strata)
def test_a_wrong_audit_never_lowers_a_right_one_never_raises(
    review: tuple[int, int], audit: tuple[int, int]
) -> None:
    n, k = audit
    rows = [(n, k), (n + 1, k + 1), (n + 1, k)]
    now, after_wrong, after_right = (
        two_stratum_bounds(counts_of(reviewed_at(0.6, *review), audited_at(0.9, *row, items=1000)), 0.05)[0]
        for row in rows
    )
    assert after_right <= now <= after_wrong


def test_what_nobody_could_check_counts_as_wrong() -> None:
    bounds = two_stratum_bounds(counts_of(audited_at(0.9, 100, 0), uncovered_at(0.9, 100)), 0.05)
    assert bounds[0] == pytest.approx((upper_bound(0, 100, 0.05) + 1) / 2)


def test_without_items_everything_is_possible() -> None:
    assert two_stratum_bounds(empty_counts(), 0.05).tolist() == [1.0] * len(GRID)


def test_rows_of_several_days_and_labels_add_up() -> None:
    rows = [audited_at(0.9, 10, 1), audited_at(0.9, 5, 2), audited_at(0.9, 7, 0, label="b")]
    found = counts_by_label(rows)
    assert (found["a"].labelled[0], found["a"].wrong[0], found["b"].items[0]) == (15, 3, 7)


def test_shuffled_rows_change_nothing() -> None:
    rows = [audited_at(0.9, 10, 1), reviewed_at(0.6, 5, 2), uncovered_at(0.7, 3)]
    one, two = two_stratum_bounds(counts_of(*rows), 0.05), two_stratum_bounds(counts_of(*rows[::-1]), 0.05)
    assert one.tolist() == two.tolist()


def test_impossible_counts_are_refused() -> None:
    one = np.ones(1)
    with pytest.raises(ValueError, match="wrong <= labelled"):
        Stratum(items=one, labelled=one, wrong=2 * one)
    with pytest.raises(ValueError, match="bins"):
        cumulative([1, 2, 3])


def test_the_start_is_the_highest_value_with_enough_draws() -> None:
    assert start_mass(0.05, 0.05) == pytest.approx(119.829, abs=1e-3)
    counts = counts_of(audited_at(0.99, 100, 0), audited_at(0.95, 20, 0))
    assert start_index(counts.pi_sum, 0.05, 0.05) == GRID.index(0.95)


def test_the_start_never_looks_at_answers() -> None:
    right, wrong = counts_of(audited_at(0.95, 200, 0)), counts_of(audited_at(0.95, 200, 200))
    assert start_index(right.pi_sum, 0.05, 0.05) == start_index(wrong.pi_sum, 0.05, 0.05)


def test_the_walk_ends_at_the_first_failure() -> None:
    assert fixed_sequence([True, True, False, True]) == 1
    assert fixed_sequence([False, True]) is None
    assert fixed_sequence([]) is None


def test_rounding_up_on_the_grid() -> None:
    assert [grid_value_at_least(t) for t in (0.2, 0.57, 0.571, 0.991, 0.9991)] == [
        0.5,
        0.57,
        0.58,
        0.995,
        None,
    ]
