"""What the calibration page shows of each label and each question, put together from what others measured."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import date

from django.db.models import Count, Q
from django.utils.http import urlencode

from apps.calibration.certs import promises_enough
from apps.calibration.charts import Drawing
from apps.calibration.computing import Json
from apps.calibration.counting.counts import LabelCounts
from apps.calibration.curves import Curve, curve_of
from apps.calibration.drawings import Words, draw_bands, draw_coverage, draw_label, draw_reliability
from apps.calibration.looking import Look
from apps.calibration.models import CalibrationRun, Certificate
from apps.calibration.quality import Quality
from apps.calibration.quality_measures import ConfusionCell
from apps.policies.readable import isolated, share
from apps.routing.types import Autonomy
from apps.stats.certificates import Step
from apps.stats.rates import Rate, rate, unknown
from apps.workflows.models import Question, Workflow

MOST_CARDS = 8
"""With more labels a page shows one at a time: each has two charts and a table of every threshold."""
MOST_ATTEMPTS = 12
MOST_RUNS = 10
MOST_CELLS = 100
_MOST_READ = 400


@dataclass(frozen=True, slots=True)
class Tried:
    """One attempt; `span` is what it certified, "" for nothing."""

    certificate: Certificate
    span: str


@dataclass(frozen=True, slots=True)
class Card:
    """A label with its numbers as people read them; `number` is its place, which names its elements.

    `entry` and `reading` are what a run at this moment would be given and find. `certificate` is the one in
    force, `history` the newest attempts. `certified` and `supported` are "" where nothing is.
    """

    number: int
    label: str
    name: str
    entry: Json
    settings: Json
    reading: Json
    evidence: LabelCounts
    curve: Curve
    certificate: Certificate | None
    history: tuple[Tried, ...]
    reviewed: Rate
    audited: Rate

    @property
    def standing(self) -> str:
        """ "certified"; "weaker" when for less than is asked now; "other" when only other thresholds than the one
        in force are; "open"; or "none"."""
        if self.entry["refusal"]:
            return "none"
        if self.certificate is None:
            return "open"
        if not promises_enough(self.certificate, self.entry):
            return "weaker"
        return "certified" if self.entry["threshold"] in self.certificate.certified else "other"

    @property
    def acts(self) -> bool:
        return Autonomy(self.entry["autonomy"]).may_act

    @property
    def query(self) -> str:
        """Names this card's charts."""
        return f"?{urlencode({'label': self.label})}"

    @property
    def slider_id(self) -> str:
        return f"slider-{self.number}"

    @property
    def threshold(self) -> str:
        return share(self.entry["threshold"])

    @property
    def target(self) -> str:
        return share(self.entry["target_error"])

    @property
    def asked_for(self) -> str:
        return _promise(self.entry["target_error"], self.settings)

    @property
    def issued_for(self) -> str:
        issued = self.certificate
        return _promise(issued.target_error, issued.run.inputs["settings"]) if issued else ""

    @property
    def certified(self) -> str:
        return span_of(self.certificate.certified) if self.certificate else ""

    @property
    def supported(self) -> str:
        return span_of(self.reading["certified"])

    @property
    def progress(self) -> float | None:
        needed = self.reading.get("needed")
        return self.reading["labelled"] / needed if needed else None

    @property
    def walked(self) -> list[tuple[str, Step, bool]]:
        """The thresholds that the reading tested, and whether each passed."""
        steps = [Step(**step) for step in self.reading["steps"]]
        return [(share(step.threshold), step, step.threshold in self.reading["certified"]) for step in steps]

    @property
    def steps(self) -> list[tuple[str, Step, Rate, str]]:
        """Every threshold that lets anything through, with the share it does and its standing."""
        return [
            (share(step.threshold), step, self.curve.share(step), self.curve.standing(step))
            for step in reversed(self.curve.steps)
            if step.items
        ]


def cards_of(found: Look, history: Mapping[str, tuple[Tried, ...]]) -> list[Card]:
    results = {result["label"]: result for result in found.results}
    return [
        _card(number, found, entry, results[entry["label"]], history.get(entry["label"], ()))
        for number, entry in enumerate(found.inputs["labels"], start=1)
    ]


def history_of(workflow: Workflow, question: Question) -> dict[str, tuple[Tried, ...]]:
    """The newest attempts of each label, of earlier models and gates as well; of the newest 400 in all."""
    newest = (
        Certificate.objects.filter(workflow=workflow, question__key=question.key)
        .defer("steps")
        .order_by("-issued_at", "-id")[:_MOST_READ]
    )
    found: dict[str, list[Tried]] = {}
    for certificate in newest:
        mine = found.setdefault(certificate.label, [])
        if len(mine) < MOST_ATTEMPTS:
            mine.append(Tried(certificate, span_of(certificate.certified)))
    return {label: tuple(mine) for label, mine in found.items()}


