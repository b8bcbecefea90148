"""The charts of the calibration pages: numbers in, drawings out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from apps.calibration.charts import Axis, Drawing, Mark, to_percent
from apps.calibration.counting.counts import Band
from apps.calibration.curves import Curve
from apps.calibration.quality_measures import CurvePoint
from apps.stats.probability import HOLLOW_BELOW, Reliability
from apps.stats.rates import Rate
from apps.stats.thresholds import GRID

ALL_SHARES = Axis("Share of all items, the most probable first")
_TOP_TICKS = (0.5, 0.99, 0.9, 0.95, 0.8, 0.7, 0.6)


@dataclass(frozen=True, slots=True)
class Words:
    """What a chart is of, and where its numbers come from: both are part of the drawing."""

    of: str
    source: str

    @property
    def with_intervals(self) -> str:
        return f"{self.source} · 95 % intervals"


def draw_reliability(found: Reliability, words: Words) -> Drawing:
    """Each bin's mean probability against how often people agreed, with its interval; the diagonal is exact."""
    lowest = min((min(each.confidence, each.accuracy.low or 0.0) for each in found.bins), default=0.5)
    said = Axis.down_to("Mean probability the model gave", lowest)
    true = Axis.down_to("Share people agreed with", lowest)
    drawing = Drawing(
        caption=f"Reliability: {words.of}",
        about=_about_reliability(found),
        source=words.with_intervals,
        x=said,
        y=true,
    )
    drawing.curve([(said.low, said.low), (1, 1)], "ideal")
    for each in found.bins:
        if each.accuracy.value is None or each.accuracy.low is None or each.accuracy.high is None:
            continue
        drawing.whisker(each.confidence, each.accuracy.low, each.accuracy.high)
        says = f"{_one(each.confidence)} said, {_says(each.accuracy)} agreed, {each.items} answers"
        drawing.mark(each.confidence, each.accuracy.value, says, is_hollow=each.is_hollow)
    drawing.legend(("dot", "a bin of answers"), ("ideal", "exact probabilities"))
    if any(each.is_hollow for each in found.bins):
        drawing.legend(("hollow", f"under {HOLLOW_BELOW} answers"))
    return drawing


def draw_bands(bands: Sequence[Band], words: Words) -> Drawing:
    """A label's reliability. Reviews and checks are apart: pooled without weights they would mislead."""
    shown = [
        (band, rate, mark)
        for band in bands
        for rate, mark in ((band.reviewed, "dot"), (band.audited, "square"))
        if rate.value is not None
    ]
    lowest = min((1 - (rate.high or 0.0) for _, rate, _ in shown), default=0.5)
    true = Axis.down_to("Share people agreed with", lowest)
    # All below the grid is one band, drawn no wider than the next: the others have the room.
    is_below = any(band.low < GRID[0] for band, _, _ in shown)
    said = Axis("Probability the model gave", 0.4 if is_below else 0.5, 1.0, 0.1)
    drawing = Drawing(
        caption=f"Reliability: {words.of}",
        about="How often people agreed where the model's probability lay in a band; reviews and blind checks apart.",
        source=words.with_intervals,
        x=said,
        y=true,
    )
    least = max(said.low, true.low)
    drawing.curve([(least, least), (1, 1)], "ideal")
    for band, rate, mark in shown:
        _draw_band(drawing, band, rate, "dot" if mark == "dot" else "square")
    drawing.legend(
        ("dot", "reviews"),
        ("square", "blind checks"),
        ("ideal", "exact probabilities"),
        ("hollow", f"under {HOLLOW_BELOW} answers"),
    )
    return drawing


def draw_coverage(curve: Sequence[CurvePoint], words: Words) -> Drawing:
    """The error among the most probable share of all items, from the few to all of them."""
    risk = Axis.up_to("Error among them", max((each.risk.value or 0.0 for each in curve), default=0) * 1.4)
    last = curve[-1] if curve else None
    drawing = Drawing(
        caption=f"Risk and coverage: {words.of}",
        about=f"The error among the most probable items; {_says(last.risk)} among all."
        if last
        else "No answers yet.",
        source=words.with_intervals,
        x=ALL_SHARES,
        y=risk,
        has_top_ticks=True,
    )
    drawing.band([(each.coverage, each.risk.low or 0.0, each.risk.high or 0.0) for each in curve])
    drawing.curve([(each.coverage, each.risk.value or 0.0) for each in curve], "estimate")
    drawing.top_ticks(_crossings(curve))
    drawing.legend(("estimate", "error, weighted"), ("band", "95 % interval"))
    return drawing


