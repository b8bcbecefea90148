"""What the calibration page shows of a hold: both sides of a yes-no question, each with its threshold."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, datetime

from django.utils.http import urlencode

from apps.calibration.charts import Drawing
from apps.calibration.computing import Json
from apps.calibration.curves import Curve, curve_of
from apps.calibration.drawings import draw_label
from apps.calibration.models import Certificate
from apps.calibration.overview import slider_data, span_of, words_for
from apps.calibration.side_attempts import sides_in_force
from apps.calibration.sides import HoldInForce, holds_in_force, limits_from, look_at_hold
from apps.core.templatetags.fermata import words
from apps.policies.readable import share
from apps.stats.thresholds import BinCount, counts_by_label, empty_counts
from apps.workflows.models import Question, Workflow


@dataclass(frozen=True, slots=True)
class Side:
    """`entry` and `reading` are what a run at this moment would be given and find; `number` names its elements."""

    number: int
    entry: Json
    reading: Json
    certificate: Certificate | None
    curve: Curve
    drawing: Drawing

    @property
    def certified(self) -> str:
        return span_of(self.certificate.certified) if self.certificate else ""

    @property
    def supported(self) -> str:
        return span_of(self.reading["certified"])

    @property
    def threshold(self) -> str:
        return share(round(self.entry["threshold"], 12))

    @property
    def slider(self) -> Json:
        return slider_data(self.curve, self.drawing)

    @property
    def query(self) -> str:
        """Names this side's chart."""
        return f"?{urlencode({'question': self.entry['question'], 'label': self.entry['label']})}"

    @property
    def slider_id(self) -> str:
        return f"slider-{self.number}"


@dataclass(frozen=True, slots=True)
class Hold:
    """`proposed` are the limits that the certificates in force allow, "" where they are those in force."""

    low: str
    high: str
    sides: tuple[Side, ...]
    proposed: str


def hold_of(*, workflow: Workflow, question: Question, now: datetime) -> Hold | None:
    """None where the policy in force has no hold on this question."""
    hold = next(
        (each for each in holds_in_force(workflow=workflow, now=now) if each.question.pk == question.pk), None
    )
    if hold is None:
        return None
    found = look_at_hold(hold, now)
    held = sides_in_force(hold.question, hold.model, hold.policy)
    low, high = limits_from(hold)
    return Hold(
        low=share(hold.low),
        high=share(hold.high),
        sides=tuple(
            _side(number, hold, entry, reading, held.get(entry["label"]))
            for number, (entry, reading) in enumerate(zip(found.entries, found.results, strict=True), start=1)
        ),
        proposed=f"{share(low)} and {share(high)}" if (low, high) != (hold.low, hold.high) else "",
    )


def _side(number: int, hold: HoldInForce, entry: Json, reading: Json, held: Certificate | None) -> Side:
    rows = [BinCount(entry["label"], *row) for row in entry["rows"]]
    curve = curve_of(
        counts_by_label(rows).get(entry["label"]) or empty_counts(),
        items=sum(row.items for row in rows),
        delta=entry["delta"],
        in_force=entry["threshold"],
        target=entry["target_error"],
        certified=held.certified if held else (),
        supported=reading["certified"],
    )
    start_on = date.fromisoformat(entry["start_on"])
    end_on = date.fromisoformat(entry["end_on"]) if entry["end_on"] else None
    name = f"{words(hold.question.key)}, {entry['name']}"
    drawing = draw_label(curve, words_for(name, start_on, end_on, hold.model))
    return Side(number, entry, reading, held, curve, drawing)
