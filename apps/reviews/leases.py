"""Who has which task on the desk. Rows in PostgreSQL, ended by its clock; losing Redis cannot double the work."""

from __future__ import annotations

import uuid
from datetime import datetime, timedelta

from django.db import connection, transaction

from apps.accounts.models import User
from apps.core.db import ClockTimestamp
from apps.reviews.errors import LeaseLost
from apps.reviews.models import Lease, ReviewTask, Skip
from apps.workflows.models import Workflow

# The order of the queue; `task_queue` is the partial index that answers it.
_NEXT = """
    SELECT task.id FROM reviews_reviewtask task
    WHERE task.workflow_id = %(workflow)s AND task.status = 'open'
      AND (task.held_until IS NULL OR task.held_until <= clock_timestamp())
      AND NOT EXISTS (SELECT 1 FROM reviews_review review
                      WHERE review.task_id = task.id AND review.user_id = %(user)s AND review.taken_back_at IS NULL)
      AND {skipped}
    ORDER BY task.priority DESC, task.place_at, task.item_id
    LIMIT 1 FOR UPDATE OF task SKIP LOCKED
"""
_NOT_SKIPPED = """NOT EXISTS (
    SELECT 1 FROM reviews_skip skip WHERE skip.task_id = task.id AND skip.user_id = %(user)s)"""
# What a person passed on comes back to them when nobody else is left who could take it.
_SKIPPED_BY_ALL = """NOT EXISTS (
    SELECT 1 FROM workflows_membership member
    JOIN accounts_user person ON person.id = member.user_id AND person.is_active
    WHERE member.workflow_id = task.workflow_id AND NOT EXISTS (
        SELECT 1 FROM reviews_skip skip WHERE skip.task_id = task.id AND skip.user_id = member.user_id))"""


@transaction.atomic
def take_next_task(*, user: User, workflow: Workflow) -> Lease | None:
    """The task this person already has on the desk, else the next one, now theirs; None when there is none.

    One atomic statement finds and locks; N people asking at once get N different tasks.
    """
    lock_person(user)
    held = (
        Lease.objects.filter(
            user=user,
            task__workflow=workflow,
            task__status=ReviewTask.Status.OPEN,
            expires_at__gt=ClockTimestamp(),
        )
        .order_by("-acquired_at")
        .first()
    )
    if held is not None:
        return held
    task_id = _find(workflow, user, _NOT_SKIPPED) or _find(workflow, user, _SKIPPED_BY_ALL)
    if task_id is None:
        return None
    return place_lease(task_id=task_id, user=user, workflow=workflow)


def lock_person(user: User) -> None:
    """Until the transaction ends, no other request of this person changes what is on their desk.

    Taken before any task's row, always, so that two tabs wait for each other and never deadlock.
    """
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT pg_advisory_xact_lock(hashtextextended('reviews_lease_of_person', %s))", [user.pk]
        )


def _find(workflow: Workflow, user: User, skipped: str) -> int | None:
    with connection.cursor() as cursor:
        cursor.execute(_NEXT.format(skipped=skipped), {"workflow": workflow.pk, "user": user.pk})
        row = cursor.fetchone()
    return None if row is None else int(row[0])


def place_lease(*, task_id: int, user: User, workflow: Workflow) -> Lease:
    """A fresh lease with a fresh token; the caller holds the person's lock and the task's row.

    A person holds at most two tasks: what they took up before the last one goes back to the queue.
    """
    held = (
        Lease.objects.filter(user=user)
        .exclude(task=task_id)
        .order_by("-acquired_at")
        .values_list("pk", flat=True)
    )
    Lease.objects.filter(pk__in=list(held)[1:]).delete()
    lease, _ = Lease.objects.update_or_create(
        task_id=task_id,
        user=user,
        defaults={
            "token": uuid.uuid4(),
            "acquired_at": ClockTimestamp(),
            "expires_at": ClockTimestamp() + timedelta(seconds=workflow.lease_s),
        },
    )
    lease.refresh_from_db()
    return lease


@transaction.atomic
def renew_lease(*, user: User, lease_token: uuid.UUID) -> datetime:
    """The new end. A lease that ran out is renewed too, unless somebody took the task. Raises LeaseLost."""
    lock_person(user)
    lease = locked_lease(user=user, lease_token=lease_token)
    lease.expires_at = ClockTimestamp() + timedelta(seconds=lease.task.workflow.lease_s)
    lease.save(update_fields=["expires_at"])
    lease.refresh_from_db(fields=["expires_at"])
    return lease.expires_at


@transaction.atomic
def release_lease(*, user: User, lease_token: uuid.UUID) -> None:
    """Gives the task back to the queue; nothing to do when it was already."""
    lock_person(user)
    Lease.objects.filter(user=user, token=lease_token).delete()


@transaction.atomic
def skip_task(*, user: User, lease_token: uuid.UUID, reason: str, now: datetime) -> None:
    """Passes on the task; it comes back to this person only when nobody else can take it. Raises LeaseLost."""
    lock_person(user)
    lease = locked_lease(user=user, lease_token=lease_token)
    Skip.objects.update_or_create(
        task=lease.task, user=user, defaults={"reason": reason[:300], "created_at": now}
    )
    lease.delete()


def locked_lease(*, user: User, lease_token: uuid.UUID) -> Lease:
    """This person's lease with its task locked, good for one answer.

    A lease that ran out counts as long as nobody else took the place. Raises LeaseLost, saying who or what.
    """
    lease = Lease.objects.select_related("task").filter(token=lease_token, user=user).first()
    if lease is None:
        raise LeaseLost("This item is no longer on your desk: its hold has ended. Your next item is waiting.")
    task = ReviewTask.objects.select_for_update(of=("self",)).select_related("workflow").get(pk=lease.task_id)
    lease.task = task
    if task.status == ReviewTask.Status.DONE:
        who = task.reviews.filter(taken_back_at=None).select_related("user").order_by("-created_at").first()
        raise LeaseLost(
            f"{who.user.username} has answered this item meanwhile."
            if who
            else "This item has been settled meanwhile."
        )
    if task.status != ReviewTask.Status.OPEN:
        raise LeaseLost("This item was taken out of the queue meanwhile.")
    others = Lease.objects.filter(task=task, expires_at__gt=ClockTimestamp()).exclude(pk=lease.pk)
    holders = list(others.select_related("user"))
    if task.reviews_done + len(holders) >= task.reviews_needed:
        names = ", ".join(holder.user.username for holder in holders)
        raise LeaseLost(f"Your hold on this item ran out, and {names} has it now.")
    return lease
