"""An item passed on: to a person, to a senior, or to the front. None of it counts as a skip; all of it is recorded."""

from __future__ import annotations

import uuid
from collections.abc import Collection
from datetime import datetime, timedelta

from django.db import transaction
from django.db.models import Exists, OuterRef, Q, QuerySet

from apps.accounts.models import User
from apps.core.db import ClockTimestamp
from apps.core.errors import Conflict
from apps.core.languages import reads
from apps.items.models import Item
from apps.reviews.leases import lock_person, locked_lease
from apps.reviews.models import Lease, Review, ReviewTask, Skip, TaskEvent
from apps.reviews.settling import MAY_DECIDE, saw_answers, seniors_among
from apps.reviews.standing import holders_of
from apps.workflows.models import Membership, Workflow
from apps.workflows.people import set_senior

HANDED_FOR = timedelta(hours=4)
"""For so long nobody else gets it; afterwards everyone does."""
LONGEST_NOTE = 2_000
MOST_PRIORITY = 1_000_000


def people_for(task: ReviewTask) -> list[User]:
    """Who could take this task now, by name: here and active, reading its language, senior where it takes one, with
    neither an answer to it nor the item open."""
    members = Membership.objects.filter(workflow=task.workflow_id, user__is_active=True).filter(
        ~Exists(Review.objects.filter(task=task, user=OuterRef("user"), taken_back_at=None)),
        ~Exists(Lease.objects.filter(task=task, user=OuterRef("user"), expires_at__gt=ClockTimestamp())),
    )
    if task.stage != ReviewTask.Stage.REVIEW:
        members = members.filter(MAY_DECIDE)
    elif task.blind:
        members = members.exclude(user__in=saw_answers(task))
    found = members.select_related("user__desk_preferences").order_by("user__username")
    return [member.user for member in found if reads(_languages(member.user), task.language)]


def _languages(user: User) -> list[str]:
    # Who has chosen nothing has no row.
    return list(user.desk_preferences.languages) if hasattr(user, "desk_preferences") else []


@transaction.atomic
def hand_over(*, user: User, lease_token: uuid.UUID, to: User, note: str, now: datetime) -> None:
    """From this person's desk to `to`, who gets it first, and alone for HANDED_FOR.

    Raises LeaseLost, or Conflict when `to` cannot take it (any more).
    """
    lease = locked_lease(user=user, lease_token=lease_token)
    _assign(lease.task, by=user, to=to, note=note, now=now)
    lease.delete()


@transaction.atomic
def assign(*, manager: User, workflow: Workflow, task_id: int, to: User, note: str, now: datetime) -> None:
    """What `hand_over` does, of a task that lies on no desk. Raises Conflict, saying who or what is in the way."""
    task = _locked(workflow, task_id)
    if ReviewTask.objects.filter(pk=task.pk, held_until__gt=ClockTimestamp()).exists():
        raise Conflict(f"{holders_of(task.pk)} has this item open. Ask them to hand it over.")
    _assign(task, by=manager, to=to, note=note, now=now)


def _assign(task: ReviewTask, *, by: User, to: User, note: str, now: datetime) -> None:
    if to not in people_for(task):
        raise Conflict(f"{to} cannot take this item now: they have answered it, have it open, or may not.")
    ReviewTask.objects.filter(pk=task.pk).update(assigned_to=to, assigned_until=ClockTimestamp() + HANDED_FOR)
    # Asked by a colleague, they get it although they passed on it before.
    Skip.objects.filter(task=task, user=to).delete()
    _record(task, TaskEvent.Kind.HANDED_OVER, by=by, to=to, note=note, now=now)


@transaction.atomic
def escalate(*, user: User, lease_token: uuid.UUID, note: str, now: datetime) -> None:
    """From this person's desk to whoever is a senior or a manager here. Raises LeaseLost; Conflict for a senior."""
    lease = locked_lease(user=user, lease_token=lease_token)
    task = lease.task
    if seniors_among(task.workflow_id, [user.pk]):
        raise Conflict("You are one of those this would go to. Hand it over to a colleague instead.")
    ReviewTask.objects.filter(pk=task.pk, stage=ReviewTask.Stage.REVIEW).update(
        stage=ReviewTask.Stage.ESCALATED
    )
    ReviewTask.objects.filter(pk=task.pk).update(assigned_to=None, assigned_until=None)
    _record(task, TaskEvent.Kind.ESCALATED, by=user, to=None, note=note, now=now)
    lease.delete()


