"""Charts as files: the drawing as SVG, the numbers behind it as CSV. The browser makes a PNG of the SVG."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from django.http import HttpResponse

from apps.calibration.charts import Drawing
from apps.calibration.curves import Curve
from apps.calibration.overview import Card
from apps.calibration.quality import Quality

Rows = Iterable[Mapping[str, Any]]
FORMATS = {"svg": "image/svg+xml", "csv": "text/csv; charset=utf-8"}


def chart_file(form: str, name: str, drawing: Drawing, rows: Rows) -> HttpResponse:
    """`name` without its ending; `form` is one of FORMATS."""
    content = drawing.to_svg() if form == "svg" else to_csv(rows)
    disposition = f'attachment; filename="{name}.{form}"'
    return HttpResponse(content, content_type=FORMATS[form], headers={"Content-Disposition": disposition})


def to_csv(rows: Rows) -> str:
    """Numbers only, unknown ones empty; nothing in it was written by people, so no cell can be a formula."""
    kept = list(rows)
    target = io.StringIO()
    writer = csv.DictWriter(target, list(kept[0]) if kept else ["no_data"])
    writer.writeheader()
    writer.writerows(kept)
    return target.getvalue()


def reliability_rows(found: Quality) -> Rows:
    for each in found.probabilities.reliability.bins:
        yield {
            "answers": each.items,
            "mean_probability": each.confidence,
            "agreed": each.accuracy.value,
            "agreed_low": each.accuracy.low,
            "agreed_high": each.accuracy.high,
            "effective_answers": each.accuracy.denominator,
            "share_of_all_items": each.share,
        }


def coverage_rows(found: Quality) -> Rows:
    for each in found.probabilities.curve:
        yield {
            "from_probability": each.confidence,
            "share_of_all_items": each.coverage,
            "error": each.risk.value,
            "error_low": each.risk.low,
            "error_high": each.risk.high,
            "effective_answers": each.risk.denominator,
        }


def label_rows(card: Card) -> Rows:
    return curve_rows(card.curve)


def curve_rows(curve: Curve) -> Rows:
    for step in reversed(curve.steps):
        yield {
            "from_probability": step.threshold,
            "items": step.items,
            "items_of_label": curve.items,
            "upper_bound": step.bound,
            "estimate": step.error,
            "reviewed_items": step.reviewed_items,
            "reviewed_answers": step.reviewed_labelled,
            "reviewed_otherwise": step.reviewed_wrong,
            "automatic_items": step.audited_items,
            "checked_answers": step.audited_labelled,
            "checked_otherwise": step.audited_wrong,
            "never_checkable_items": step.uncovered_items,
            "standing": curve.standing(step),
        }


def band_rows(card: Card) -> Rows:
    for band in card.evidence.bands:
        yield {
            "from_probability": band.low,
            "to_probability": band.high,
            "items": band.items,
            "reviewed_answers": band.reviewed.denominator,
            "reviewed_otherwise": band.reviewed.numerator,
            "checked_answers": band.audited.denominator,
            "checked_otherwise": band.audited.numerator,
        }


QUESTION_CHARTS: dict[str, Callable[[Quality], Rows]] = {
    "reliability": reliability_rows,
    "coverage": coverage_rows,
}
LABEL_CHARTS: dict[str, Callable[[Card], Rows]] = {"label": label_rows, "bands": band_rows}
