"""How good the model's probabilities are, question by question, in the form of every other figure."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

from apps.calibration.quality import Quality, quality
from apps.calibration.quality_measures import Score
from apps.insights.metrics_values import Figure, Window, count
from apps.stats.rates import NO_DATA, Rate
from apps.workflows.models import Question, Workflow


def by_question(workflow: Workflow, window: Window, now: datetime) -> Iterator[Quality]:
    """Of the questions asked now, in their order. Days that the window cuts count whole; without a start it is
    the last eight weeks."""
    zone = ZoneInfo(workflow.time_zone)
    start, end = window.start, window.end
    questions = Question.objects.filter(question_set__workflow=workflow, question_set__is_current=True)
    for question in questions.select_related("question_set"):
        yield quality(
            workflow=workflow,
            question=question,
            now=now,
            start_on=None if start is None else start.astimezone(zone).date(),
            end_on=None if end is None else (end - timedelta(microseconds=1)).astimezone(zone).date(),
        )


def quality_figures(found: Quality) -> dict[str, Figure | Rate]:
    """Weighted by 1 / pi, all but `answers` and what compares people; see recalibration.md section 1."""
    measures, people = found.probabilities, found.people
    gap = found.following.anchoring.gap
    return {
        "answers": count(found.items),
        "answers_to_automatic": count(found.automatic_items),
        "answers_outstanding": count(found.waiting),
        "covered": found.covered,
        "error": found.error,
        "automatic_error": found.automatic_error,
        "brier": _of(measures.brier, "brier"),
        "log_loss": _of(measures.log_loss, "nats"),
        "log_loss_clipped": count(measures.clipped),
        "ece": _of(measures.ece, "ece"),
        "ece_by_chance": _of(
            Score(measures.reliability.reference, measures.ece.items, measures.ece.reason), "ece"
        ),
        "aurc": _of(measures.aurc, "aurc"),
        "aurc_excess": _of(measures.excess, "aurc"),
        "mistake_cost": _of(
            Score(found.confusion.cost_per_item, found.items, None if found.items else NO_DATA), "cost"
        ),
        "people_agreement": people.agreement,
        "people_kappa": _between(
            people.kappa.value,
            people.items,
            "kappa",
            people.kappa.low,
            people.kappa.high,
            people.kappa.reason,
        ),
        "people_alpha": _between(
            people.alpha.value,
            people.items,
            "alpha",
            people.alpha.low,
            people.alpha.high,
            people.alpha.reason,
        ),
        "visible_blind_gap": _between(None, 0, "share", None, None, "no answers of both kinds")
        if gap is None
        else _between(gap.value, found.items, "share", gap.low, gap.high, None),
    }


def about(found: Quality) -> dict[str, Any]:
    """What the figures are of. `to` is null where too little is answered for any day to count."""
    return {
        "kind": found.question.kind,
        "model": found.model,
        "from": found.start_on.isoformat(),
        "to": None if found.end_on is None else found.end_on.isoformat(),
        "newest_only": found.is_cut,
        "reviewers_may_follow_model": found.following.anchoring.flagged,
    }


def _of(score: Score, unit: str) -> Figure:
    return Figure(score.value, score.items, unit, score.reason, exact=False)


def _between(
    value: float | None, of: int, unit: str, low: float | None, high: float | None, reason: str | None
) -> Figure:
    return Figure(value, of, unit, reason, exact=False, low=low, high=high)
