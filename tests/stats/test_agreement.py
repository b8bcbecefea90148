from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from statsmodels.stats.inter_rater import cohens_kappa

from apps.stats.agreement import answer_table, equal_pair_share, human_agreement, kappa, krippendorff_alpha
from apps.stats.intervals import Floats

tables = arrays(np.float64, (3, 3), elements=st.integers(1, 60))
RATINGS: list[list[str | None]] = [["a", "a", "b", "b", "c", None], ["a", "b", "b", "b", "c", "c"]]


def test_it_works() -> None:
    found = kappa([[20, 5], [10, 15]])
    assert (found.agreement.value, found.value) == pytest.approx((0.7, 0.4))


@given(tables, st.booleans())
def test_kappa_and_its_interval_are_those_of_statsmodels(table: Floats, quadratic: bool) -> None:
    found = kappa(table, quadratic=quadratic)
    expected = cohens_kappa(table, wt="quadratic" if quadratic else None)
    wanted = (expected.kappa, expected.kappa_low, expected.kappa_upp)
    assert (found.value, found.low, found.high) == pytest.approx(wanted, abs=1e-9)


def test_one_label_only_leaves_kappa_open_but_not_the_agreement() -> None:
    found = kappa([[5, 0], [0, 0]])
    assert (found.value, found.agreement.value) == (None, 1.0)
    assert found.reason == "only one answer was ever used"


def test_no_answers_leave_both_open() -> None:
    assert (kappa([[0, 0], [0, 0]]).value, kappa([[0, 0], [0, 0]]).agreement.value) == (None, None)


def test_an_answer_outside_the_labels_is_refused() -> None:
    with pytest.raises(ValueError, match="not both among"):
        answer_table(["a"], ["z"], ["a", "b"])


def test_pairs() -> None:
    assert equal_pair_share(["a", "a", "b"]) == pytest.approx(1 / 3)
    assert equal_pair_share(["a"]) is None


def test_human_agreement_leaves_single_answers_out() -> None:
    found = human_agreement([["a", "a"], ["b", "c"], ["a"]])
    assert (found.value, found.denominator) == (0.5, 2)


def test_nobody_answered_twice() -> None:
    assert human_agreement([["a"], []]).value is None


def test_alpha_has_an_interval_that_can_be_repeated() -> None:
    found = krippendorff_alpha(RATINGS, "nominal")
    assert found == krippendorff_alpha(RATINGS, "nominal")
    assert found.low is not None
    assert found.high is not None
    assert found.low < 0.709677 < found.high <= 1


def test_alpha_of_perfect_agreement_is_one() -> None:
    assert krippendorff_alpha([[1, 2, 3], [1, 2, 3]], "ordinal", draws=0).value == 1


@pytest.mark.parametrize("ratings", [[["a", "a"], ["a", "a"]], [["a", None], [None, "b"]], []])
def test_alpha_is_open_without_two_answers_or_two_values(ratings: list[list[str | None]]) -> None:
    found = krippendorff_alpha(ratings, "nominal")
    assert found.value is None
    assert found.reason