@transaction.atomic
def change_senior(*, workflow: Workflow, user_id: int, is_senior: bool) -> Membership | None:
    """The member, None when there is none. What only seniors may have on the desk does not stay with another."""
    user = User.objects.filter(pk=user_id).first()
    if user is None:
        return None
    lock_person(user)
    member = set_senior(workflow=workflow, user_id=user_id, is_senior=is_senior)
    give_back_above(user=user, workflow=workflow)
    return member


def give_back_above(*, user: User, workflow: Workflow) -> None:
    """What waits for seniors and lies on the desk of one who is none, or was handed to them, is the others' again:
    colleagues' answers stand beside it, and the hand-over would keep it from everybody. The caller holds the person's
    lock since before the change, so nothing is taken up between."""
    if not seniors_among(workflow.pk, [user.pk]):
        tasks = ReviewTask.objects.filter(workflow=workflow)
        _give_back(user, tasks.exclude(stage=ReviewTask.Stage.REVIEW))


def give_back_all(*, user: User, workflow: Workflow) -> None:
    """What lies on this person's desk here, or was handed to them, is everybody's. The caller holds their lock."""
    _give_back(user, ReviewTask.objects.filter(workflow=workflow))


def _give_back(user: User, tasks: QuerySet[ReviewTask]) -> None:
    handed = Q(status=ReviewTask.Status.OPEN, assigned_to=user)
    # Each has an index; one question with an "or" between them would read every task there is.
    found = {*tasks.filter(handed).values_list("pk"), *tasks.filter(leases__user=user).values_list("pk")}
    theirs = tasks.filter(pk__in=[pk for (pk,) in found])
    # Tasks by id before their leases, as everybody locks them.
    ids = list(theirs.select_for_update().order_by("pk").values_list("pk", flat=True))
    Lease.objects.filter(task__in=ids, user=user).delete()
    ReviewTask.objects.filter(handed, pk__in=ids).update(assigned_to=None, assigned_until=None)


@transaction.atomic
def give_back_unread(*, user: User, languages: Collection[str]) -> None:
    """What was handed to a person in a language that they read no longer is everybody's."""
    handed = ReviewTask.objects.filter(status=ReviewTask.Status.OPEN, assigned_to=user)
    rows = handed.select_for_update().order_by("pk").values_list("pk", "language")
    unread = [pk for pk, tag in rows if not reads(languages, tag)]
    handed.filter(pk__in=unread).update(assigned_to=None, assigned_until=None)


@transaction.atomic
def prioritise(
    *, manager: User, workflow: Workflow, task_id: int, priority: int, note: str, now: datetime
) -> None:
    """The highest priority comes first, whatever is due. Raises Conflict when the task is not open."""
    task = _locked(workflow, task_id)
    if task.priority == priority:
        return
    ReviewTask.objects.filter(pk=task.pk).update(priority=priority)
    # A task made anew, when the policy changes, is made with the item's.
    Item.objects.filter(pk=task.item_id).update(priority=priority)
    said = f"{task.priority} → {priority}. {note}".strip()
    _record(task, TaskEvent.Kind.PRIORITISED, by=manager, to=None, note=said, now=now)


def _locked(workflow: Workflow, task_id: int) -> ReviewTask:
    task = ReviewTask.objects.select_for_update().filter(pk=task_id, workflow=workflow).first()
    if task is None or task.status != ReviewTask.Status.OPEN:
        raise Conflict("This item has been settled or taken out of the queue meanwhile.")
    return task


def _record(
    task: ReviewTask, kind: TaskEvent.Kind, *, by: User, to: User | None, note: str, now: datetime
) -> None:
    TaskEvent.objects.create(task=task, kind=kind, user=by, to_user=to, note=note, created_at=now)
