from __future__ import annotations

import pytest

from apps.stats.confusion import Confusion, confusion

LABELS = ["a", "b", "c"]
COST = [[0, 5, 20], [3, 0, 20], [1, 1, 0]]


def example(weights: list[float] | None = None) -> Confusion:
    return confusion(["a", "a", "b", "b"], ["a", "b", "b", "a"], LABELS, weights)


def test_it_works() -> None:
    assert example().weighted.tolist() == [[1, 1, 0], [1, 1, 0], [0, 0, 0]]


def test_rows_are_predicted() -> None:
    found = confusion(["a", "a", "b"], ["a", "b", "b"], LABELS)
    assert (found.precision("a").value, found.recall("a").value) == (0.5, 1.0)
    assert found.total_cost(COST) == 5


def test_empty_rows_and_columns_are_open() -> None:
    assert (example().precision("c").value, example().recall("c").value) == (None, None)


def test_weights_count_and_raw_counts_stay() -> None:
    found = example([1, 20, 1, 1])
    assert (found.weighted[0, 1], found.raw[0, 1]) == (20, 1)
    assert found.precision("a").value == pytest.approx(1 / 21)
    assert found.precision("a").denominator == pytest.approx(21**2 / 401)


def test_overrides_are_of_raw_answers() -> None:
    assert example([1, 20, 1, 1]).overrides.value == 0.5


def test_no_answers_cost_nothing_known() -> None:
    assert confusion([], [], LABELS).mean_cost(COST) is None


def test_strange_labels_and_tables_are_refused() -> None:
    with pytest.raises(ValueError, match="'z'"):
        confusion(["z"], ["a"], LABELS)
    with pytest.raises(ValueError, match="shape"):
        example().mean_cost([[0]])