def draw_label(curve: Curve, words: Words) -> Drawing:
    """How much a label's threshold lets through against how wrong that may be."""
    seen = [step for step in curve.steps if step.items]
    most = max(
        [3 * curve.target, *(step.error * 1.2 for step in seen if step.error is not None)],
        default=3 * curve.target,
    )
    drawing = Drawing(
        caption=f"Automation and error: {words.of}",
        about=_about_label(curve),
        source=words.source,
        x=Axis("Share of the label's items that would act by themselves"),
        y=Axis.up_to("Decided otherwise among them", most),
        has_top_ticks=True,
    )
    shares = {step.threshold: curve.share(step).value or 0.0 for step in curve.steps}
    shaded = curve.certified or curve.supported
    if shaded and seen:
        drawing.certified(shares[max(shaded)], shares[min(shaded)])
    drawing.curve([(0, curve.target), (1, curve.target)], "target")
    drawing.curve([(shares[step.threshold], step.bound) for step in reversed(seen)], "bound")
    drawing.curve(
        [(shares[step.threshold], step.error) for step in reversed(seen) if step.error is not None],
        "estimate",
    )
    drawing.top_ticks(
        (shares[value], f"from {to_percent(value)}") for value in _TOP_TICKS if shares[value] > 0
    )
    drawing.force(shares[GRID[curve.in_force_index]])
    drawing.chosen()
    drawing.legend(
        ("bound", "upper bound"),
        ("estimate", "estimate"),
        ("target", f"target, {to_percent(curve.target)}"),
        ("force", f"in force, {to_percent(curve.in_force)}"),
    )
    if shaded:
        drawing.legend(("certified", "certified" if curve.certified else "supported, not certified"))
    return drawing


def _draw_band(drawing: Drawing, band: Band, rate: Rate, mark: Mark) -> None:
    """Beside each other, so that equal shares do not hide one another."""
    moved = -3 if mark == "dot" else 3
    agreed, low, high = 1 - (rate.value or 0.0), 1 - (rate.high or 0.0), 1 - (rate.low or 0.0)
    middle = (max(band.low, drawing.x.low) + band.high) / 2
    drawing.stretch(band.low, band.high, agreed, mark)
    drawing.whisker(middle, low, high, mark, moved=moved)
    who = "reviews" if mark == "dot" else "checks"
    says = f"{to_percent(band.low)} to {to_percent(band.high)}: {_one(agreed)} of {rate.denominator} {who} agreed"
    drawing.mark(middle, agreed, says, mark, is_hollow=rate.denominator < HOLLOW_BELOW, moved=moved)


def _crossings(curve: Sequence[CurvePoint]) -> list[tuple[float, str]]:
    """Where the curve passes round probabilities."""
    found = []
    for value in _TOP_TICKS:
        above = [each.coverage for each in curve if each.confidence >= value]
        if above and above[-1] < 1:
            found.append((above[-1], f"from {to_percent(value)}"))
    return found


def _about_reliability(found: Reliability) -> str:
    if found.ece is None or found.reference is None:
        return "Too few answers for a calibration error."
    return (
        f"{len(found.bins)} bins. Calibration error {_one(found.ece)}; "
        f"exact probabilities would show about {_one(found.reference)} by chance."
    )


def _about_label(curve: Curve) -> str:
    step = curve.steps[curve.in_force_index]
    share = curve.share(step).value
    if share is None:
        return "No items yet."
    return (
        f"From {to_percent(step.threshold)} on, {_one(share)} of the items act by themselves and at most "
        f"{_one(step.bound)} of those would be decided otherwise; {step.wrong} of {step.labelled} answers were."
    )


def _one(share: float) -> str:
    return f"{share * 100:.1f} %"


def _says(rate: Rate) -> str:
    if rate.value is None or rate.low is None or rate.high is None:
        return rate.reason or "unknown"
    return f"{_one(rate.value)} ({_one(rate.low)} to {_one(rate.high)})"
