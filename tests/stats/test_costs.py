from __future__ import annotations

import pytest

from apps.stats.costs import cheapest_certified, chow_threshold, cost_decision

FLAT = [[0, 1, 1], [1, 0, 1], [1, 1, 0]]


def test_it_works() -> None:
    found = cost_decision(FLAT, [0.7, 0.2, 0.1], review_cost=0.4)
    assert (found.best, found.automatic) == (0, True)


def test_a_cost_equal_to_the_review_goes_to_a_person() -> None:
    assert not cost_decision(FLAT, [0.5, 0.25, 0.25], review_cost=0.5).automatic


def test_ties_go_to_the_more_probable_label() -> None:
    assert cost_decision([[1, 1], [1, 1]], [0.4, 0.6], review_cost=2).best == 1


def test_the_cheapest_action_may_not_be_the_most_probable() -> None:
    assert cost_decision([[0, 40], [1, 0]], [0.8, 0.2], review_cost=5).best == 1


def test_reviewers_mistakes_make_acting_more_welcome() -> None:
    assert cost_decision(FLAT, [0.5, 0.25, 0.25], 0.4, reviewer_error_cost=0.2).automatic


@pytest.mark.parametrize(("r", "labels", "t"), [(1.5, 4, 0.925), (20, 4, 0.25), (30, None, 0.0), (0, 4, 1.0)])
def test_chow(r: float, labels: int | None, t: float) -> None:
    assert chow_threshold(20, r, labels) == pytest.approx(t)


def test_cost_makes_a_certificate_stricter_never_laxer() -> None:
    assert cheapest_certified([0.93, 0.92, 0.91, 0.90], 0.912) == 0.92
    assert cheapest_certified([0.93, 0.92, 0.91, 0.90], 0.5) == 0.90
    assert cheapest_certified([0.93], 0.95) is None
