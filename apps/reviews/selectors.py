"""What the desk shows. Everything a blind task must not show is left out here, not in a template."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from zoneinfo import ZoneInfo

from django.db.models import Exists, F, OuterRef, Q
from django.utils import timezone

from apps.accounts.models import User
from apps.core.db import ClockTimestamp, Seconds
from apps.items.models import Item
from apps.reviews.adjudicating import Adjudication, adjudication_of
from apps.reviews.content import CameIn, came_in
from apps.reviews.marking import rule_phrases
from apps.reviews.models import Lease, Review, ReviewTask
from apps.routing.explain import explain, explain_blind
from apps.routing.maps import map_probabilities
from apps.workflows.models import Question, Workflow

MOST_COUNTED = 1_000
"""Counts on the desk stop here and are shown as "1,000+": nobody plans a day by the exact length of a backlog."""


@dataclass(frozen=True, slots=True)
class DeskOption:
    """`p` is None when the person may not see it, or when the model gave no answer; `mapped` is `p` as the policy's
    map mends it, None without a map."""

    id: str
    name: str
    description: str
    p: float | None
    mapped: float | None
    is_suggested: bool


@dataclass(frozen=True, slots=True)
class DeskQuestion:
    key: str
    kind: str
    instructions: str
    is_asked: bool
    is_routing: bool
    options: tuple[DeskOption, ...]
    suggestion: str | None
    none_of_these: str


@dataclass(frozen=True, slots=True)
class DeskTask:
    task: ReviewTask
    lease: Lease
    item: Item
    came: CameIn
    blind: bool
    model: str
    questions: tuple[DeskQuestion, ...]
    reasons: tuple[str, ...]
    adjudication: Adjudication | None

    @property
    def stage(self) -> str:
        return self.task.stage

    @property
    def asked(self) -> tuple[DeskQuestion, ...]:
        return tuple(question for question in self.questions if question.is_asked)

    @property
    def unasked(self) -> tuple[DeskQuestion, ...]:
        """There to read, and answered by who wants to."""
        return tuple(question for question in self.questions if not question.is_asked)


def desk_task(lease: Lease, *, searched: str = "") -> DeskTask:
    """The task of a lease with all the page shows. A blind one carries no model name, probability or label.

    `searched`: what the queue is filtered by, marked in the text.
    """
    task = (
        ReviewTask.objects.select_related("item__content", "route__decision", "question_set", "workflow")
        .prefetch_related("question_set__questions")
        .annotate(maps=F("route__policy__rules__maps"), overrides=F("route__policy__rules__overrides"))
        .get(pk=lease.task_id)
    )
    decision = None if task.blind else task.route.decision
    answers = {} if decision is None else decision.answers
    maps = task.maps or {}
    questions = list(task.question_set.questions.all())
    return DeskTask(
        task=task,
        lease=lease,
        item=task.item,
        came=came_in(
            task.item,
            top_fields=task.workflow.top_fields,
            phrases=() if task.blind else rule_phrases(task.overrides),
            searched=searched,
        ),
        blind=task.blind,
        model="" if decision is None else decision.model,
        questions=tuple(
            _to_desk_question(question, task.asked, answers.get(question.key), maps.get(question.key))
            for question in questions
        ),
        reasons=tuple(explain_blind() if task.blind else _reasons(task, questions)),
        adjudication=adjudication_of(task, questions)
        if task.stage == ReviewTask.Stage.ADJUDICATION
        else None,
    )


def _reasons(task: ReviewTask, questions: Sequence[Question]) -> list[str]:
    return explain(task.route.reasons, names_of(questions), currency=task.workflow.currency)


def names_of(questions: Sequence[Question]) -> dict[str, str]:
    """What sentences call things: options by id, questions by "question:<key>"."""
    names = {f"question:{question.key}": question.key.replace("_", " ") for question in questions}
    for question in questions:
        if question.kind == Question.Kind.CHOICE:
            names |= question.option_names
    return names


def _to_desk_question(
    question: Question, asked: Sequence[str], answer: dict[str, Any] | None, by: dict[str, Any] | None
) -> DeskQuestion:
    chances = dict(answer["probabilities"]) if answer else {}
    mapped = {} if by is None or not chances else _mapped(chances, by["t"])
    suggestion = max(question.option_ids, key=lambda option: chances[option]) if chances else None
    return DeskQuestion(
        key=question.key,
        kind=question.kind,
        instructions=question.instructions,
        is_asked=question.key in asked,
        is_routing=question.is_routing,
        options=tuple(
            DeskOption(
                id=option["id"],
                name=option["name"],
                description=option.get("description", ""),
                p=chances.get(option["id"]),
                mapped=mapped.get(option["id"]),
                is_suggested=option["id"] == suggestion,
            )
            for option in question.options
        ),
        suggestion=suggestion,
        none_of_these=question.none_of_these,
    )


def _mapped(chances: dict[str, float], t: float) -> dict[str, float]:
    return dict(zip(chances, map_probabilities(list(chances.values()), t), strict=True))


def start_of_day(workflow: Workflow, now: datetime) -> datetime:
    local = timezone.localtime(now, ZoneInfo(workflow.time_zone))
    return local.replace(hour=0, minute=0, second=0, microsecond=0)


def hidden_from(user: User) -> Q:
    """Tasks whose model answer and colleagues' answers this person must not see yet, anywhere.

    They may be asked for a blind answer of their own: the task is blind, and open without an answer of theirs, or with
    one so young that it can be taken back: who had looked meanwhile would answer anew, but not blind. So it is with a
    task that was closed lately.
    """
    since = ClockTimestamp() - Seconds(OuterRef("workflow__undo_s"))
    stays = Review.objects.filter(task=OuterRef("pk"), user=user, taken_back_at=None, created_at__lte=since)
    is_open = Q(status=ReviewTask.Status.OPEN) & ~Q(Exists(stays))
    can_reopen = Q(
        status=ReviewTask.Status.DONE, closed_at__gt=ClockTimestamp() - Seconds("workflow__undo_s")
    )
    return Q(blind=True) & (is_open | can_reopen)


def hidden_items(user: User, item_ids: Collection[int]) -> set[int]:
    """Those of the items whose model answer must stay out of this person's sight."""
    tasks = ReviewTask.objects.filter(hidden_from(user), item__in=item_ids)
    return set(tasks.values_list("item_id", flat=True))


def is_hidden_from(*, user: User, item: Item) -> bool:
    """Whether this item's model answer, route and labels must stay out of this person's sight."""
    return ReviewTask.objects.filter(hidden_from(user), item=item).exists()
