"""The whole story of one item, oldest first: what was decided, where it went, who said what, what it did."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from apps.accounts.models import User
from apps.actions.models import ActionRun, ItemTag
from apps.core.db import ClockTimestamp
from apps.insights.replay import Replay, replays_of
from apps.insights.telling import (
    GateTold,
    QuestionTold,
    option_name,
    to_gates,
    to_questions,
    told_reasons,
)
from apps.items.models import Decision, Item, ItemContent, Route
from apps.reviews.adjudicating import told_value
from apps.reviews.models import Answer, Label, Lease, Review, ReviewTask, Skip, TaskEvent
from apps.reviews.queue_page import events_of
from apps.reviews.selectors import is_hidden_from, names_of
from apps.workflows.models import Question, QuestionSet

Names = dict[str, str]


@dataclass(frozen=True, slots=True)
class Event:
    """`kind` names the template that tells it (`insights/_told_<kind>.html`), `tone` its colour."""

    at: datetime
    kind: str
    tone: str
    told: Any


@dataclass(frozen=True, slots=True)
class DecisionTold:
    decision: Decision
    questions: tuple[QuestionTold, ...]
    reply: str

    @property
    def latency_ms(self) -> int:
        return round(self.decision.latency_s * 1_000)


@dataclass(frozen=True, slots=True)
class RouteTold:
    route: Route
    label: str
    sentences: tuple[str, ...]
    gates: tuple[GateTold, ...]
    replays: tuple[Replay, ...]


@dataclass(frozen=True, slots=True)
class TaskTold:
    """`leases` are live ones: whose desk it is on now."""

    task: ReviewTask
    asked: tuple[str, ...]
    leases: tuple[Lease, ...]
    skips: tuple[Skip, ...]
    passed_on: tuple[TaskEvent, ...]


@dataclass(frozen=True, slots=True)
class AnswerTold:
    answer: Answer
    question: str
    value: str
    model_value: str


@dataclass(frozen=True, slots=True)
class ReviewTold:
    review: Review
    answers: tuple[AnswerTold, ...]


@dataclass(frozen=True, slots=True)
class LabelTold:
    label: Label
    question: str
    value: str


@dataclass(frozen=True, slots=True)
class Story:
    """When the item is hidden from the person there is content, and nothing that was decided about it."""

    item: Item
    content: ItemContent
    is_hidden: bool
    model: str
    tags: tuple[ItemTag, ...]
    events: tuple[Event, ...]

    @property
    def is_waiting(self) -> bool:
        return self.item.status == Item.Status.RECEIVED


def item_story(*, user: User, item: Item) -> Story:
    """All there is of the item that this person may know now; `item` comes with content and workflow."""
    if is_hidden_from(user=user, item=item):
        return Story(item, item.content, True, "", (), ())
    decisions = list(
        Decision.objects.filter(item=item)
        .select_related("payload", "endpoint", "question_set")
        .order_by("id")
    )
    names = _names_by_version(item)
    # Rows of one transaction carry the same time: they are told in the order in which one follows from another.
    events = [
        *_decisions(decisions, _maps_by_decision(item)),
        *_routes(item, names),
        *_tasks(item),
        *_reviews(item),
        *_labels(item),
        *_runs(item),
    ]
    return Story(
        item=item,
        content=item.content,
        is_hidden=False,
        model=decisions[-1].model if decisions else "",
        tags=tuple(ItemTag.objects.filter(item=item).order_by("created_at", "id")),
        events=tuple(sorted(events, key=lambda event: event.at)),
    )


def _names_by_version(item: Item) -> dict[int, Names]:
    versions = QuestionSet.objects.filter(workflow=item.workflow_id).prefetch_related("questions")
    return {version.pk: names_of(list(version.questions.all())) for version in versions}


def _maps_by_decision(item: Item) -> dict[int, dict[str, Any]]:
    """Of the policy that routed it last."""
    routed = Route.objects.filter(item=item, decision__isnull=False).order_by("id")
    return {pk: maps or {} for pk, maps in routed.values_list("decision_id", "policy__rules__maps")}


def _decisions(decisions: list[Decision], maps: dict[int, dict[str, Any]]) -> Iterator[Event]:
    for decision in decisions:
        payload = getattr(decision, "payload", None)
        told = DecisionTold(
            decision, to_questions(decision, maps.get(decision.pk, {})), payload.reply if payload else ""
        )
        yield Event(decision.created_at, "decision", "", told)


def _routes(item: Item, names: dict[int, Names]) -> Iterator[Event]:
    routes = Route.objects.filter(item=item).select_related("decision", "policy", "question_set")
    for route in routes.order_by("id"):
        known = names[route.question_set_id]
        told = RouteTold(
            route=route,
            label=option_name(known, route.label),
            sentences=told_reasons(route, known, currency=item.workflow.currency),
            gates=to_gates(route, known),
            replays=replays_of(route=route, item=item),
        )
        yield Event(
            route.created_at,
            "route",
            "is-good" if route.outcome == Route.Outcome.AUTOMATIC else "is-held",
            told,
        )


def _tasks(item: Item) -> Iterator[Event]:
    live = Lease.objects.filter(task__item=item, expires_at__gt=ClockTimestamp()).select_related("user")
    skips = Skip.objects.filter(task__item=item).select_related("user").order_by("created_at")
    tasks = ReviewTask.objects.filter(item=item).prefetch_related("question_set__questions").order_by("id")
    leases, skipped = list(live), list(skips)
    for task in tasks:
        told = TaskTold(
            task=task,
            asked=tuple(task.asked),
            leases=tuple(lease for lease in leases if lease.task_id == task.pk),
            skips=tuple(skip for skip in skipped if skip.task_id == task.pk),
            passed_on=tuple(events_of(task)),
        )
        yield Event(task.created_at, "task", "is-held" if task.status == ReviewTask.Status.OPEN else "", told)


def _reviews(item: Item) -> Iterator[Event]:
    reviews = Review.objects.filter(task__item=item).select_related("user", "task")
    for review in reviews.prefetch_related("answers__question").order_by("id"):
        answers = tuple(map(_to_answer, review.answers.all()))
        yield Event(review.created_at, "review", "", ReviewTold(review, answers))


def _to_answer(answer: Answer) -> AnswerTold:
    return AnswerTold(
        answer=answer,
        question=answer.question.key,
        value=told_value(answer.question, answer),
        model_value="" if answer.model_value is None else _value_name(answer.question, answer.model_value),
    )


def _labels(item: Item) -> Iterator[Event]:
    labels = Label.objects.filter(item=item).select_related("question", "question_set", "review__user")
    for label in labels.order_by("id"):
        told = LabelTold(label, label.question.key, _value_name(label.question, label.value))
        yield Event(label.created_at, "label", "is-good" if label.taken_back_at is None else "", told)


def _value_name(question: Question, value: str | None) -> str:
    return "None of these" if value is None else question.option_names.get(value, value)


_RUN_TONES = {"verified": "is-good", "failed": "is-bad", "unknown": "is-bad"}


def _runs(item: Item) -> Iterator[Event]:
    for run in ActionRun.objects.filter(item=item).select_related("action").order_by("id"):
        yield Event(run.created_at, "run", _RUN_TONES.get(run.status, ""), run)
