"""Who gets which task next: languages, seniors, hand-overs, and what was passed on."""

from __future__ import annotations

from datetime import timedelta

import pytest

from apps.accounts.models import User
from apps.core.db import ClockTimestamp
from apps.core.errors import Conflict
from apps.reviews.leases import release_lease, skip_task, take_next_task, take_task
from apps.reviews.models import DeskPreferences, Lease, Review, ReviewTask
from apps.workflows.models import Membership, Workflow
from tests.factories import NOW, make_task
from tests.reviews.queue_people import gets, hand_to, read_only, token_of


def test_it_works(workflow: Workflow, rosa: User) -> None:
    make_task(workflow, language="ar")
    english = make_task(workflow, language="en-GB")
    read_only(rosa, "en")
    assert gets(rosa, workflow) == english


def test_another_language_is_nobodys_but_its_readers(workflow: Workflow, rosa: User, ravi: User) -> None:
    arabic = make_task(workflow, language="ar")
    read_only(rosa, "en", "zh-Hant")
    assert gets(rosa, workflow) is None
    assert gets(ravi, workflow) == arabic


def test_what_was_skipped_waits_only_for_those_who_read_it(
    workflow: Workflow, rosa: User, ravi: User, mara: User
) -> None:
    task = make_task(workflow, language="ar")
    read_only(ravi, "en")
    read_only(mara, "de")
    skip_task(user=rosa, lease_token=token_of(rosa, workflow), reason="", now=NOW)
    assert gets(rosa, workflow) == task


def test_what_was_skipped_waits_for_nobody_who_has_answered(
    workflow: Workflow, rosa: User, ravi: User
) -> None:
    task = make_task(workflow, blind=True, reviews_wanted=2, reviews_needed=2)
    skip_task(user=rosa, lease_token=token_of(rosa, workflow), reason="", now=NOW)
    Review.objects.create(
        task=task, user=ravi, revision=1, blind=True, lease_token=token_of(ravi, workflow), created_at=NOW
    )
    Lease.objects.all().delete()
    assert gets(rosa, workflow) == task


@pytest.mark.parametrize("stage", ["escalated", "adjudication"])
def test_what_is_called_up_is_for_seniors(
    workflow: Workflow, rosa: User, ravi: User, mara: User, stage: str
) -> None:
    task = make_task(workflow, stage=stage)
    assert gets(rosa, workflow) is None
    Membership.objects.filter(user=ravi).update(is_senior=True)
    assert gets(ravi, workflow) == task
    Lease.objects.all().delete()
    assert gets(mara, workflow) == task


def test_what_was_handed_over_comes_first_and_to_nobody_else(
    workflow: Workflow, rosa: User, ravi: User
) -> None:
    first, second = make_task(workflow, priority=9), make_task(workflow)
    hand_to(ravi, second)
    assert (gets(ravi, workflow), gets(rosa, workflow)) == (second, first)


@pytest.mark.parametrize("how", ["time", "left", "inactive", "answered", "skipped"])
def test_a_hand_over_ends(workflow: Workflow, rosa: User, ravi: User, how: str) -> None:
    task = make_task(workflow, blind=True, reviews_wanted=2, reviews_needed=2)
    hand_to(ravi, task)
    assert gets(rosa, workflow) is None
    if how == "time":
        ReviewTask.objects.update(assigned_until=ClockTimestamp() - timedelta(seconds=1))
    elif how == "left":
        Membership.objects.filter(user=ravi).delete()
    elif how == "inactive":
        User.objects.filter(pk=ravi.pk).update(is_active=False)
    elif how == "skipped":
        skip_task(user=ravi, lease_token=token_of(ravi, workflow), reason="", now=NOW)
    else:
        token = token_of(ravi, workflow)
        Review.objects.create(task=task, user=ravi, revision=1, blind=True, lease_token=token, created_at=NOW)
    assert gets(rosa, workflow) == task


def test_who_left_gets_nothing(workflow: Workflow, rosa: User) -> None:
    make_task(workflow)
    Membership.objects.filter(user=rosa).delete()
    assert gets(rosa, workflow) is None


def test_a_task_is_taken_by_its_number(workflow: Workflow, rosa: User) -> None:
    make_task(workflow, priority=5)
    second = make_task(workflow)
    take_next_task(user=rosa, workflow=workflow)
    assert take_task(user=rosa, workflow=workflow, task_id=second.pk).task == second
    assert gets(rosa, workflow) == second


def test_taking_ones_own_keeps_its_token(workflow: Workflow, rosa: User) -> None:
    task = make_task(workflow)
    lease = take_next_task(user=rosa, workflow=workflow)
    assert lease is not None
    assert take_task(user=rosa, workflow=workflow, task_id=task.pk).token == lease.token


@pytest.mark.parametrize(
    ("bar", "told"),
    [
        ("held", "ravi has this item open"),
        ("language", "a language you do not read"),
        ("stage", "waits for a senior"),
        ("handed", "was handed to ravi"),
        ("done", "has been settled"),
        ("elsewhere", "not in this queue"),
    ],
)
def test_taking_says_what_is_in_the_way(
    workflow: Workflow, other_workflow: Workflow, rosa: User, ravi: User, bar: str, told: str
) -> None:
    task = make_task(other_workflow if bar == "elsewhere" else workflow, language="ar")
    if bar == "held":
        take_next_task(user=ravi, workflow=workflow)
    elif bar == "language":
        DeskPreferences.objects.create(user=rosa, languages=["en"])
    elif bar == "stage":
        ReviewTask.objects.update(stage="escalated")
    elif bar == "handed":
        hand_to(ravi, task)
    elif bar == "done":
        ReviewTask.objects.update(status="done", closed_at=NOW)
    with pytest.raises(Conflict, match=told):
        take_task(user=rosa, workflow=workflow, task_id=task.pk)


def test_each_time_on_a_desk_is_counted(workflow: Workflow, rosa: User) -> None:
    make_task(workflow)
    for _ in range(3):
        lease = take_next_task(user=rosa, workflow=workflow)
        assert lease is not None
        take_next_task(user=rosa, workflow=workflow)
        release_lease(user=rosa, lease_token=lease.token)
    assert ReviewTask.objects.get().times_opened == 3
