from __future__ import annotations

from datetime import timedelta

import pytest
from django.utils import timezone

from apps.accounts.models import User
from apps.core.errors import Conflict
from apps.items.models import Item
from apps.reviews.errors import LeaseLost
from apps.reviews.handing import assign, change_senior, escalate, hand_over, people_for, prioritise
from apps.reviews.keys import with_usual
from apps.reviews.leases import skip_task, take_next_task
from apps.reviews.models import Lease, Review, ReviewRules, ReviewTask, Skip, TaskEvent
from apps.reviews.preferences import save_preferences
from apps.reviews.services import SubmittedAnswer, submit_review
from apps.workflows.models import Membership, Workflow
from tests.factories import NOW, make_task, make_user
from tests.insights.answered import answer
from tests.reviews.queue_people import gets, hand_to, read_only, token_of

SPAM = SubmittedAnswer("spam")


def test_it_works(workflow: Workflow, rosa: User, ravi: User) -> None:
    task = make_task(workflow)
    hand_over(user=rosa, lease_token=token_of(rosa, workflow), to=ravi, note="You know them", now=NOW)
    assert (gets(rosa, workflow), gets(ravi, workflow)) == (None, task)
    event = TaskEvent.objects.get()
    assert (event.kind, event.user, event.to_user, event.note) == ("handed_over", rosa, ravi, "You know them")
    assert not Skip.objects.exists()


def test_it_is_theirs_alone_for_four_hours(workflow: Workflow, rosa: User, ravi: User) -> None:
    task = make_task(workflow)
    lease = take_next_task(user=rosa, workflow=workflow)
    assert lease is not None
    hand_over(user=rosa, lease_token=lease.token, to=ravi, note="x", now=NOW)
    task.refresh_from_db()
    assert task.assigned_until is not None
    after = task.assigned_until - lease.acquired_at
    assert timedelta(hours=4) <= after < timedelta(hours=4, minutes=10)


def test_who_passed_on_it_gets_it_when_a_colleague_asks(workflow: Workflow, rosa: User, ravi: User) -> None:
    task = make_task(workflow)
    skip_task(user=ravi, lease_token=token_of(ravi, workflow), reason="", now=NOW)
    hand_over(user=rosa, lease_token=token_of(rosa, workflow), to=ravi, note="x", now=NOW)
    assert gets(ravi, workflow) == task


def test_who_could_take_it(workflow: Workflow, rosa: User, ravi: User, mara: User, nora: User) -> None:
    task = make_task(workflow, language="ar", blind=True, reviews_wanted=3, reviews_needed=3)
    assert people_for(task) == [mara, ravi, rosa]
    take_next_task(user=rosa, workflow=workflow)
    read_only(ravi, "en")
    assert people_for(task) == [mara]
    Review.objects.create(
        task=task, user=mara, revision=1, blind=True, lease_token=token_of(mara, workflow), created_at=NOW
    )
    assert people_for(task) == []


def test_called_up_it_is_for_seniors(workflow: Workflow, rosa: User, ravi: User, mara: User) -> None:
    task = make_task(workflow, stage="escalated")
    Membership.objects.filter(user=ravi).update(is_senior=True)
    assert people_for(task) == [mara, ravi]


def test_nobody_gets_what_they_may_not_take(workflow: Workflow, rosa: User, ravi: User, nora: User) -> None:
    make_task(workflow, language="ar")
    read_only(ravi, "en")
    token = token_of(rosa, workflow)
    for who in (ravi, nora):
        with pytest.raises(Conflict, match="cannot take"):
            hand_over(user=rosa, lease_token=token, to=who, note="x", now=NOW)
    assert Lease.objects.get().user == rosa


def test_only_who_holds_it_hands_it_over(workflow: Workflow, rosa: User, ravi: User, mara: User) -> None:
    make_task(workflow)
    token = token_of(rosa, workflow)
    with pytest.raises(LeaseLost):
        hand_over(user=ravi, lease_token=token, to=mara, note="x", now=NOW)


