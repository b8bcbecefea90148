"""Who had colleagues' answers in sight gives no answer of their own beside them, whatever is taken back since."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.db import IntegrityError, transaction
from django.test import Client

from apps.accounts.models import User
from apps.core.errors import Conflict
from apps.reviews.errors import NothingToUndo
from apps.reviews.handing import assign, escalate, people_for
from apps.reviews.leases import place_lease, release_lease, skip_task, take_next_task, take_task
from apps.reviews.models import Label, Lease, ReviewRules, ReviewTask, TaskEvent
from apps.reviews.queue import QueueFilter, Seeker
from apps.reviews.services import undo_last_review
from apps.reviews.standing import Waiting, waiting_for
from apps.workflows.models import Workflow
from tests.conftest import SignIn
from tests.factories import NOW, make_task
from tests.insights.answered import answer, cannot_tell
from tests.reviews.desk_forms import submit
from tests.reviews.queue_people import gets, token_of

SOON = NOW + timedelta(seconds=5)


@pytest.fixture
def seen(workflow: Workflow, rosa: User, ravi: User, mara: User) -> ReviewTask:
    """Mara was called to decide and gave it back; then ravi took his answer back, and left it, too."""
    ReviewRules.objects.create(workflow=workflow, consensus="unanimous", created_at=NOW)
    task = make_task(workflow, reviews_wanted=2)
    answer(rosa, task, "lead")
    answer(ravi, task, "spam")
    release_lease(user=mara, lease_token=token_of(mara, workflow))
    undone = undo_last_review(user=ravi, workflow=workflow, now=SOON)
    release_lease(user=ravi, lease_token=undone.token)
    return task


def test_it_works(seen: ReviewTask, workflow: Workflow, ravi: User, mara: User) -> None:
    assert gets(mara, workflow) is None
    assert gets(mara, workflow, QueueFilter(text=seen.item.external_id)) is None
    assert gets(ravi, workflow) == seen
    told = TaskEvent.objects.get(kind="saw_answers")
    assert (told.task, told.user) == (seen, mara)


def test_not_by_name_either(seen: ReviewTask, workflow: Workflow, mara: User) -> None:
    with pytest.raises(Conflict, match="You have seen colleagues’ answers"):
        take_task(user=mara, workflow=workflow, task_id=seen.pk)


def test_nobody_hands_it_to_them(seen: ReviewTask, workflow: Workflow, ravi: User, mara: User) -> None:
    assert people_for(seen) == [ravi]
    with pytest.raises(Conflict, match="cannot take"):
        assign(manager=mara, workflow=workflow, task_id=seen.pk, to=mara, note="x", now=NOW)


def test_the_database_refuses_it_too(seen: ReviewTask, workflow: Workflow, mara: User) -> None:
    with pytest.raises(IntegrityError, match="has seen the answers"), transaction.atomic():
        place_lease(task_id=seen.pk, user=mara, workflow=workflow)


def test_it_is_said_why(seen: ReviewTask, workflow: Workflow, mara: User, signed_in: SignIn) -> None:
    seeker = Seeker.of(mara, workflow)
    assert seeker is not None
    assert waiting_for(seeker) == Waiting(saw=1)
    maras: Client = signed_in(mara)
    assert "not seen colleagues’ answers, as you have" in maras.get("/w/leads/review/").content.decode()
    assert "You saw its answers" in maras.get("/w/leads/review/queue/").content.decode()


def test_others_are_not_told(seen: ReviewTask, ravi: User, signed_in: SignIn) -> None:
    page = signed_in(ravi).get("/w/leads/review/").content.decode()
    assert seen.item.external_id in page
    assert "pened to decide" not in page


def test_handed_to_them_to_decide_it_is_kept_from_nobody(
    workflow: Workflow, rosa: User, ravi: User, mara: User
) -> None:
    ReviewRules.objects.create(workflow=workflow, consensus="unanimous", created_at=NOW)
    task = make_task(workflow, reviews_wanted=2)
    answer(rosa, task, "lead")
    answer(ravi, task, "spam")
    release_lease(user=mara, lease_token=token_of(mara, workflow))
    assign(manager=mara, workflow=workflow, task_id=task.pk, to=mara, note="x", now=NOW)
    release_lease(user=ravi, lease_token=undo_last_review(user=ravi, workflow=workflow, now=SOON).token)
    assert gets(ravi, workflow) == task


def test_called_again_they_decide(seen: ReviewTask, workflow: Workflow, ravi: User, mara: User) -> None:
    answer(ravi, seen, "spam", at=SOON)
    assert gets(mara, workflow) == seen
    assert TaskEvent.objects.filter(kind="saw_answers").count() == 1


def test_who_passes_on_it_gets_it_back_when_only_they_are_left(
    seen: ReviewTask, workflow: Workflow, ravi: User
) -> None:
    skip_task(user=ravi, lease_token=token_of(ravi, workflow), reason="", now=NOW)
    assert gets(ravi, workflow) == seen


def test_escalated_their_answer_stands_above(workflow: Workflow, rosa: User, mara: User) -> None:
    task = make_task(workflow, blind=True)
    cannot_tell(rosa, task)
    release_lease(user=mara, lease_token=token_of(mara, workflow))
    undone = undo_last_review(user=rosa, workflow=workflow, now=SOON)
    escalate(user=rosa, lease_token=undone.token, note="A threat?", now=SOON)
    assert gets(mara, workflow) == task
    answer(mara, task, "spam", at=SOON)
    assert Label.objects.get().source == "adjudication"


def test_what_is_not_blind_hid_nothing(workflow: Workflow, rosa: User, mara: User) -> None:
    task = make_task(workflow)
    cannot_tell(rosa, task)
    release_lease(user=mara, lease_token=token_of(mara, workflow))
    undone = undo_last_review(user=rosa, workflow=workflow, now=SOON)
    release_lease(user=rosa, lease_token=undone.token)
    lease = take_next_task(user=mara, workflow=workflow)
    assert lease is not None
    assert lease.task_id == task.pk


def test_whose_hold_another_decision_ended_does_not_see_it(
    workflow: Workflow, rosa: User, ravi: User, mara: User, signed_in: SignIn
) -> None:
    task = make_task(workflow, reviews_wanted=2)
    leases = [place_lease(task_id=task.pk, user=user, workflow=workflow) for user in (rosa, ravi)]
    escalate(user=rosa, lease_token=leases[0].token, note="A threat?", now=NOW)
    answer(mara, task, "lead")
    # What is wrong with an answer is told beside its item.
    page = submit(signed_in(ravi), leases[1].token, intent="o:spam", note="n" * 10_001).content.decode()
    assert task.item.external_id in page
    assert "mara" not in page


def test_a_decision_stays_that_other_rules_leave_to_reviewers(
    workflow: Workflow, rosa: User, ravi: User, mara: User
) -> None:
    ReviewRules.objects.create(workflow=workflow, consensus="unanimous", created_at=NOW)
    task = make_task(workflow, reviews_wanted=2)
    for user, value in ((rosa, "lead"), (ravi, "spam"), (mara, "spam")):
        answer(user, task, value)
    ReviewRules.objects.create(workflow=workflow, consensus="majority", created_at=SOON)
    with pytest.raises(NothingToUndo, match="rules"):
        undo_last_review(user=mara, workflow=workflow, now=SOON)
    assert not Lease.objects.exists()
