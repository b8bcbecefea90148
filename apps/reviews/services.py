"""A person's answer to a task: taken once, settled, and taken back while its effect has not begun."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db import transaction
from django.db.models import F

from apps.accounts.models import User
from apps.actions.services import begin_run, cancel_pending_runs
from apps.core.errors import FieldProblem, InvalidInput
from apps.core.text import unstorable_at
from apps.items.models import Item, Route
from apps.items.selectors import model_values
from apps.outbox.events import ITEM_SETTLED
from apps.outbox.services import withdraw
from apps.reviews.errors import LeaseLost, NothingToUndo
from apps.reviews.leases import lock_person, locked_lease, place_lease
from apps.reviews.models import Answer, Label, Lease, Review, ReviewTask
from apps.reviews.telling import tell_settled
from apps.workflows.models import Question, Workflow

LONGEST_NOTE = 10_000
LONGEST_SECONDS = 3_600.0


@dataclass(frozen=True, slots=True)
class SubmittedAnswer:
    """`value` is an option id; None with `none_of_these` when the question offers no such option."""

    value: str | None
    none_of_these: bool = False


@dataclass(frozen=True, slots=True)
class Submitted:
    review: Review
    repeated: bool


@transaction.atomic
def submit_review(
    *,
    user: User,
    lease_token: uuid.UUID,
    answers: Mapping[str, SubmittedAnswer],
    seconds: float | None,
    note: str,
    now: datetime,
) -> Submitted:
    """Records the answer and settles the item when no more are needed.

    The lease token is the idempotency key: the same answer sent twice is one review. Raises LeaseLost, or
    InvalidInput naming the question that is wrong; then nothing has changed.
    """
    # Before the task's row, as everything a person does on their desk: of two equal requests one is second.
    lock_person(user)
    first = Review.objects.filter(lease_token=lease_token, user=user).first()
    if first is not None:
        _check_repeats(first, answers, note)
        return Submitted(first, repeated=True)
    lease = locked_lease(user=user, lease_token=lease_token)
    task = lease.task
    questions = {question.key: question for question in task.question_set.questions.all()}
    _check(task, questions, answers, note)
    review = Review.objects.create(
        task=task,
        user=user,
        revision=Review.objects.filter(task=task, user=user).count() + 1,
        blind=task.blind,
        seconds=None if seconds is None else min(max(seconds, 0.0), LONGEST_SECONDS),
        note=note,
        lease_token=lease_token,
        created_at=now,
    )
    suggested = model_values(task.route.decision)
    saved = Answer.objects.bulk_create(
        _to_answer(review, questions[key], answer, suggested.get(key)) for key, answer in answers.items()
    )
    ReviewTask.objects.filter(pk=task.pk).update(reviews_done=F("reviews_done") + 1)
    lease.delete()
    task.refresh_from_db(fields=["reviews_done"])
    if task.reviews_done >= task.reviews_needed:
        _settle(task, review, saved, now=now)
    return Submitted(review, repeated=False)


def _check_repeats(first: Review, answers: Mapping[str, SubmittedAnswer], note: str) -> None:
    """Only what is in force may be called saved. Raises LeaseLost for anything else."""
    if first.taken_back_at is not None:
        raise LeaseLost("You have taken this answer back. Answer the item again where it is on your desk.")
    stored = {answer.question.key: answer.value for answer in first.answers.select_related("question")}
    none = {
        question.key: question.none_of_these or None for question in first.task.question_set.questions.all()
    }
    given = {key: none.get(key) if each.none_of_these else each.value for key, each in answers.items()}
    if (stored, first.note) != (given, note):
        raise LeaseLost("You have answered this item already, otherwise than now: the first one counts.")


def _check(
    task: ReviewTask, questions: Mapping[str, Question], answers: Mapping[str, SubmittedAnswer], note: str
) -> None:
    problems = [FieldProblem(f"answers.{key}", "needs an answer") for key in task.asked if key not in answers]
    for key, answer in answers.items():
        if key not in task.asked:
            problems.append(FieldProblem(f"answers.{key}", "is not asked here"))
        elif answer.value is None and not answer.none_of_these:
            problems.append(FieldProblem(f"answers.{key}", "needs an answer"))
        elif answer.value is not None and answer.value not in questions[key].option_ids:
            problems.append(FieldProblem(f"answers.{key}", "is not one of the options"))
    if len(note) > LONGEST_NOTE:
        problems.append(FieldProblem("note", f"has {len(note):,} characters; the limit is {LONGEST_NOTE:,}"))
    if unstorable_at(note) is not None:
        problems.append(
            FieldProblem("note", f"holds a character that cannot be stored at position {unstorable_at(note)}")
        )
    if problems:
        raise InvalidInput(*problems)


def _to_answer(review: Review, question: Question, given: SubmittedAnswer, model_value: str | None) -> Answer:
    value = given.value
    if given.none_of_these:
        value = question.none_of_these or None
    if given.none_of_these or (question.none_of_these and value == question.none_of_these):
        # Whether it was picked as an option or by its key, it says the same.
        kind = Answer.Kind.NONE_OF_THESE
    else:
        kind = Answer.Kind.ACCEPT if value == model_value else Answer.Kind.CORRECT
    return Answer(review=review, question=question, kind=kind, value=value, model_value=model_value)


def _settle(task: ReviewTask, review: Review, answers: list[Answer], *, now: datetime) -> None:
    task.status, task.closed_at = ReviewTask.Status.DONE, now
    task.save(update_fields=["status", "closed_at"])
    Label.objects.bulk_create(
        Label(
            workflow_id=task.workflow_id,
            item_id=task.item_id,
            question_id=answer.question_id,
            question_set_id=task.question_set_id,
            value=answer.value,
            source=Label.Source.REVIEW,
            review=review,
            blind=review.blind,
            pi=task.route.pi,
            created_at=now,
        )
        for answer in answers
    )
    if task.kind == ReviewTask.Kind.AUDIT:
        # Audits never act: what policy settled stays as it is, a disagreement is for managers.
        Item.objects.filter(pk=task.item_id).update(audit_open=False)
        return
    Item.objects.filter(pk=task.item_id).update(
        status=Item.Status.SETTLED, settled_by=Item.SettledBy.PEOPLE, settled_at=now
    )
    routed = [answer for answer in answers if answer.question.is_routing]
    # Held by another question only: the policy's own label acts, now that a person has looked.
    label = routed[0].value if routed else task.route.label
    not_before = now + timedelta(seconds=task.workflow.undo_s)
    begin_run(route=task.route, label=label, now=now, not_before=not_before)
    given = {answer.question.key: answer.value for answer in answers}
    tell_settled(task=task, label=label, answers=given, now=now, not_before=not_before)


@transaction.atomic
def undo_last_review(*, user: User, workflow: Workflow, now: datetime) -> Lease:
    """Takes back this person's last answer here and puts the task on their desk again.

    Possible while its action has not started (without an action: while it could not have). The answer
    and the label stay as history. Raises NothingToUndo, saying why.
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
    task = ReviewTask.objects.select_for_update().get(pk=last.task_id)
    if Route.objects.filter(pk=task.route_id).exclude(superseded_at=None).exists():
        raise NothingToUndo("The item was routed anew meanwhile, so your answer no longer counts.")
    late = now > last.created_at + timedelta(seconds=workflow.undo_s)
    ran = task.kind != ReviewTask.Kind.AUDIT and task.item.action_runs.exclude(status="cancelled").exists()
    # A blind answer is shown beside the model's once it could no longer be taken back, so then it no longer can.
    if late and (task.blind or not ran):
        raise NothingToUndo("Your last answer is too old to take back here.")
    if ran and not cancel_pending_runs(item_id=task.item_id, now=now):
        raise NothingToUndo("The action of your last answer has already started, so it cannot be taken back.")
    if not Review.objects.filter(pk=last.pk, taken_back_at=None).update(taken_back_at=now):
        raise NothingToUndo("Your last answer has just been taken back.")
    _reopen(task, last, now=now)
    return place_lease(task_id=task.pk, user=user, workflow=workflow)


def _reopen(task: ReviewTask, review: Review, *, now: datetime) -> None:
    Label.objects.filter(review=review, taken_back_at=None).update(taken_back_at=now)
    task.status, task.closed_at, task.reviews_done = ReviewTask.Status.OPEN, None, task.reviews_done - 1
    task.save(update_fields=["status", "closed_at", "reviews_done"])
    if task.kind == ReviewTask.Kind.AUDIT:
        Item.objects.filter(pk=task.item_id).update(audit_open=True)
    else:
        Item.objects.filter(pk=task.item_id).update(
            status=Item.Status.IN_REVIEW, settled_by=None, settled_at=None
        )
        withdraw(workflow=task.workflow, type=ITEM_SETTLED, item_id=task.item_id)
