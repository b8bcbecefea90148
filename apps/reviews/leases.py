"""Who has which task on the desk. Rows in PostgreSQL, ended by its clock; losing Redis cannot double the work.

Locks are taken in one order, so that nobody waits for somebody who waits for them: the person, then tasks by id, then
leases. A task that is looked for beside one that is locked is not waited for.
"""

from __future__ import annotations

import uuid
from collections.abc import Collection
from datetime import datetime, timedelta
from typing import Any

from django.db import transaction

from apps.accounts.models import User
from apps.core.db import ClockTimestamp, Columns, fetch
from apps.core.errors import Conflict
from apps.items.models import Decision, Item, Route
from apps.reviews.errors import LeaseLost
from apps.reviews.models import Lease, ReviewTask, Skip
from apps.reviews.queue import (
    EVERYTHING,
    LEASE,
    QueueFilter,
    Seeker,
    find_free,
    find_next,
    place_next,
    sit_down,
)
from apps.reviews.standing import why_not
from apps.workflows.models import Workflow

_TASK = Columns(ReviewTask)
_ITEM = Columns(Item, "id", "external_id")
_ROUTE = Columns(Route, "id", "item", "workflow", "decision", "question_set", "label", "pi")
_DECISION = Columns(Decision, "id", "answers")
_PLACE = f"""
    INSERT INTO reviews_lease (task_id, user_id, token, acquired_at, expires_at)
    VALUES (%(task)s, %(user)s, gen_random_uuid(), clock_timestamp(),
            clock_timestamp() + make_interval(secs => %(seconds)s))
    RETURNING {LEASE.of("reviews_lease")}
"""  # noqa: S608 - our own columns
_PERSON = "pg_advisory_xact_lock(hashtextextended('reviews_lease_of_person', %(user)s))"
# The person, then the task, then the lease: what was waited for is read as it is then.
_LOCKED = f"""
    SELECT lease.expires_at > clock_timestamp(), {LEASE.of("lease")}, {_TASK.of("task")}, {_ITEM.of("item")},
           {_ROUTE.of("route")}, {_DECISION.of("decision")}
    FROM (SELECT {_PERSON}) AS alone
    CROSS JOIN reviews_lease lease JOIN reviews_reviewtask task ON task.id = lease.task_id
    JOIN items_item item ON item.id = task.item_id
    JOIN items_route route ON route.id = task.route_id
    LEFT JOIN items_decision decision ON decision.id = route.decision_id
    WHERE lease.token = %(token)s AND lease.user_id = %(user)s FOR UPDATE OF task, lease
"""  # noqa: S608 - our own columns


@transaction.atomic
def take_next_task(*, user: User, workflow: Workflow, wanted: QueueFilter = EVERYTHING) -> Lease | None:
    """The task this person already has on the desk, else the next one, now theirs; None when there is none.

    What was handed to them comes first. One atomic statement finds and locks; N people asking at once get N different
    tasks. Raises InvalidInput when a search for words takes too long.
    """
    lock_person(user)
    sitting = sit_down(user, workflow, wanted)
    if sitting is None:
        return None
    if sitting.fitting is not None:
        return sitting.fitting
    if not sitting.held:
        return place_next(sitting.seeker, wanted)
    _lock_surplus(sitting.held)
    task_id = find_next(sitting.seeker, wanted)
    if task_id is None:
        return None
    return _place(task_id=task_id, user=user, workflow=workflow, held=sitting.held)


@transaction.atomic
def take_task(*, user: User, workflow: Workflow, task_id: int) -> Lease:
    """This very task, now theirs and on top of their desk. Raises Conflict, saying who or what is in the way."""
    lock_person(user)
    seeker = Seeker.of(user, workflow)
    theirs = Lease.objects.filter(user=user, task=task_id, expires_at__gt=ClockTimestamp())
    held = theirs.filter(task__workflow=workflow, task__status=ReviewTask.Status.OPEN)
    if held.exists():
        # Its task before it: who calls the item back has the one and wants the other.
        _lock_tasks([task_id])
        if not held.update(acquired_at=ClockTimestamp()):
            raise Conflict(why_not(seeker, workflow, task_id))
        return Lease.objects.get(user=user, task=task_id)
    leases = _of(user)
    _lock_surplus(leases)
    found = (
        None if seeker is None else find_free(seeker, EVERYTHING, narrowed="task.id = %(task)s", task=task_id)
    )
    if found is None:
        raise Conflict(why_not(seeker, workflow, task_id))
    return _place(task_id=found, user=user, workflow=workflow, held=leases)


def lock_person(user: User) -> None:
    """Until the transaction ends, no other request of this person changes what is on their desk.

    Taken before any task's row, always, so that two tabs wait for each other and never deadlock.
    """
    fetch(f"SELECT {_PERSON}", {"user": user.pk})


def place_lease(*, task_id: int, user: User, workflow: Workflow) -> Lease:
    """A fresh lease with a fresh token; the caller holds the person's lock and, by `lock_for`, the task's row.

    A person holds at most two tasks: what they took up before the last one goes back to the queue.
    """
    return _place(task_id=task_id, user=user, workflow=workflow, held=_of(user))


