from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from apps.stats.alarms import (
    TargetAlarm,
    alarm_path,
    bin_counts,
    equal_mass_edges,
    ks,
    override_cusum,
    override_rates,
    psi,
)


def test_it_works() -> None:
    assert alarm_path([0, 1], 0.05) == pytest.approx([0.938596, 2.166667], abs=1e-6)


def test_mistakes_raise_the_alarm_and_it_follows_time() -> None:
    assert alarm_path([1] * 8, 0.05)[-1] > 1000
    assert alarm_path([1, 0, 0], 0.05)[-1] != alarm_path([0, 0, 1], 0.05)[-1]


def test_the_alarm_can_be_carried_on_from_what_was_stored() -> None:
    stored = TargetAlarm(0.05).after(1).after(0)
    again = TargetAlarm(0.05, stored.wealth).after(1)
    assert again.statistic == alarm_path([1, 0, 1], 0.05)[-1]


@given(st.floats(0.001, 0.9), st.lists(st.tuples(st.booleans(), st.floats(0.01, 1))))
def test_evidence_is_never_negative(alpha: float, audits: list[tuple[bool, float]]) -> None:
    path = alarm_path([err for err, _ in audits], alpha, [r for _, r in audits])
    assert all(value >= 0 for value in path)


@pytest.mark.slow
def test_twice_the_target_is_found_in_about_250_audits() -> None:
    errors = np.random.default_rng(8).random((40, 1500)) < 0.10
    waits = [next(n for n, value in enumerate(alarm_path(row, 0.05), 1) if value >= 1000) for row in errors]
    assert 150 < np.median(waits) < 400


@pytest.mark.parametrize(("err", "r"), [(2, 1), (1, 0), (1, 1.1)])
def test_impossible_audits_are_refused(err: float, r: float) -> None:
    with pytest.raises(ValueError, match="err must"):
        TargetAlarm(0.05).after(err, r)


def test_overrides_warn_when_people_change_more() -> None:
    rates = override_rates(20, 400)
    assert rates == pytest.approx((0.05, 0.095))
    assert override_cusum([1] * 10, *rates or (0.1, 0.2))[-1] >= 5


def test_override_baselines() -> None:
    assert override_rates(10, 199) is None
    assert override_rates(0, 500) == pytest.approx((0.005, 0.0275))
    low, high = override_rates(500, 500) or (1, 0)
    assert low < high == 0.95


def test_a_small_shift_of_many_items_is_no_warning() -> None:
    found = psi([100_000, 100_000], [102_000, 98_000])
    assert found.p < 0.001
    assert found.warning == "none"


def test_a_large_shift_is_a_strong_one_but_not_with_few_items() -> None:
    assert psi([500, 500], [200, 800]).warning == "strong"
    assert psi([500, 500], [38, 152]).warning == "none"
    assert psi([500, 500], [340, 660]).warning == "warning"


def test_an_empty_bin_has_a_finite_distance() -> None:
    assert 0 < psi([0, 500], [10, 490]).distance < 1


def test_bins_of_the_baseline_have_equal_mass() -> None:
    conf = np.linspace(0.5, 1, 1000)
    assert bin_counts(conf, equal_mass_edges(conf)).tolist() == [100.0] * 10


def test_ks_needs_distance_and_evidence() -> None:
    base = np.linspace(0, 1, 500)
    assert ks(base, base**3).warning == "warning"
    assert ks(base, base + 0.05).warning == "none"


def test_an_empty_side_is_refused() -> None:
    with pytest.raises(ValueError, match="both sides"):
        psi([0, 0], [1, 1])
    with pytest.raises(ValueError, match="both sides"):
        ks([], [0.5])
