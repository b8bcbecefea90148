"""Every number about a workflow, made here once: the overview, the API and exports show the very same.

Formulas and rules: recalibration.md, section 1. An item counts on the day it came in or was
routed, an answer on the day it was given, both by the workflow's time zone. Only routes in force count.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import date, datetime
from typing import Any

from apps.core.errors import FieldProblem, InvalidInput
from apps.core.templatetags.fermata import words
from apps.insights import metrics_flow as flow
from apps.insights import metrics_people as people
from apps.insights import metrics_quality as quality
from apps.insights.metrics_values import (
    CONFIDENCE_EDGES,
    GROUPS,
    Figure,
    Key,
    Window,
    bin_ends,
    count,
    measured,
)
from apps.reviews.exports_formats import to_rfc3339
from apps.stats.anchoring import Anchoring
from apps.stats.rates import Rate
from apps.workflows.models import Question, Workflow

Figures = dict[str, Figure | Rate]
NO_ANSWER = "No answer of the model"


@dataclass(frozen=True, slots=True)
class Group:
    """`key` as in the data: an option's id, a username, a day, the ends of a bin, a question's key; `name` is for
    people. `about` says what a question's figures are of."""

    key: str | None
    name: str
    figures: Figures
    about: dict[str, Any] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        shape = {"key": self.key, "name": self.name, "metrics": _to_json(self.figures)}
        return shape | ({"about": self.about} if self.about else {})


@dataclass(frozen=True, slots=True)
class WorkflowMetrics:
    workflow: Workflow
    window: Window
    group: str | None
    models: list[str]
    figures: Figures
    anchoring: Anchoring
    waiting: list[flow.Waiting]
    groups: list[Group]

    def to_json(self) -> dict[str, Any]:
        start, end = self.window.start, self.window.end
        return {
            "workflow": self.workflow.slug,
            "from": None if start is None else to_rfc3339(start),
            "to": None if end is None else to_rfc3339(end),
            "time_zone": self.workflow.time_zone,
            "models": self.models,
            "metrics": _to_json(self.figures),
            "reviewers_may_follow_model": self.anchoring.flagged,
            "waiting": [
                {
                    "reason": each.reason or None,
                    "items": each.items,
                    "next_try_at": None if each.next_try_at is None else to_rfc3339(each.next_try_at),
                }
                for each in self.waiting
            ],
            "group": self.group,
            "groups": [group.to_json() for group in self.groups],
        }


def _to_json(figures: Figures) -> dict[str, Any]:
    return {name: figure.to_json() for name, figure in figures.items()}


def workflow_metrics(
    *,
    workflow: Workflow,
    start: datetime | None,
    end: datetime | None,
    group: str | None = None,
    now: datetime,
) -> WorkflowMetrics:
    """All of them over [start, end), None leaving an end open, and by `group` (one of `GROUPS`) when given.

    What is true "now" (backlog, open audits) disregards the window. Raises InvalidInput for an unknown group.
    """
    if group is not None and group not in GROUPS:
        raise InvalidInput(FieldProblem("group", f"must be one of {', '.join(GROUPS)}"))
    window = Window(start, end)
    tally = people.tallies(workflow, window).get(None, people.Tally())
    return WorkflowMetrics(
        workflow=workflow,
        window=window,
        group=group,
        models=flow.models_asked(workflow, window),
        figures={
            **_arrivals(workflow, window, now),
            **tally.figures(),
            **people.left_out(workflow, window),
            **review_figures(workflow, window),
            **flow.action_runs(workflow, window),
            **flow.decisions(workflow, window),
        },
        anchoring=tally.anchoring(),
        waiting=flow.waiting(workflow),
        groups=_groups(workflow, window, group, now),
    )


def tile_figures(workflow: Workflow, window: Window, now: datetime) -> tuple[Figures, Anchoring]:
    """The few figures that the overview asks for again every ten seconds."""
    tally = people.tallies(workflow, window).get(None, people.Tally())
    return {**_arrivals(workflow, window, now), **tally.figures()}, tally.anchoring()


def review_figures(workflow: Workflow, window: Window) -> Figures:
    """How many answers people gave, and the median time of one."""
    return people.review_seconds(workflow, window).get(None, _no_reviews())


def _arrivals(workflow: Workflow, window: Window, now: datetime) -> Figures:
    return {
        "items_in": flow.items_in(workflow, window),
        **flow.routed(workflow, window).get(None, flow.Routed()).figures(),
        **flow.standing(workflow, now),
    }


def _no_reviews() -> Figures:
    return {"reviews": count(0), "review_seconds_median": measured(None, 0, "s")}


def _groups(workflow: Workflow, window: Window, group: str | None, now: datetime) -> list[Group]:
    if group == "question":
        return questions(workflow, window, now)
    return grouped(workflow, window, group) if group else []


def questions(workflow: Workflow, window: Window, now: datetime) -> list[Group]:
    """How good the probabilities are, for each question asked now."""
    return [
        Group(each.question.key, words(each.question.key), quality.quality_figures(each), quality.about(each))
        for each in quality.by_question(workflow, window, now)
    ]


def grouped(workflow: Workflow, window: Window, group: str) -> list[Group]:
    """By all but questions: the groups that have anything to show, and every label that is asked about now."""
    routed = {} if group == "reviewer" else flow.routed(workflow, window, group)
    tallies = people.tallies(workflow, window, group)
    seconds = people.review_seconds(workflow, window, group)
    asked, names = _label_names(workflow) if group == "label" else ([], {})
    return [
        Group(
            *_named(group, key, names),
            {
                **({} if group == "reviewer" else routed.get(key, flow.Routed()).figures()),
                **tallies.get(key, people.Tally()).figures(),
                **seconds.get(key, _no_reviews()),
            },
        )
        for key in _in_order({*routed, *tallies, *seconds}, asked)
    ]


def _label_names(workflow: Workflow) -> tuple[list[str], dict[str, str]]:
    """The labels asked about now, and what the labels of every version are called (the newest name wins)."""
    questions = Question.objects.filter(question_set__workflow=workflow, is_routing=True)
    now: list[str] = []
    names: dict[str, str] = {}
    for question in questions.select_related("question_set").order_by("question_set__version"):
        names |= question.option_names
        now = question.option_ids if question.question_set.is_current else now
    return now, names


def _in_order(keys: set[Key], first: list[str]) -> Iterable[Key]:
    """`first` as it stands, the rest by itself; what has no key comes last."""
    rest = sorted((key for key in keys if key is not None and key not in first), key=_by_itself)
    return [*first, *rest, *([None] if None in keys else [])]


def _by_itself(key: Key) -> tuple[str, Any]:
    return type(key).__name__, key


def _named(group: str, key: Key, names: dict[str, str]) -> tuple[str | None, str]:
    if key is None:
        return None, NO_ANSWER
    if group == "confidence" and isinstance(key, int):
        low, high = bin_ends(key)
        until = "100 %" if key == len(CONFIDENCE_EDGES) else f"under {high * 100:.0f} %"
        return f"{low:.2f}-{high:.2f}", f"{low * 100:.0f} % to {until}"
    if isinstance(key, date):
        return key.isoformat(), f"{key:%a} {key.day} {key:%b %Y}"
    return str(key), names.get(str(key), str(key))
