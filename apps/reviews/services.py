"""A person's answer to a task: taken once, settled, and taken back while its effect has not begun."""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db import transaction

from apps.accounts.models import User
from apps.actions.services import cancel_pending_runs
from apps.core.errors import FieldProblem, InvalidInput
from apps.core.text import unstorable_at
from apps.items.models import Route
from apps.items.selectors import model_values
from apps.reviews.consensus import Stage
from apps.reviews.errors import LeaseLost, NothingToUndo
from apps.reviews.leases import lock_for, lock_person, locked_lease, place_lease
from apps.reviews.models import Answer, Lease, Review, ReviewTask
from apps.reviews.queue import Seeker
from apps.reviews.settling import (
    count_review,
    reopen,
    saw_answers,
    seniors_among,
    verdict_of,
    verdict_of_one,
)
from apps.reviews.settling_at_once import settle_at_once
from apps.workflows.models import Question, Workflow
from apps.workflows.selectors import questions_of

LONGEST_NOTE = 10_000
LONGEST_SAID = 200
LONGEST_SECONDS = 3_600.0


@dataclass(frozen=True, slots=True)
class SubmittedAnswer:
    """`value` is an option id; None with `none_of_these` when the question offers no such option, and with
    `cannot_tell`. `said`: the option proposed, or why one cannot tell; at most 200 characters, dropped elsewhere."""

    value: str | None
    none_of_these: bool = False
    cannot_tell: bool = False
    said: str = ""


@dataclass(frozen=True, slots=True)
class Submitted:
    """`seeker`: who answered, where it is known that nothing else is on their desk."""

    review: Review
    repeated: bool
    seeker: Seeker | None = None


def record_review(
    *,
    user: User,
    lease_token: uuid.UUID,
    answers: Mapping[str, SubmittedAnswer],
    seconds: float | None,
    note: str,
    now: datetime,
    workflow: Workflow | None = None,
) -> Submitted:
    """Records the answer and settles the item when no more are needed.

    The lease token is the idempotency key: the same answer sent twice is one review. Questions that are not asked
    may be answered too. `workflow` is the one through whose address it is answered: there it was checked that the
    person is a member. Raises LeaseLost, or InvalidInput naming the question that is wrong; then nothing has changed.
    The caller has opened a transaction, and has locked nothing.
    """
    try:
        # Of two equal requests one is second.
        lease = locked_lease(user=user, lease_token=lease_token)
    except LeaseLost:
        # An answer takes the lease along.
        first = Review.objects.filter(lease_token=lease_token, user=user).first()
        if first is None:
            raise
        _check_repeats(first, answers, note)
        return Submitted(first, repeated=True)
    task = lease.task
    if workflow is not None:
        _check_belongs(task, workflow)
    questions = _questions_of(task)
    _check(task, questions, answers, note)
    review = Review(
        task=task,
        user=user,
        blind=task.blind,
        seconds=None if seconds is None else min(max(seconds, 0.0), LONGEST_SECONDS),
        note=note,
        lease_token=lease_token,
        created_at=now,
        is_adjudication=_is_to_decide(task, user),
    )
    seeker = _record(lease, review, _to_answers(review, questions, answers), questions)
    return Submitted(review, repeated=False, seeker=seeker)


submit_review = transaction.atomic(record_review)
"""As `record_review`, in a transaction of its own."""


def _record(
    lease: Lease, review: Review, answers: list[Answer], questions: Mapping[str, Question]
) -> Seeker | None:
    task, now = lease.task, review.created_at
    verdict = verdict_of_one(task, answers)
    if verdict is not None:
        return settle_at_once(lease, review, answers, verdict, questions, now=now)
    review.revision = Review.objects.filter(task=task, user=review.user_id).count() + 1
    review.save()
    Answer.objects.bulk_create(answers)
    count_review(task, review, questions, now=now)
    # After the task's row: what goes with the lease reckons with the new numbers.
    lease.delete()
    return None


def _check_belongs(task: ReviewTask, workflow: Workflow) -> None:
    if task.workflow_id != workflow.pk:
        raise LeaseLost("This item belongs to another workflow. Open its desk to answer it.")
    task.workflow = workflow


def _is_to_decide(task: ReviewTask, user: User) -> bool:
    """Whether this answer stands above the others. Of one opinion wanted, a senior's is simply that one,
    unless they had others' in sight before those were taken back."""
    if task.stage == ReviewTask.Stage.ADJUDICATION:
        return True
    if task.stage != ReviewTask.Stage.ESCALATED or not seniors_among(task.workflow_id, [user.pk]):
        return False
    return task.reviews_wanted > 1 or (task.blind and user.pk in saw_answers(task))


def _check_repeats(first: Review, answers: Mapping[str, SubmittedAnswer], note: str) -> None:
    """Only what is in force may be called saved. Raises LeaseLost for anything else."""
    if first.taken_back_at is not None:
        raise LeaseLost("You have taken this answer back. Answer the item again where it is on your desk.")
    questions = _questions_of(first.task)
    known = {key: each for key, each in answers.items() if key in questions}
    given = _to_answers(first, questions, known)
    stored = first.answers.select_related("question")
    if len(known) < len(answers) or (_told(stored), first.note) != (_told(given), note):
        raise LeaseLost("You have already answered this item, and differently. Your first answer counts.")


def _questions_of(task: ReviewTask) -> dict[str, Question]:
    return {each.key: each for each in questions_of(task.question_set_id)}


def _told(answers: Iterable[Answer]) -> dict[str, tuple[str | None, bool, str]]:
    return {
        each.question.key: (each.value, each.kind == Answer.Kind.CANNOT_TELL, each.said) for each in answers
    }


