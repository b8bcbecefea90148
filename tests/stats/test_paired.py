from __future__ import annotations

import pytest

from apps.stats.paired import Pairs, mcnemar_p, paired_gap


def test_it_works() -> None:
    # The paper's example: 36, 12, 2, 0 of 50, method 10.
    gap = paired_gap(Pairs(36, 12, 2, 0))
    assert (gap.value, round(gap.low, 4), round(gap.high, 4)) == (0.2, 0.0569, 0.3404)


def test_four_against_three_tells_nothing() -> None:
    assert mcnemar_p(Pairs(40, 4, 3, 5)) == 1.0


def test_the_exact_p_is_binomial() -> None:
    assert mcnemar_p(Pairs(40, 8, 1, 0)) == pytest.approx(2 * (1 + 9) / 512)


def test_never_differing_is_no_evidence() -> None:
    assert mcnemar_p(Pairs(50, 0, 0, 2)) == 1.0
    assert paired_gap(Pairs(50, 0, 0, 2)).value == 0


def test_turned_round_it_is_the_opposite() -> None:
    one, other = paired_gap(Pairs(30, 9, 4, 7)), paired_gap(Pairs(30, 4, 9, 7))
    assert (one.low, one.high) == pytest.approx((-other.high, -other.low))


def test_an_all_right_model_against_an_all_wrong_one() -> None:
    gap = paired_gap(Pairs(0, 20, 0, 0))
    assert (gap.value, gap.high) == (1.0, 1.0)
    assert 0.7 < gap.low < 1


def test_nothing_compared_is_refused() -> None:
    with pytest.raises(ValueError, match="at least one"):
        paired_gap(Pairs(0, 0, 0, 0))