@dataclass(frozen=True, slots=True)
class RunRow:
    """A run, how many attempts it made and how many of them certified something."""

    run: CalibrationRun
    tried: int
    certified: int


def newest_runs(workflow: Workflow) -> list[RunRow]:
    runs = CalibrationRun.objects.filter(workflow=workflow).defer("inputs", "results")
    newest = list(runs.select_related("started_by", "proposal").order_by("-id")[:MOST_RUNS])
    counts = Certificate.objects.filter(run__in=newest).order_by().values_list("run")
    passed = Count("id", filter=Q(outcome=Certificate.Outcome.CERTIFIED))
    found = {
        pk: (tried, certified) for pk, tried, certified in counts.annotate(tried=Count("id"), passed=passed)
    }
    return [RunRow(run, *found.get(run.pk, (0, 0))) for run in newest]


def _card(number: int, found: Look, entry: Json, reading: Json, history: tuple[Tried, ...]) -> Card:
    label = entry["label"]
    evidence = found.counted.get(label) or LabelCounts((), date.fromisoformat(entry["start_on"]), None)
    certificate = found.certificates.get(label)
    return Card(
        number=number,
        label=label,
        name=entry["name"],
        entry=entry,
        settings=found.inputs["settings"],
        reading=reading,
        evidence=evidence,
        curve=curve_of(
            evidence.counts,
            items=sum(row.items for row in evidence.rows),
            delta=entry["delta"],
            in_force=entry["threshold"],
            target=entry["target_error"],
            certified=certificate.certified if certificate and promises_enough(certificate, entry) else (),
            supported=reading["certified"],
        ),
        certificate=certificate,
        history=history,
        reviewed=_sum(band.reviewed for band in evidence.bands),
        # Pooled over bands, checks drawn at unequal rates would need weights.
        audited=unknown("audit rates differed: see each band")
        if evidence.thinned_to is not None
        else _sum(band.audited for band in evidence.bands),
    )


def _promise(target_error: float, settings: Json) -> str:
    scope = f"all {settings['labels']} labels at once" if settings["scope"] == "all_labels" else "each label"
    return f"{share(target_error)} at {share(settings['confidence'])} confidence for {scope}"


def span_of(certified: Iterable[float]) -> str:
    """Lowest to highest, as people read it."""
    values = sorted(certified)
    if not values:
        return ""
    return share(values[0]) if len(values) == 1 else f"{share(values[0])} to {share(values[-1])}"


def _sum(rates: Iterable[Rate]) -> Rate:
    kept = list(rates)
    return rate(sum(each.numerator for each in kept), sum(each.denominator for each in kept))


# Charts of a card and of a question, by the names that their files have.


def words_for(name: str, start_on: date, end_on: date | None, model: str | None) -> Words:
    """The stand-in names itself in its model's name, so no chart of its answers passes for another's."""
    until = f" to {_day(end_on)}" if end_on else ""
    return Words(isolated(name), f"{_day(start_on)}{until}\nAnswers of {model or 'no model yet'}")


def label_charts(card: Card, model: str | None) -> dict[str, Drawing]:
    words = words_for(card.name, card.evidence.start_on, card.evidence.end_on, model)
    return {"label": draw_label(card.curve, words), "bands": draw_bands(card.evidence.bands, words)}


def question_charts(found: Quality) -> dict[str, Drawing]:
    """Those that answers suffice for."""
    words = words_for(found.question.key, found.start_on, found.end_on, found.model)
    measured = found.probabilities
    drawn = {}
    if measured.reliability.bins:
        drawn["reliability"] = draw_reliability(measured.reliability, words)
    if measured.curve:
        drawn["coverage"] = draw_coverage(measured.curve, words)
    return drawn


def confusion_rows(found: Quality) -> list[tuple[str, str, ConfusionCell]]:
    """(what the model said, what people said, the cell) by name: mistakes first, the dearest on top."""
    names = found.confusion.names
    return [(names[cell.predicted], names[cell.true], cell) for cell in found.confusion.cells[:MOST_CELLS]]


def slider_data(curve: Curve, drawing: Drawing) -> Json:
    """What the page's slider needs for each grid value, the places in the drawing included."""
    return {
        "start": curve.in_force_index,
        "steps": [_slide(curve, step, drawing) for step in curve.steps],
    }


def _slide(curve: Curve, step: Step, drawing: Drawing) -> Json:
    portion = curve.share(step)
    return {
        "from": share(step.threshold),
        "items": step.items,
        "of": curve.items,
        "share": portion.value,
        "bound": step.bound,
        "wrong": step.wrong,
        "labelled": step.labelled,
        "standing": curve.standing(step),
        "within": step.bound <= curve.target,
        "x": drawing.across(portion.value or 0.0),
        "y": drawing.upwards(step.bound),
    }


def _day(day: date) -> str:
    return f"{day.day} {day:%b %Y}"
