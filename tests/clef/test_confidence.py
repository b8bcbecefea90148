from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from apps.clef.confidence import entropy, largest, peak, spread, squares

# Eleven recorded answers of Workers AI: probabilities, what was reported, then each definition's value.
TABLE = [
    ((0.9664, 0.0135, 0.0058, 0.0143), 0.9126, 0.9125, 0.9552, None, 0.8689, 0.9664),
    ((0.0636, 0.7660, 0.1704), 0.4298, 0.4298, 0.6490, 0.6490, 0.3802, 0.7660),
    ((0.1477, 0.0151, 0.7676, 0.0696), 0.4880, 0.4881, 0.6901, None, 0.4703, 0.7676),
    ((0.8954, 0.1046), 0.6254, 0.6254, 0.7908, None, 0.5166, 0.8954),
    ((0.0505, 0.9355, 0.0140), 0.8170, 0.8169, 0.9032, None, 0.7516, 0.9355),
    ((0.0151, 0.0144, 0.2077, 0.7628), 0.5005, 0.5006, 0.6837, 0.7182, 0.5258, 0.7628),
    ((0.0332, 0.9518, 0.0150), 0.8609, 0.8609, 0.9277, None, 0.7970, 0.9518),
    ((0.1632, 0.8368), 0.4538, 0.4537, 0.6736, None, 0.3581, 0.8368),
    ((0.1762, 0.8088, 0.0150), 0.5281, 0.5281, 0.7132, None, 0.5080, 0.8088),
    ((0.0042, 0.0043, 0.0215, 0.9700), 0.9220, 0.9219, 0.9600, 0.9573, 0.8857, 0.9700),
    ((0.0191, 0.0411, 0.9398), 0.8278, 0.8279, 0.9097, 0.8810, 0.7587, 0.9398),
]


def test_it_works() -> None:
    assert squares((0.8954, 0.1046)) == pytest.approx(0.6254, abs=5e-5)


@pytest.mark.parametrize("row", TABLE)
def test_the_published_comparison_is_reproduced(
    row: tuple[Any, ...],
) -> None:
    p, reported, *expected = row
    values = [squares(p), peak(p), spread(p), entropy(p), largest(p)]
    for value, wanted in zip(values, expected, strict=True):
        assert wanted is None or value == pytest.approx(wanted, abs=1.01e-4)
    assert values[0] == pytest.approx(reported, abs=1.5e-4)


@pytest.mark.parametrize(
    ("value", "reported"),
    [
        (peak((0.95, 0.05, 0, 0)), 0.93),
        (spread((0, 0, 0.22, 0.78)), 0.78),
        (peak((0.16, 0.28, 0.33, 0.23)), 0.10),
        (peak((0.059806, 0.939983, 0.000211)), 0.909974),
        (peak((0.044403, 0.02624, 0.034899, 0.842097, 0.052361)), 0.802621),
    ],
)
def test_other_servers_report_other_definitions(value: float, reported: float) -> None:
    assert value == pytest.approx(reported, abs=0.01)


@settings(deadline=None)  # a busy machine is no failure
@given(weights=st.lists(st.floats(0, 1), min_size=2, max_size=20).filter(lambda weights: sum(weights) > 1e-3))
def test_all_lie_between_even_and_certain(weights: list[float]) -> None:
    p = [weight / math.fsum(weights) for weight in weights]
    for definition in (squares, peak, spread, entropy, largest):
        assert -1e-9 <= definition(p) <= 1 + 1e-9


def test_certain_is_one() -> None:
    for definition in (squares, peak, spread, entropy, largest):
        assert definition((0, 1, 0)) == pytest.approx(1)
