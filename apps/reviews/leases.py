"""Who has which task on the desk. Rows in PostgreSQL, ended by its clock; losing Redis cannot double the work."""

from __future__ import annotations

import uuid
from datetime import datetime, timedelta

from django.db import connection, transaction
from django.db.models import F, Q

from apps.accounts.models import User
from apps.core.db import ClockTimestamp
from apps.core.errors import Conflict
from apps.reviews.errors import LeaseLost
from apps.reviews.models import Lease, ReviewTask, Skip
from apps.reviews.queue import (
    COMES_BACK,
    EVERYTHING,
    SKIPPED,
    TO_ME,
    QueueFilter,
    Seeker,
    find_free,
    find_mine,
)
from apps.reviews.standing import why_not
from apps.workflows.models import Workflow


@transaction.atomic
def take_next_task(*, user: User, workflow: Workflow, wanted: QueueFilter = EVERYTHING) -> Lease | None:
    """The task this person already has on the desk, else the next one, now theirs; None when there is none.

    What was handed to them comes first. One atomic statement finds and locks; N people asking at once get N different
    tasks. Raises InvalidInput when a search for words takes too long.
    """
    lock_person(user)
    seeker = Seeker.of(user, workflow)
    if seeker is None:
        return None
    held = find_mine(seeker, wanted)
    if held is not None:
        return Lease.objects.get(pk=held)
    # What a person passed on comes back to them when nobody else is left who could take it.
    for narrowed in (TO_ME, f"NOT {SKIPPED}", COMES_BACK):
        task_id = find_free(seeker, wanted, narrowed=narrowed)
        if task_id is not None:
            return place_lease(task_id=task_id, user=user, workflow=workflow)
    return None


@transaction.atomic
def take_task(*, user: User, workflow: Workflow, task_id: int) -> Lease:
    """This very task, now theirs and on top of their desk. Raises Conflict, saying who or what is in the way."""
    lock_person(user)
    seeker = Seeker.of(user, workflow)
    held = Lease.objects.filter(
        user=user, task=task_id, task__workflow=workflow, expires_at__gt=ClockTimestamp()
    )
    if held.update(acquired_at=ClockTimestamp()):
        return held.get()
    found = (
        None if seeker is None else find_free(seeker, EVERYTHING, narrowed="task.id = %(task)s", task=task_id)
    )
    if found is None:
        raise Conflict(why_not(seeker, workflow, task_id))
    return place_lease(task_id=found, user=user, workflow=workflow)


def lock_person(user: User) -> None:
    """Until the transaction ends, no other request of this person changes what is on their desk.

    Taken before any task's row, always, so that two tabs wait for each other and never deadlock.
    """
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT pg_advisory_xact_lock(hashtextextended('reviews_lease_of_person', %s))", [user.pk]
        )


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
    ReviewTask.objects.filter(pk=task_id).update(times_opened=F("times_opened") + 1)
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
    # Who was handed it and passes on it keeps nobody else from it.
    ReviewTask.objects.filter(pk=lease.task_id, assigned_to=user).update(
        assigned_to=None, assigned_until=None
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
    # Read again: while this waited for the task's row, the item may have been called back for a senior.
    live = Q(pk=lease.pk) | Q(expires_at__gt=ClockTimestamp())
    leases = list(Lease.objects.filter(live, task=task).select_related("user"))
    if lease not in leases:
        raise LeaseLost("This item was called back for a senior to decide. Your next item is waiting.")
    holders = [each for each in leases if each != lease]
    if task.reviews_done + len(holders) >= task.reviews_needed:
        names = ", ".join(holder.user.username for holder in holders)
        raise LeaseLost(f"Your hold on this item ran out, and {names} has it now.")
    return lease
