"""What a task's reviews in force come to, carried out: open for whom, or done with labels and an action.

The caller holds the task's row. Everything is worked out anew from the reviews, after an answer as after an undo.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from datetime import datetime, timedelta

from django.db.models import Q

from apps.actions.services import begin_run
from apps.core.db import ClockTimestamp
from apps.items.models import Item
from apps.outbox.events import ITEM_SETTLED
from apps.outbox.services import withdraw
from apps.reviews.consensus import Opinion, Rule, Terms, Verdict, verdict_on
from apps.reviews.models import Answer, Label, Lease, Review, ReviewTask, TaskEvent
from apps.reviews.rules import rules_in_force
from apps.reviews.telling import tell_settled
from apps.workflows.models import Membership, Question, Role

__all__ = [
    "MAY_DECIDE",
    "count_review",
    "label_to_act_on",
    "reopen",
    "saw_answers",
    "seniors_among",
    "verdict_of",
    "verdict_of_one",
]


MAY_DECIDE = Q(is_senior=True) | Q(role=Role.MANAGER)
"""Of a membership, that its person may decide what others cannot, as the trigger on leases has it."""


def seniors_among(workflow_id: int, users: Collection[int]) -> set[int]:
    """Ids of those who may decide here."""
    members = Membership.objects.filter(MAY_DECIDE, workflow=workflow_id, user__in=users)
    return set(members.values_list("user_id", flat=True))


def saw_answers(task: ReviewTask) -> set[int]:
    """Ids of those who had its answers in sight, to decide between them."""
    saw = TaskEvent.objects.filter(task=task, kind=TaskEvent.Kind.SAW_ANSWERS)
    return {pk for pk in saw.values_list("user_id", flat=True) if pk is not None}


def verdict_of(task: ReviewTask) -> Verdict:
    reviews = list(task.reviews.filter(taken_back_at=None).prefetch_related("answers__question"))
    seniors = seniors_among(task.workflow_id, [review.user_id for review in reviews])
    return verdict_on(
        _terms_of(task),
        [
            Opinion(votes_of(review.answers.all()), review.user_id in seniors, review.is_adjudication)
            for review in reviews
        ],
    )


def _terms_of(task: ReviewTask) -> Terms:
    rules = rules_in_force(task.workflow)
    escalations = TaskEvent.objects.filter(task=task, kind=TaskEvent.Kind.ESCALATED)
    return Terms(
        asked=tuple(task.asked),
        wanted=task.reviews_wanted,
        most=rules.most,
        rule=Rule(rules.consensus),
        is_escalated=task.stage != ReviewTask.Stage.REVIEW and escalations.exists(),
    )


def votes_of(answers: Iterable[Answer]) -> dict[str, str | None]:
    return {each.question.key: each.value for each in answers if each.kind != Answer.Kind.CANNOT_TELL}


def count_review(
    task: ReviewTask, review: Review, questions: Mapping[str, Question], *, now: datetime
) -> None:
    """Counts a review that was just written with its answers, and settles the task when no more are needed.

    `questions` are all of the task's version, by key.
    """
    verdict = verdict_of(task)
    before, stage = task.reviews_needed, task.stage
    task.reviews_done += 1
    others = Lease.objects.filter(task=task, expires_at__gt=ClockTimestamp()).exclude(user=review.user_id)
    if verdict.is_done:
        task.status, task.closed_at = ReviewTask.Status.DONE, now
    elif verdict.stage != stage:
        # Whoever has it open was asked for an answer beside the others', not for one above them.
        Lease.objects.filter(task=task).exclude(user=review.user_id).delete()
    beside = 0 if verdict.is_done else others.count()
    task.stage, task.reviews_needed = verdict.stage, max(verdict.needed, task.reviews_done + beside)
    if task.assigned_to_id == review.user_id or verdict.stage != stage:
        task.assigned_to, task.assigned_until = None, None
    task.save(
        update_fields=[
            "status", "closed_at", "stage", "reviews_needed", "reviews_done", "assigned_to", "assigned_until",
        ]
    )  # fmt: skip
    if task.reviews_needed > before:
        note = f"{task.reviews_needed} answers instead of {before}"
        TaskEvent.objects.create(task=task, kind=TaskEvent.Kind.MORE_OPINIONS, note=note, created_at=now)
    if verdict.is_done:
        _settle(task, review, verdict, questions, now=now)


def verdict_of_one(task: ReviewTask, answers: Collection[Answer]) -> Verdict | None:
    """Of the usual task, one opinion that tells what was asked, without a look at the tables; else None."""
    is_usual = task.reviews_wanted == 1 and task.stage == ReviewTask.Stage.REVIEW and not task.reviews_done
    if not is_usual or task.reviews_needed > 1:
        return None
    verdict = verdict_on(Terms(tuple(task.asked)), [Opinion(votes_of(answers))])
    return verdict if verdict.is_done else None


def _settle(
    task: ReviewTask, review: Review, verdict: Verdict, questions: Mapping[str, Question], *, now: datetime
) -> None:
    _make_labels(task, review, verdict, questions, now=now)
    if task.kind == ReviewTask.Kind.AUDIT:
        # Audits never act: what policy settled stays as it is, a disagreement is for managers.
        Item.objects.filter(pk=task.item_id).update(audit_open=False)
        return
    Item.objects.filter(pk=task.item_id).update(
        status=Item.Status.SETTLED, settled_by=Item.SettledBy.PEOPLE, settled_at=now
    )
    not_before = now + timedelta(seconds=task.workflow.undo_s)
    label = label_to_act_on(task, verdict, questions)
    if label is not None:
        begin_run(route=task.route, label=label, now=now, not_before=not_before)
    given = {key: verdict.values[key] for key in task.asked if key in verdict.values}
    tell_settled(task=task, label=label, answers=given, now=now, not_before=not_before)


def _make_labels(
    task: ReviewTask, review: Review, verdict: Verdict, questions: Mapping[str, Question], *, now: datetime
) -> None:
    source = Label.Source.CONSENSUS if task.reviews_done > 1 else Label.Source.REVIEW
    if review.is_adjudication:
        source = Label.Source.ADJUDICATION
    unasked = set(verdict.values) - set(task.asked)
    # What nobody asked for does not replace what is settled.
    had = Label.objects.filter(item=task.item_id, question__key__in=unasked, taken_back_at=None)
    taken = set(had.values_list("question_id", flat=True)) if unasked else set()
    Label.objects.bulk_create(
        Label(
            workflow_id=task.workflow_id,
            item_id=task.item_id,
            question=questions[key],
            question_set_id=task.question_set_id,
            value=value,
            source=source,
            review=review,
            blind=review.blind,
            pi=task.route.pi,
            is_asked=key not in unasked,
            created_at=now,
        )
        for key, value in verdict.values.items()
        if questions[key].pk not in taken
    )


def label_to_act_on(task: ReviewTask, verdict: Verdict, questions: Mapping[str, Question]) -> str | None:
    """None where nothing may be done: none of these, or nobody could tell."""
    asked = [questions[key] for key in task.asked]
    routing = next((each.key for each in asked if each.is_routing), None)
    if routing is not None:
        return verdict.values.get(routing)
    # Held by another question only: the policy's own label acts, now that a person has looked.
    is_told = all(key in verdict.values for key in task.asked)
    return task.route.label if is_told else None


def reopen(task: ReviewTask, taken_back: Review, verdict: Verdict, *, now: datetime) -> None:
    """The state without `taken_back`, and room for the person to answer anew beside who has it open meanwhile."""
    was_done = task.status == ReviewTask.Status.DONE
    live = Lease.objects.filter(task=task, expires_at__gt=ClockTimestamp()).exclude(user=taken_back.user_id)
    task.status, task.closed_at, task.reviews_done = ReviewTask.Status.OPEN, None, task.reviews_done - 1
    if task.stage != verdict.stage:
        # Handed over to be decided: who that was may be the one person who may not answer it now.
        task.assigned_to, task.assigned_until = None, None
    task.stage = verdict.stage
    task.reviews_needed = max(verdict.needed, task.reviews_done + live.count() + 1)
    changed = (
        "status",
        "closed_at",
        "stage",
        "reviews_needed",
        "reviews_done",
        "assigned_to",
        "assigned_until",
    )
    task.save(update_fields=changed)
    if not was_done:
        return
    Label.objects.filter(item=task.item_id, review__task=task, taken_back_at=None).update(taken_back_at=now)
    if task.kind == ReviewTask.Kind.AUDIT:
        Item.objects.filter(pk=task.item_id).update(audit_open=True)
        return
    Item.objects.filter(pk=task.item_id).update(
        status=Item.Status.IN_REVIEW, settled_by=None, settled_at=None
    )
    withdraw(workflow=task.workflow, type=ITEM_SETTLED, item_id=task.item_id)
