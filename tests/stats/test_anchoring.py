from __future__ import annotations

import pytest
from statsmodels.stats.multitest import multipletests

from apps.stats.anchoring import anchoring, holm


def test_it_works() -> None:
    found = anchoring(470, 500, 88, 100)
    assert found.flagged
    assert found.waved_through == pytest.approx(0.5)


def test_few_blind_answers_raise_no_flag() -> None:
    assert not anchoring(500, 500, 30, 49).flagged


def test_a_gap_too_small_to_matter_raises_no_flag() -> None:
    found = anchoring(99_500, 100_000, 97_500, 100_000)
    assert found.gap is not None
    assert found.gap.low > 0
    assert not found.flagged


def test_an_empty_side_leaves_the_gap_open() -> None:
    found = anchoring(9, 10, 0, 0)
    assert (found.gap, found.p, found.flagged) == (None, None, False)


def test_agreeing_less_when_visible_waves_nothing_through() -> None:
    assert anchoring(80, 100, 95, 100).waved_through is None
    assert anchoring(100, 100, 100, 100).waved_through is None


def test_holm_is_that_of_statsmodels() -> None:
    p = [0.04, 0.001, 0.03, 0.8, 0.03]
    assert holm(p) == pytest.approx(list(multipletests(p, method="holm")[1]))
    assert holm([]) == []
