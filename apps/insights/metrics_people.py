"""What people answered against what the model had said.

Only the question that picks the action counts here. Out of every figure: answers taken back, those to a route
that another one replaced (their label is taken back too), "cannot tell", answers where the model had given none,
those that nobody asked for, and an adjudicator's, who saw the others'. Blind and visible answers are never pooled,
nor are audits of automatic items with reviews: each of the three has its own numerator and denominator.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np
from django.db.models import Case, Count, Exists, F, OuterRef, Q, QuerySet, Value, When

from apps.insights import metrics_counts as counts
from apps.insights.metrics_values import Figure, Key, Percentiles, Window, count, key_of, measured
from apps.reviews.models import Answer, Review, ReviewTask
from apps.stats.anchoring import Anchoring, anchoring
from apps.stats.rates import Rate, rate
from apps.stats.sampling import weighted_rate
from apps.workflows.models import Workflow

_ROUTE = "review__task__route__"
_TASK = "review__task__"
_KIND = Case(
    # Where several opinions are the rule, nothing about blindness was drawn: as with shadow reviews.
    When(
        **{f"{_TASK}kind": "routine", f"{_TASK}reviews_wanted__gt": 1, f"{_TASK}blind_pi": 1},
        then=Value("shadow"),
    ),
    default=F(f"{_TASK}kind"),
)


@dataclass(slots=True)
class Tally:
    """Agreed and answered, by whether the model's answer was hidden; wrong and answered audits by their chance."""

    visible: list[int] = field(default_factory=lambda: [0, 0])
    blind: list[int] = field(default_factory=lambda: [0, 0])
    routine_blind: list[int] = field(default_factory=lambda: [0, 0])
    audits: dict[float, list[int]] = field(default_factory=lambda: defaultdict(lambda: [0, 0]))

    def figures(self) -> dict[str, Figure | Rate]:
        (seen, of_seen), (hidden, of_hidden) = self.visible, self.blind
        return {
            "override_rate_visible": rate(of_seen - seen, of_seen),
            "override_rate_blind": rate(of_hidden - hidden, of_hidden),
            "agreement_visible": rate(seen, of_seen),
            "agreement_blind": rate(hidden, of_hidden),
            "audit_error": audit_error(self.audits),
            "audits_answered": count(sum(n for _, n in self.audits.values())),
        }

    def anchoring(self) -> Anchoring:
        """Only reviews whose mode was drawn compare: what is blind by rule stays out."""
        return anchoring(*self.visible, *self.routine_blind)


def audit_error(audits: dict[float, list[int]]) -> Rate:
    """Wrong of answered audits. Drawn at one rate that is a plain share; at several, Hajek's with 1 / pi."""
    if len(audits) <= 1:
        wrong, answered = next(iter(audits.values()), (0, 0))
        return rate(wrong, answered)
    weights = [1 / pi for pi, (_, answered) in audits.items() for _ in range(answered)]
    errors = np.concatenate([np.arange(answered) < wrong for wrong, answered in audits.values()])
    return weighted_rate(weights, errors)


def _answers(workflow: Workflow, window: Window) -> QuerySet[Answer]:
    return Answer.objects.filter(
        window.holds("review__created_at"),
        review__task__workflow=workflow,
        review__task__route__superseded_at=None,
        review__taken_back_at=None,
        review__is_adjudication=False,
        is_asked=True,
        question__is_routing=True,
    )


def _usable(answers: QuerySet[Answer]) -> QuerySet[Answer]:
    return answers.filter(model_value__isnull=False).exclude(kind=Answer.Kind.CANNOT_TELL)


def _first_of_each_item(workflow: Workflow, answers: QuerySet[Answer]) -> QuerySet[Answer]:
    """Rates are of items: where several people answered one, the first usable answer counts, on its own day."""
    every = _usable(_answers(workflow, Window()))
    earlier = every.filter(review__task=OuterRef("review__task"), review__lt=OuterRef("review"))
    return answers.filter(Q(review__task__reviews_needed=1) | ~Exists(earlier))


def tallies(workflow: Workflow, window: Window, group: str | None = None) -> dict[Key, Tally]:
    """By the group's key, under None when there is no group. Days are those of the answers.

    Among reviewers each person's every answer counts, so that the sum over people can exceed the whole.
    """
    if days := counts.whole_days(workflow, window):
        return _to_tallies(counts.answers(days, group))
    answers = _usable(_answers(workflow, window))
    if group != "reviewer":
        answers = _first_of_each_item(workflow, answers)
    key = key_of(
        group, route=_ROUTE, reviewer="review__user__username", at="review__created_at", workflow=workflow
    )
    rows = (
        answers.annotate(key=key, task_kind=_KIND, hidden=F("review__blind"), pi=F(f"{_ROUTE}pi"))
        .values_list("key", "task_kind", "hidden", "pi")
        .order_by()
        .annotate(n=Count("*"), agreed=Count(Value(1), filter=Q(value=F("model_value"))))
    )
    return _to_tallies(rows)


def _to_tallies(rows: Iterable[tuple[Key, str, bool, float, int, int]]) -> dict[Key, Tally]:
    found: dict[Key, Tally] = defaultdict(Tally)
    for key, kind, blind, pi, n, agreed in rows:
        tally = found[key]
        if kind == ReviewTask.Kind.AUDIT:
            _add(tally.audits[pi], n - agreed, n)
            continue
        _add(tally.blind if blind else tally.visible, agreed, n)
        if blind and kind == ReviewTask.Kind.ROUTINE:
            _add(tally.routine_blind, agreed, n)
    return dict(found)


def _add(pair: list[int], part: int, whole: int) -> None:
    pair[0] += part
    pair[1] += whole


def left_out(workflow: Workflow, window: Window) -> dict[str, Figure | Rate]:
    """Answers that are in no rate, so that nobody wonders where they went."""
    if days := counts.whole_days(workflow, window):
        cannot_tell, without_model = counts.left_out(days)
    else:
        row = _answers(workflow, window).aggregate(
            cannot_tell=Count(Value(1), filter=Q(kind=Answer.Kind.CANNOT_TELL)),
            without_model=Count(Value(1), filter=Q(model_value=None) & ~Q(kind=Answer.Kind.CANNOT_TELL)),
        )
        cannot_tell, without_model = row["cannot_tell"], row["without_model"]
    return {"answers_cannot_tell": count(cannot_tell), "answers_without_model": count(without_model)}


def review_seconds(
    workflow: Workflow, window: Window, group: str | None = None
) -> dict[Key, dict[str, Figure | Rate]]:
    """Answers given, and the median time from shown to answered, of every kind of task."""
    if days := counts.whole_days(workflow, window):
        rows = counts.reviews(days, group)
    else:
        rows = _reviews(workflow, window, group)
    return {
        key: {
            "reviews": count(n),
            "review_seconds_median": measured(median, timed, "s", "no answer was timed"),
        }
        for key, n, timed, median in rows
    }


def _reviews(
    workflow: Workflow, window: Window, group: str | None
) -> list[tuple[Key, int, int, float | None]]:
    key = key_of(group, route="task__route__", reviewer="user__username", at="created_at", workflow=workflow)
    rows = (
        Review.objects.filter(window.holds("created_at"), task__workflow=workflow, taken_back_at=None)
        .annotate(key=key)
        .values_list("key")
        .order_by()
        .annotate(n=Count("*"), timed=Count("seconds"), median=Percentiles(F("seconds"), [0.5]))
    )
    return [(key, n, timed, median[0] if median else None) for key, n, timed, median in rows]
