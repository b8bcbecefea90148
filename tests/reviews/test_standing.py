from __future__ import annotations

from apps.accounts.models import User
from apps.reviews.leases import skip_task, take_next_task
from apps.reviews.models import Review
from apps.reviews.queue import Seeker
from apps.reviews.standing import Waiting, left_for, waiting_for
from apps.workflows.models import Workflow
from tests.factories import NOW, make_task
from tests.reviews.queue_people import hand_to, read_only, token_of


def waiting(user: User, workflow: Workflow) -> Waiting:
    seeker = Seeker.of(user, workflow)
    assert seeker is not None
    return waiting_for(seeker)


def test_it_works(workflow: Workflow, rosa: User) -> None:
    make_task(workflow)
    assert waiting(rosa, workflow) == Waiting(free=1)


def test_every_task_counts_once_under_what_keeps_it(workflow: Workflow, rosa: User, ravi: User) -> None:
    read_only(rosa, "en")
    make_task(workflow, priority=9)
    skip_task(user=rosa, lease_token=token_of(rosa, workflow), reason="", now=NOW)
    make_task(workflow, priority=8)
    mine = take_next_task(user=rosa, workflow=workflow)
    assert mine is not None
    hand_to(ravi, make_task(workflow))
    make_task(workflow, language="ar")
    make_task(workflow, stage="escalated")
    answered = make_task(workflow, blind=True, reviews_wanted=2, reviews_needed=2)
    Review.objects.create(
        task=answered, user=rosa, revision=1, blind=True, lease_token=mine.token, created_at=NOW
    )
    found = waiting(rosa, workflow)
    assert found == Waiting(mine=1, answered=1, for_seniors=1, unread=1, handed_over=1, skipped=1)
    assert found.open == 6


def test_held_says_when_the_first_is_free(workflow: Workflow, rosa: User, ravi: User) -> None:
    make_task(workflow)
    lease = take_next_task(user=ravi, workflow=workflow)
    assert lease is not None
    found = waiting(rosa, workflow)
    assert (found.held, found.earliest_free_at) == (1, lease.expires_at)


def test_only_the_first_are_told(workflow: Workflow, rosa: User) -> None:
    for _ in range(3):
        make_task(workflow)
    seeker = Seeker.of(rosa, workflow)
    assert seeker is not None
    assert waiting_for(seeker, most=2) == Waiting(free=2, is_capped=True)
    assert not waiting_for(seeker, most=4).is_capped


def test_left_is_what_could_be_taken(workflow: Workflow, rosa: User, ravi: User) -> None:
    for _ in range(4):
        make_task(workflow)
    make_task(workflow, stage="escalated")
    take_next_task(user=ravi, workflow=workflow)
    seeker = Seeker.of(rosa, workflow)
    assert seeker is not None
    assert (left_for(seeker), left_for(seeker, most=2)) == (3, 2)