def lock_for(user: User, task_id: int) -> ReviewTask:
    """The task with its row locked, and with it those of what `place_lease` gives back then."""
    surplus = _surplus(_of(user), task_id)
    _lock_tasks({task_id, *(lease.task_id for lease in surplus)})
    return ReviewTask.objects.get(pk=task_id)


def _place(*, task_id: int, user: User, workflow: Workflow, held: Collection[Lease]) -> Lease:
    gone = [lease for lease in held if lease.task_id == task_id] + _surplus(held, task_id)
    if gone:
        Lease.objects.filter(pk__in=[lease.pk for lease in gone]).delete()
    (row,) = fetch(_PLACE, {"task": task_id, "user": user.pk, "seconds": workflow.lease_s})
    return LEASE.take(iter(row))


def _of(user: User) -> list[Lease]:
    """All of them, what was taken up last first."""
    return list(Lease.objects.filter(user=user).order_by("-acquired_at"))


def _surplus(held: Collection[Lease], task_id: int | None = None) -> list[Lease]:
    return [lease for lease in held if lease.task_id != task_id][1:]


def _lock_surplus(held: Collection[Lease]) -> None:
    """Before the next task is looked for: giving a task back takes its row, and a colleague may have that one."""
    surplus = _surplus(held)
    if surplus:
        _lock_tasks({lease.task_id for lease in surplus})


def _lock_tasks(ids: Collection[int]) -> None:
    list(ReviewTask.objects.select_for_update().filter(pk__in=ids).order_by("pk").values_list("pk"))


@transaction.atomic
def renew_lease(*, user: User, lease_token: uuid.UUID) -> datetime:
    """The new end. A lease that ran out is renewed too, unless somebody took the task. Raises LeaseLost."""
    lease = locked_lease(user=user, lease_token=lease_token)
    lease.expires_at = ClockTimestamp() + timedelta(seconds=lease.task.workflow.lease_s)
    lease.save(update_fields=["expires_at"])
    lease.refresh_from_db(fields=["expires_at"])
    return lease.expires_at


@transaction.atomic
def release_lease(*, user: User, lease_token: uuid.UUID) -> None:
    """Gives the task back to the queue; nothing to do when it was already."""
    lock_person(user)
    lease = Lease.objects.filter(user=user, token=lease_token).first()
    if lease is not None:
        _lock_tasks([lease.task_id])
        lease.delete()


@transaction.atomic
def forget_leases(*, ended_before: datetime) -> None:
    """Of whom these were, nobody is told any more what became of the item."""
    ended = Lease.objects.filter(expires_at__lt=ended_before)
    _lock_tasks(set(ended.values_list("task_id", flat=True)))
    ended.delete()


@transaction.atomic
def skip_task(*, user: User, lease_token: uuid.UUID, reason: str, now: datetime) -> None:
    """Passes on the task; it comes back to this person only when nobody else can take it. Raises LeaseLost."""
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
    """This person's lease, good for one answer: they are locked, as by `lock_person`, and its task. The route and its
    decision come with the task.

    A lease that ran out counts as long as nobody else took the place. Raises LeaseLost, saying who or what; the person
    is locked then too.
    """
    values = {"token": lease_token, "user": user.pk}
    rows = fetch(_LOCKED, values)
    if not rows:
        # Where there is no lease, nobody was waited for: another request of theirs may be about to give it back.
        lock_person(user)
        rows = fetch(_LOCKED, values)
    if not rows:
        raise LeaseLost("This item is no longer on your desk: its hold has ended. Your next item is waiting.")
    is_live, lease = _to_lease(rows[0])
    task = lease.task
    if task.status == ReviewTask.Status.DONE:
        who = task.reviews.filter(taken_back_at=None).select_related("user").order_by("-created_at").first()
        raise LeaseLost(
            f"{who.user.username} has answered this item meanwhile."
            if who
            else "This item has been settled meanwhile."
        )
    if task.status != ReviewTask.Status.OPEN:
        raise LeaseLost("This item was taken out of the queue meanwhile.")
    is_alone = task.reviews_needed == 1 and task.stage == ReviewTask.Stage.REVIEW
    if not (is_live and is_alone):
        _check_place(lease)
    return lease


def _to_lease(row: tuple[Any, ...]) -> tuple[bool, Lease]:
    values = iter(row)
    is_live = bool(next(values))
    lease, task = LEASE.take(values), _TASK.take(values)
    task.item = _ITEM.take(values)
    task.route, decision = _ROUTE.take(values), _DECISION.take(values)
    task.route.decision = decision if task.route.decision_id is not None else None
    lease.task = task
    return is_live, lease


def _check_place(lease: Lease) -> None:
    """Who has it alone and still has it has the place: of others this reckons with those who have it at this moment."""
    others = Lease.objects.filter(task=lease.task_id, expires_at__gt=ClockTimestamp()).exclude(pk=lease.pk)
    holders = list(others.select_related("user"))
    if lease.task.reviews_done + len(holders) >= lease.task.reviews_needed:
        names = ", ".join(holder.user.username for holder in holders)
        raise LeaseLost(f"Your hold on this item ran out, and {names} has it now.")