def test_escalated_goes_to_a_senior(workflow: Workflow, rosa: User, ravi: User, mara: User) -> None:
    task = make_task(workflow)
    escalate(user=rosa, lease_token=token_of(rosa, workflow), note="A threat?", now=NOW)
    assert [gets(who, workflow) for who in (rosa, ravi, mara)] == [None, None, task]
    assert TaskEvent.objects.get().kind == "escalated"
    assert not Skip.objects.exists()


def test_who_it_would_go_to_does_not_escalate(workflow: Workflow, mara: User) -> None:
    make_task(workflow)
    with pytest.raises(Conflict, match="Hand it over"):
        escalate(user=mara, lease_token=token_of(mara, workflow), note="x", now=NOW)


def test_a_manager_hands_over_what_nobody_has(workflow: Workflow, rosa: User, mara: User) -> None:
    task = make_task(workflow)
    assign(manager=mara, workflow=workflow, task_id=task.pk, to=rosa, note="x", now=NOW)
    assert (gets(mara, workflow), gets(rosa, workflow)) == (None, task)
    with pytest.raises(Conflict, match="rosa has this item open"):
        assign(manager=mara, workflow=workflow, task_id=task.pk, to=mara, note="x", now=NOW)


def test_priority_stands_above_due(workflow: Workflow, rosa: User, mara: User) -> None:
    make_task(workflow)
    second = make_task(workflow)
    prioritise(manager=mara, workflow=workflow, task_id=second.pk, priority=5, note="They called", now=NOW)
    assert gets(rosa, workflow) == second
    assert TaskEvent.objects.get().note == "0 → 5. They called"
    assert Item.objects.get(pk=second.item_id).priority == 5


@pytest.mark.parametrize("status", ["done", "cancelled"])
def test_what_is_closed_is_left_alone(workflow: Workflow, rosa: User, mara: User, status: str) -> None:
    task = make_task(workflow)
    ReviewTask.objects.update(status=status, closed_at=NOW)
    with pytest.raises(Conflict, match="meanwhile"):
        assign(manager=mara, workflow=workflow, task_id=task.pk, to=rosa, note="x", now=NOW)
    with pytest.raises(Conflict, match="meanwhile"):
        prioritise(manager=mara, workflow=workflow, task_id=task.pk, priority=1, note="", now=NOW)


@pytest.fixture
def sara(workflow: Workflow) -> User:
    user = make_user("sara")
    Membership.objects.create(user=user, workflow=workflow, role="reviewer", is_senior=True)
    return user


def test_who_is_no_senior_any_more_decides_nothing(
    workflow: Workflow, rosa: User, ravi: User, sara: User
) -> None:
    ReviewRules.objects.create(workflow=workflow, consensus="unanimous", created_at=NOW)
    task = make_task(workflow, reviews_wanted=2)
    answer(rosa, task, "spam")
    answer(ravi, task, "lead")
    token = token_of(sara, workflow)
    change_senior(workflow=workflow, user_id=sara.pk, is_senior=False)
    with pytest.raises(LeaseLost):
        submit_review(
            user=sara, lease_token=token, answers={"intent": SPAM}, seconds=1, note="", now=timezone.now()
        )
    assert gets(sara, workflow) is None


def test_who_is_no_senior_any_more_keeps_it_from_nobody(workflow: Workflow, sara: User, mara: User) -> None:
    task = make_task(workflow, stage="escalated")
    hand_to(sara, task)
    assert gets(mara, workflow) is None
    change_senior(workflow=workflow, user_id=sara.pk, is_senior=False)
    assert gets(mara, workflow) == task


def test_who_stays_a_senior_keeps_what_they_have(workflow: Workflow, sara: User) -> None:
    make_task(workflow, stage="escalated")
    token = token_of(sara, workflow)
    change_senior(workflow=workflow, user_id=sara.pk, is_senior=True)
    assert token_of(sara, workflow) == token


def test_who_reads_it_no_longer_keeps_it_from_nobody(workflow: Workflow, rosa: User, ravi: User) -> None:
    german, french = make_task(workflow, language="de"), make_task(workflow, language="fr")
    hand_to(rosa, german)
    hand_to(rosa, french)
    save_preferences(user=rosa, keys=with_usual({}), languages=["fr-CA"])
    assert (gets(ravi, workflow), gets(rosa, workflow)) == (german, french)