def _check(
    task: ReviewTask, questions: Mapping[str, Question], answers: Mapping[str, SubmittedAnswer], note: str
) -> None:
    problems = [FieldProblem(f"answers.{key}", "needs an answer") for key in task.asked if key not in answers]
    for key, answer in answers.items():
        wrong = _problem_of(questions.get(key), answer) or _unfit(answer.said, LONGEST_SAID)
        if wrong:
            problems.append(FieldProblem(f"answers.{key}", wrong))
    if wrong := _unfit(note, LONGEST_NOTE):
        problems.append(FieldProblem("note", wrong))
    if problems:
        raise InvalidInput(*problems)


def _problem_of(question: Question | None, answer: SubmittedAnswer) -> str:
    if question is None:
        return "is not a question here"
    if answer.value is None and not (answer.none_of_these or answer.cannot_tell):
        return "needs an answer"
    if answer.value is not None and answer.value not in question.option_ids:
        return "is not one of the options"
    return ""


def _unfit(text: str, longest: int) -> str:
    """Why a text cannot be kept as it was typed; "" when it can."""
    if len(text) > longest:
        return f"has {len(text):,} characters; the limit is {longest:,}"
    at = unstorable_at(text)
    return "" if at is None else f"holds a character that cannot be stored at position {at}"


def _to_answers(
    review: Review, questions: Mapping[str, Question], given: Mapping[str, SubmittedAnswer]
) -> list[Answer]:
    suggested = model_values(review.task.route.decision)
    asked = set(review.task.asked)
    return [
        _to_answer(review, questions[key], answer, suggested.get(key), is_asked=key in asked)
        for key, answer in given.items()
    ]


def _to_answer(
    review: Review, question: Question, given: SubmittedAnswer, model_value: str | None, *, is_asked: bool
) -> Answer:
    value = given.value
    if given.none_of_these:
        value = question.none_of_these or None
    if given.cannot_tell:
        kind, value = Answer.Kind.CANNOT_TELL, None
    elif given.none_of_these or (question.none_of_these and value == question.none_of_these):
        # Whether it was picked as an option or by its key, it says the same.
        kind = Answer.Kind.NONE_OF_THESE
    else:
        kind = Answer.Kind.ACCEPT if value == model_value else Answer.Kind.CORRECT
    says_more = kind in (Answer.Kind.NONE_OF_THESE, Answer.Kind.CANNOT_TELL)
    return Answer(
        review=review,
        question=question,
        kind=kind,
        value=value,
        model_value=model_value,
        said=given.said.strip() if says_more else "",
        is_asked=is_asked,
    )


@transaction.atomic
def undo_last_review(*, user: User, workflow: Workflow, now: datetime) -> Lease:
    """Takes back this person's last answer here and puts the task on their desk again.

    Possible while its action has not started (without an action: while it could not have), and while nobody has
    decided, or is deciding, between it and others. The answer and the label stay as history. Raises NothingToUndo,
    saying why.
    """
    lock_person(user)
    last = (
        Review.objects.select_related("task")
        .filter(user=user, task__workflow=workflow, taken_back_at=None)
        .order_by("-created_at", "-id")
        .first()
    )
    if last is None:
        raise NothingToUndo("You have no answer here to take back.")
    task = lock_for(user, last.task_id)
    _check_can_undo(task, last, workflow, now)
    if not Review.objects.filter(pk=last.pk, taken_back_at=None).update(taken_back_at=now):
        raise NothingToUndo("Your last answer has just been taken back.")
    verdict = verdict_of(task)
    if verdict.stage != Stage.REVIEW and not seniors_among(workflow.pk, [user.pk]):
        raise NothingToUndo("The item is a senior’s to decide now, so your answer stays as it is.")
    if verdict.stage == Stage.REVIEW and last.is_adjudication and task.blind and user.pk in saw_answers(task):
        raise NothingToUndo("Other rules for opinions are in force since, so your decision stays as it is.")
    reopen(task, last, verdict, now=now)
    return place_lease(task_id=task.pk, user=user, workflow=workflow)


def _check_can_undo(task: ReviewTask, last: Review, workflow: Workflow, now: datetime) -> None:
    """Cancels the action that the answer had begun. Raises NothingToUndo, saying why not."""
    if Route.objects.filter(pk=task.route_id).exclude(superseded_at=None).exists():
        raise NothingToUndo("The item was routed anew meanwhile, so your answer no longer counts.")
    if not last.is_adjudication:
        _check_nobody_decides(task, last)
    late = now > last.created_at + timedelta(seconds=workflow.undo_s)
    ran = task.kind != ReviewTask.Kind.AUDIT and task.item.action_runs.exclude(status="cancelled").exists()
    # A blind answer is shown beside the model's once it could no longer be taken back, so then it no longer can.
    if late and (task.blind or not ran):
        raise NothingToUndo("Your last answer is too old to take back here.")
    if ran and not cancel_pending_runs(item_id=task.item_id, now=now):
        raise NothingToUndo("The action of your last answer has already started, so it cannot be taken back.")


def _check_nobody_decides(task: ReviewTask, last: Review) -> None:
    """Who decides has this answer in sight: it cannot be another one afterwards."""
    decided = task.reviews.filter(is_adjudication=True, taken_back_at=None).select_related("user").first()
    if decided is not None:
        raise NothingToUndo(f"{decided.user} has decided this item meanwhile, so your answer stays as it is.")
    if task.status == ReviewTask.Status.OPEN and task.stage == ReviewTask.Stage.ADJUDICATION:
        lease = task.leases.exclude(user=last.user_id).select_related("user").first()
        if lease is not None:
            raise NothingToUndo(f"{lease.user} is deciding this item already, so your answer stays as it is.")
