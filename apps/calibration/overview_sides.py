"""What the calibration page shows of a hold: both sides of a yes-no question, each with its threshold."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, datetime

from django.utils.http import urlencode

from apps.calibration.charts import Drawing
from apps.calibration.computing import Json, compute
from apps.calibration.counting.evidence import same_gates_but_one_hold
from apps.calibration.curves import Curve, curve_of
from apps.calibration.drawings import draw_label
from apps.calibration.models import CalibrationRun, Certificate
from apps.calibration.overview import slider_data, span_of, words_for
from apps.calibration.side_attempts import sides_in_force
from apps.calibration.sides import HoldInForce, holds_in_force, limits_from
from apps.core.templatetags.fermata import words
from apps.policies.readable import share
from apps.stats.certificates import FORMULA_VERSION
from apps.stats.thresholds import BinCount, counts_by_label, empty_counts
from apps.workflows.models import Question, Workflow


@dataclass(frozen=True, slots=True)
class Side:
    """`entry` is its next attempt with what the newest run counted, `reading` what that run found; `number` names its
    elements."""

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
    """`proposed` are the limits that the certificates in force allow, "" where they are those in force. `read_at` is
    when the run was that `sides` are of; None, and no sides, before the first one of this model, question and other
    gates. `following` is what that run saw of reviewers who may be following the model.
    """

    low: str
    high: str
    sides: tuple[Side, ...]
    proposed: str
    read_at: datetime | None
    following: Json | None


def hold_of(*, workflow: Workflow, question: Question, now: datetime) -> Hold | None:
    """None where the policy in force has no hold on this question. Counts nothing: what sides rest on is read route by
    route, by runs."""
    hold = next(
        (each for each in holds_in_force(workflow=workflow, now=now) if each.question.pk == question.pk), None
    )
    if hold is None:
        return None
    run = _newest_run(hold)
    read = _read_of(run, question) if run else None
    held = sides_in_force(hold.question, hold.model, hold.policy)
    low, high = limits_from(hold)
    return Hold(
        low=share(hold.low),
        high=share(hold.high),
        sides=() if read is None else tuple(_sides(hold, read, held)),
        proposed=f"{share(low)} and {share(high)}" if (low, high) != (hold.low, hold.high) else "",
        read_at=run.created_at if run and read else None,
        following=read.get("following") if read else None,
    )


def _read_of(run: CalibrationRun, question: Question) -> Json | None:
    return next((each for each in run.inputs["holds"] if each["question"] == question.key), None)


def _newest_run(hold: HoldInForce) -> CalibrationRun | None:
    """Of the same question, model and other gates, and computed by the formula there is now."""
    runs = CalibrationRun.objects.filter(
        workflow=hold.policy.workflow_id,
        question_set=hold.question.question_set_id,
        model=hold.model,
        policy__in=same_gates_but_one_hold(hold.policy, hold.question.key),
        formula=FORMULA_VERSION,
        inputs__has_key="holds",
    )
    return runs.defer("results").order_by("-id").first()


def _sides(hold: HoldInForce, read: Json, held: dict[str, Certificate]) -> Iterator[Side]:
    """By what was read, with the attempts and limits there are now."""
    rows = zip(read["labels"], compute(read), hold.asked, strict=True)
    for number, (entry, reading, asked) in enumerate(rows, start=1):
        yield _side(number, hold, entry | asked, reading, held.get(entry["label"]))


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
