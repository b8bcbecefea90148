"""What the desk shows. Everything a blind task must not show is left out here, not in a template."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from zoneinfo import ZoneInfo

from django.db.models import Exists, OuterRef, Q
from django.utils import timezone

from apps.accounts.models import User
from apps.core.db import ClockTimestamp, Seconds, fetch
from apps.items.models import Item
from apps.reviews import shown
from apps.reviews.adjudicating import Adjudication, adjudication_of
from apps.reviews.content import CameIn, came_in
from apps.reviews.keys import Keys, keys_from
from apps.reviews.marking import shown_rules
from apps.reviews.models import Lease, Review, ReviewTask
from apps.reviews.settling import saw_answers
from apps.routing.explain import explain, explain_blind
from apps.routing.maps import map_probabilities
from apps.workflows.models import Question, Workflow
from apps.workflows.selectors import questions_of

MOST_COUNTED = 1_000
"""Counts on the desk stop here and are shown as "1,000+": nobody plans a day by the exact length of a backlog."""


@dataclass(frozen=True, slots=True)
class Chance:
    """What the model gave an option; `mapped` is `p` as the policy's map mends it, None without a map."""

    p: float
    mapped: float | None


@dataclass(frozen=True, slots=True)
class DeskOption:
    id: str
    name: str
    description: str
    is_suggested: bool


@dataclass(frozen=True, slots=True)
class DeskQuestion:
    """The same for every item with the same suggestion: nothing else of what the model said is in it."""

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
    """`chances` by question and option, without those that the person may not see and those of a question to which
    the model gave no answer. `can_escalate`: there are others who may decide what this person cannot.
    `keys` are the person's."""

    task: ReviewTask
    lease: Lease
    item: Item
    came: CameIn
    blind: bool
    model: str
    questions: tuple[DeskQuestion, ...]
    chances: Mapping[str, Mapping[str, Chance]]
    reasons: tuple[str, ...]
    adjudication: Adjudication | None
    has_events: bool
    can_escalate: bool
    keys: Keys

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


_SHOWN = f"""
    SELECT {shown.COLUMNS} FROM reviews_reviewtask task {shown.BESIDE_TASK} WHERE task.id = %(task)s
"""  # noqa: S608 - our own columns


def desk_task(lease: Lease, *, workflow: Workflow | None = None, searched: str = "") -> DeskTask:
    """The task of a lease with all the page shows. A blind one carries no model name, probability or label.

    `workflow`: the task's, where it is at hand. `searched`: what the queue is filtered by, marked in the text.
    """
    row = lease.read_along or fetch(_SHOWN, {"task": lease.task_id, "user": lease.user_id})[0]
    values = iter(row)
    task = _to_task(values, workflow)
    has_mail, has_attachments, has_events, may_decide, own_keys = values
    decision = None if task.blind else task.route.decision
    questions = questions_of(task.question_set_id)
    task.question_set = questions[0].question_set
    rules = shown_rules(task.route.policy_id)
    chances = {} if decision is None else _chances(decision.answers, rules.maps)
    return DeskTask(
        task=task,
        lease=lease,
        item=task.item,
        came=came_in(
            task.item,
            top_fields=task.workflow.top_fields,
            phrases=() if task.blind else rules.phrases,
            searched=searched,
            has_mail=has_mail,
            has_attachments=has_attachments,
        ),
        blind=task.blind,
        model="" if decision is None else decision.model,
        questions=tuple(
            _to_desk_question(question, question.key in task.asked, chances.get(question.key, {}))
            for question in questions
        ),
        chances=chances,
        reasons=tuple(explain_blind() if task.blind else _reasons(task, questions)),
        adjudication=adjudication_of(task, questions) if _decides(lease, task) else None,
        has_events=has_events,
        can_escalate=not may_decide,
        keys=keys_from(own_keys),
    )


def _decides(lease: Lease, task: ReviewTask) -> bool:
    """Whether it was put on this desk to be decided. Who had it before that, and whose hold has ended by it, still has
    a page that asks for the item."""
    return task.stage == ReviewTask.Stage.ADJUDICATION and lease.user_id in saw_answers(task)


def _to_task(values: Iterator[Any], workflow: Workflow | None) -> ReviewTask:
    task = shown.TASK.take(values)
    task.item = shown.ITEM.take(values)
    task.item.content = shown.CONTENT.take(values)
    task.route, decision = shown.ROUTE.take(values), shown.DECISION.take(values)
    task.route.decision = decision if task.route.decision_id is not None else None
    if workflow is not None:
        task.workflow = task.item.workflow = workflow
    return task


def _reasons(task: ReviewTask, questions: Sequence[Question]) -> list[str]:
    return explain(task.route.reasons, names_of(questions), currency=task.workflow.currency)


def names_of(questions: Sequence[Question]) -> dict[str, str]:
    """What sentences call things: options by id, questions by "question:<key>"."""
    names = {f"question:{question.key}": question.key.replace("_", " ") for question in questions}
    for question in questions:
        if question.kind == Question.Kind.CHOICE:
            names |= question.option_names
    return names


def _to_desk_question(question: Question, is_asked: bool, chances: Mapping[str, Chance]) -> DeskQuestion:
    suggestion = max(question.option_ids, key=lambda option: chances[option].p) if chances else None
    return DeskQuestion(
        key=question.key,
        kind=question.kind,
        instructions=question.instructions,
        is_asked=is_asked,
        is_routing=question.is_routing,
        options=tuple(
            DeskOption(
                id=option["id"],
                name=option["name"],
                description=option.get("description", ""),
                is_suggested=option["id"] == suggestion,
            )
            for option in question.options
        ),
        suggestion=suggestion,
        none_of_these=question.none_of_these,
    )


def _chances(answers: dict[str, Any], maps: Mapping[str, Any]) -> dict[str, dict[str, Chance]]:
    return {key: _chances_of(dict(answer["probabilities"]), maps.get(key)) for key, answer in answers.items()}


def _chances_of(given: dict[str, float], by: Mapping[str, Any] | None) -> dict[str, Chance]:
    if by is None:
        return {option: Chance(p, None) for option, p in given.items()}
    mapped = map_probabilities(list(given.values()), by["t"])
    return {option: Chance(p, mended) for (option, p), mended in zip(given.items(), mapped, strict=True)}


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
