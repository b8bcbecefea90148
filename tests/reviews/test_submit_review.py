from __future__ import annotations

from datetime import timedelta
from uuid import uuid4

import pytest
from django.db import IntegrityError, transaction

from apps.accounts.models import User
from apps.actions.models import ActionRun
from apps.core.errors import InvalidInput
from apps.reviews.errors import LeaseLost
from apps.reviews.leases import take_next_task
from apps.reviews.models import Answer, Label, Lease, Review, ReviewTask
from apps.reviews.services import Submitted, SubmittedAnswer, submit_review
from apps.workflows.models import Workflow
from tests.factories import NOW, make_task


def take(user: User, workflow: Workflow) -> Lease:
    lease = take_next_task(user=user, workflow=workflow)
    assert lease is not None
    return lease


def answer(user: User, lease: Lease, value: str | None = "spam", **more: SubmittedAnswer) -> Submitted:
    answers = {"intent": SubmittedAnswer(value, none_of_these=value is None)} | more
    return submit_review(user=user, lease_token=lease.token, answers=answers, seconds=4.2, note="", now=NOW)


def test_it_works(workflow: Workflow, rosa: User) -> None:
    task = make_task(workflow)
    answer(rosa, take(rosa, workflow), "lead")
    task.refresh_from_db()
    task.item.refresh_from_db()
    assert (task.status, task.item.status, task.item.settled_by) == ("done", "settled", "people")
    assert Answer.objects.get().kind == "correct"
    label = Label.objects.get()
    assert (label.value, label.pi, label.blind) == ("lead", 1.0, False)
    run = ActionRun.objects.get()
    assert (run.status, run.not_before) == ("pending", NOW + timedelta(seconds=10))


def test_same_value_is_accept(workflow: Workflow, rosa: User) -> None:
    make_task(workflow)
    answer(rosa, take(rosa, workflow), "spam")
    assert Answer.objects.get().kind == "accept"


def test_none_of_these_starts_no_action(workflow: Workflow, rosa: User) -> None:
    make_task(workflow)
    answer(rosa, take(rosa, workflow), None)
    assert Answer.objects.get().kind == "none_of_these"
    assert Label.objects.get().value == "other"
    assert not ActionRun.objects.exists()


def test_sent_twice_is_one_review(workflow: Workflow, rosa: User) -> None:
    make_task(workflow)
    lease = take(rosa, workflow)
    first, second = answer(rosa, lease, "spam"), answer(rosa, lease, "spam")
    assert (first.repeated, second.repeated, second.review) == (False, True, first.review)
    assert Label.objects.get().value == "spam"


def test_audit_never_acts(workflow: Workflow, rosa: User) -> None:
    task = make_task(workflow, kind="audit")
    answer(rosa, take(rosa, workflow), "lead")
    task.item.refresh_from_db()
    assert (task.item.settled_by, task.item.audit_open) == ("policy", False)
    assert not ActionRun.objects.exists()
    assert Label.objects.get().pi == 0.1


@pytest.mark.parametrize(
    ("answers", "path"),
    [
        ({}, "answers.intent"),
        ({"intent": SubmittedAnswer("nonsense")}, "answers.intent"),
        ({"intent": SubmittedAnswer(None)}, "answers.intent"),
        ({"intent": SubmittedAnswer("spam"), "mood": SubmittedAnswer("true")}, "answers.mood"),
        ({"intent": SubmittedAnswer("spam", said="x" * 201)}, "answers.intent"),
        ({"intent": SubmittedAnswer(None, cannot_tell=True, said="\0")}, "answers.intent"),
    ],
)
def test_bad_answers_change_nothing(
    workflow: Workflow, rosa: User, answers: dict[str, SubmittedAnswer], path: str
) -> None:
    make_task(workflow)
    lease = take(rosa, workflow)
    with pytest.raises(InvalidInput) as caught:
        submit_review(user=rosa, lease_token=lease.token, answers=answers, seconds=1, note="", now=NOW)
    assert [problem.path for problem in caught.value.problems] == [path]
    assert not Review.objects.exists()


def test_a_colleagues_form_is_refused(workflow: Workflow, rosa: User, ravi: User) -> None:
    make_task(workflow)
    lease = take(rosa, workflow)
    with pytest.raises(LeaseLost):
        answer(ravi, lease)
    with pytest.raises(LeaseLost):
        submit_review(user=rosa, lease_token=uuid4(), answers={}, seconds=1, note="", now=NOW)


def test_a_lease_that_ran_out_counts_while_nobody_else_took_it(workflow: Workflow, rosa: User) -> None:
    make_task(workflow)
    lease = take(rosa, workflow)
    Lease.objects.update(expires_at=NOW - timedelta(days=1))
    assert not answer(rosa, lease).repeated


def test_a_lease_that_ran_out_and_was_taken_names_the_other(
    workflow: Workflow, rosa: User, ravi: User
) -> None:
    make_task(workflow)
    lease = take(rosa, workflow)
    Lease.objects.update(expires_at=NOW - timedelta(days=1))
    take(ravi, workflow)
    with pytest.raises(LeaseLost, match="ravi has it now"):
        answer(rosa, lease)


def test_a_task_answered_meanwhile_names_the_other(workflow: Workflow, rosa: User, ravi: User) -> None:
    make_task(workflow)
    lease = take(rosa, workflow)
    Lease.objects.update(expires_at=NOW - timedelta(days=1))
    answer(ravi, take(ravi, workflow))
    with pytest.raises(LeaseLost, match="ravi has answered"):
        answer(rosa, lease)


def test_answers_and_labels_cannot_be_rewritten(workflow: Workflow, rosa: User) -> None:
    make_task(workflow)
    answer(rosa, take(rosa, workflow))
    with pytest.raises(IntegrityError, match="never edited"), transaction.atomic():
        Answer.objects.update(value="lead")
    with pytest.raises(IntegrityError, match="never edited"), transaction.atomic():
        Label.objects.update(value="lead")


def test_a_question_hold_acts_on_the_policys_label(workflow: Workflow, rosa: User) -> None:
    make_task(workflow, asked=["money"])
    lease = take(rosa, workflow)
    given = {"money": SubmittedAnswer("false")}
    submit_review(user=rosa, lease_token=lease.token, answers=given, seconds=1, note="", now=NOW)
    assert ActionRun.objects.get().action.label == "spam"
    assert ReviewTask.objects.get().status == "done"
