from __future__ import annotations

from dataclasses import replace
from datetime import date
from typing import Any
from xml.etree import ElementTree as ET

import numpy as np
import pytest

from apps.calibration.counting.counts import Band, LabelCounts
from apps.calibration.curves import Curve, curve_of, steps_of
from apps.calibration.drawings import Words, draw_bands, draw_coverage, draw_label, draw_reliability
from apps.calibration.quality_measures import CurvePoint
from apps.stats.probability import reliability
from apps.stats.rates import rate
from apps.stats.thresholds import GRID, BinCount, empty_counts, two_stratum_bounds

WORDS = Words("Spam", "1 Oct 2026 · answers of standin-ngram-1")
ROWS = (
    BinCount("spam", 0, "reviewed", 50, 50, 20, 50.0),
    BinCount("spam", 31, "reviewed", 100, 100, 4, 100.0),
    BinCount("spam", 46, "audited", 1000, 200, 1, 200.0),
)
COUNTED = LabelCounts(ROWS, date(2026, 10, 1), date(2026, 11, 20))


def curve(**more: Any) -> Curve:
    return replace(curve_of(COUNTED.counts, items=1150, delta=0.05, in_force=0.9, target=0.05), **more)


def looks(svg: str) -> list[str]:
    return [each.get("class", "") for each in ET.fromstring(svg).iter()]  # noqa: S314 - drawn by this very test


def test_it_works() -> None:
    svg = draw_label(curve(certified=(0.9, 0.8)), WORDS).to_svg()
    assert {"chart-bound", "chart-estimate", "chart-target", "chart-force", "chart-certified"} <= set(
        looks(svg)
    )
    assert "From 90 % on, 87.0 % of the items act by themselves" in svg
    assert "in force, 90 %" in svg
    assert "supported, not certified" not in svg


def test_every_bound_is_the_one_certificates_use() -> None:
    bounds = [step.bound for step in steps_of(COUNTED.counts, 0.03)]
    assert bounds == two_stratum_bounds(COUNTED.counts, 0.03).tolist()
    assert [step.threshold for step in curve().steps] == list(GRID)


def test_shares_are_of_all_the_labels_items() -> None:
    found = curve()
    lowest = found.share(found.steps[0])
    assert (lowest.numerator, lowest.denominator, lowest.exact) == (1100, 1150, True)


def test_a_threshold_off_the_grid_is_rounded_up() -> None:
    assert GRID[curve(in_force=0.901).in_force_index] == 0.91
    assert GRID[curve(in_force=0.9999).in_force_index] == GRID[-1]
    assert GRID[curve(in_force=0.2).in_force_index] == 0.5


def test_a_reading_is_not_called_certified() -> None:
    found = curve(supported=(0.9,))
    assert "supported, not certified" in draw_label(found, WORDS).to_svg()
    assert [found.standing(step) for step in found.steps if step.threshold in (0.9, 0.91)] == [
        "supported",
        "",
    ]


def test_a_label_without_items_has_a_chart() -> None:
    found = curve_of(empty_counts(), items=0, delta=0.05, in_force=0.9, target=0.05)
    svg = draw_label(found, WORDS).to_svg()
    assert "No items yet." in svg
    # The one of the legend.
    assert looks(svg).count("chart-bound") == 1


def test_reviews_and_checks_are_apart() -> None:
    bands = [Band(0.8, 0.9, 40, rate(4, 40), rate(0, 3)), Band(0.9, 0.95, 10, rate(0, 0), rate(1, 50))]
    found = looks(draw_bands(bands, WORDS).to_svg())
    # One more of each stands in the legend.
    assert [found.count(f"chart-{look}") for look in ("dot", "square", "hollow-square")] == [2, 2, 1]


@pytest.mark.parametrize("answers", [60, 2000])
def test_reliability_has_a_mark_a_bin(answers: int) -> None:
    confidence = np.linspace(0.5, 0.99, answers)
    found = reliability(confidence, np.arange(answers) % 10 > 0, bins=8)
    shown = looks(draw_reliability(found, WORDS).to_svg())
    hollow = sum(each.is_hollow for each in found.bins)
    assert hollow == (8 if answers == 60 else 0)
    assert shown.count("chart-dot") == 8 - hollow + 1
    assert shown.count("chart-hollow") == (hollow + 1 if hollow else 0)


def test_coverage_says_where_thresholds_would_cut() -> None:
    points = [
        CurvePoint(0.95, 0.4, rate(1, 100)),
        CurvePoint(0.7, 0.8, rate(6, 200)),
        CurvePoint(0.4, 1, rate(20, 250)),
    ]
    svg = draw_coverage(points, WORDS).to_svg()
    assert "from 90 %" in svg
    assert "8.0 % (5.2 % to 12.0 %) among all" in svg
    assert "from 99 %" not in svg
