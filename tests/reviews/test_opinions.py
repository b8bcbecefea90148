"""Several people on one item: what each answer, and each one taken back, leaves behind."""

from __future__ import annotations

from datetime import timedelta

import pytest

from apps.accounts.models import User
from apps.actions.models import ActionRun
from apps.reviews.errors import NothingToUndo
from apps.reviews.leases import place_lease, take_next_task
from apps.reviews.models import Answer, Label, Lease, ReviewRules, ReviewTask, TaskEvent
from apps.reviews.selectors import desk_task, is_hidden_from
from apps.reviews.services import SubmittedAnswer, undo_last_review
from apps.workflows.models import Membership, Role, Workflow
from tests.factories import NOW, join, make_task, make_user
from tests.insights.answered import answer, cannot_tell, send

SOON = NOW + timedelta(seconds=5)


@pytest.fixture
def sara(workflow: Workflow) -> User:
    sara = make_user("sara")
    join(sara, workflow, Role.REVIEWER)
    return sara


def rule(workflow: Workflow, consensus: str, **more: int) -> None:
    ReviewRules.objects.create(workflow=workflow, consensus=consensus, created_at=NOW, **more)


def state(task: ReviewTask) -> tuple[str, str, int, int]:
    task.refresh_from_db()
    return task.status, task.stage, task.reviews_done, task.reviews_needed


def test_it_works(workflow: Workflow, rosa: User, ravi: User) -> None:
    task = make_task(workflow, reviews_wanted=2)
    answer(rosa, task, "lead")
    assert not Label.objects.exists()
    second = answer(ravi, task, "lead")
    assert state(task) == ("done", "review", 2, 2)
    label = Label.objects.get()
    assert (label.value, label.source, label.review, label.blind) == ("lead", "consensus", second, True)
    assert ActionRun.objects.get().action.label == "lead"


def test_two_who_differ_call_a_third(workflow: Workflow, rosa: User, ravi: User, sara: User) -> None:
    task = make_task(workflow, reviews_wanted=2)
    answer(rosa, task, "lead")
    answer(ravi, task, "spam")
    assert state(task) == ("open", "review", 2, 3)
    assert TaskEvent.objects.get().note == "3 answers instead of 2"
    answer(sara, task, "spam")
    assert Label.objects.get().value == "spam"


def test_unanimous_calls_a_senior(workflow: Workflow, rosa: User, ravi: User, sara: User, mara: User) -> None:
    rule(workflow, "unanimous")
    task = make_task(workflow, reviews_wanted=2)
    answer(rosa, task, "lead")
    answer(ravi, task, "spam")
    assert state(task) == ("open", "adjudication", 2, 3)
    assert take_next_task(user=sara, workflow=workflow) is None
    answer(mara, task, "customer")
    label = Label.objects.get()
    assert (label.value, label.source, label.review) == (
        "customer",
        "adjudication",
        task.reviews.latest("id"),
    )


def test_a_seniors_answer_decides_where_the_rule_says_so(workflow: Workflow, rosa: User, ravi: User) -> None:
    rule(workflow, "senior")
    Membership.objects.filter(user=ravi).update(is_senior=True)
    task = make_task(workflow, reviews_wanted=2)
    answer(ravi, task, "spam")
    answer(rosa, task, "lead")
    assert Label.objects.get().value == "spam"


def test_what_nobody_can_tell_is_settled_without_a_label(workflow: Workflow, rosa: User, mara: User) -> None:
    task = make_task(workflow)
    cannot_tell(rosa, task, said="Not for us")
    assert state(task) == ("open", "adjudication", 1, 2)
    cannot_tell(mara, task)
    task.item.refresh_from_db()
    assert (state(task)[0], task.item.status, task.item.settled_by) == ("done", "settled", "people")
    assert (Label.objects.count(), ActionRun.objects.count()) == (0, 0)
    assert Answer.objects.earliest("id").said == "Not for us"


def test_a_check_nobody_can_tell_is_closed_without_a_label(workflow: Workflow, mara: User) -> None:
    task = make_task(workflow, kind="audit")
    cannot_tell(mara, task)
    task.item.refresh_from_db()
    assert (state(task)[0], task.item.audit_open, Label.objects.count()) == ("done", False, 0)


def test_a_proposed_option_is_kept(workflow: Workflow, rosa: User) -> None:
    given = SubmittedAnswer(None, none_of_these=True, said=" Press enquiry ")
    send(rosa, make_task(workflow), {"intent": given})
    kept = Answer.objects.get()
    assert (kept.kind, kept.value, kept.said) == ("none_of_these", "other", "Press enquiry")


def test_what_is_said_beside_an_option_is_dropped(workflow: Workflow, rosa: User) -> None:
    send(rosa, make_task(workflow), {"intent": SubmittedAnswer("spam", said="Press enquiry")})
    assert Answer.objects.get().said == ""


def test_a_question_answered_unasked_has_a_label_of_its_own_kind(workflow: Workflow, rosa: User) -> None:
    answers = {"intent": SubmittedAnswer("spam"), "money": SubmittedAnswer("true")}
    send(rosa, make_task(workflow), answers)
    asked = Label.objects.order_by("question__position").values_list("question__key", "is_asked")
    assert list(asked) == [("intent", True), ("money", False)]
    assert Answer.objects.get(question__key="money").is_asked is False


def test_the_first_answer_can_be_taken_back_when_the_second_has_settled_it(
    workflow: Workflow, rosa: User, ravi: User
) -> None:
    task = make_task(workflow, reviews_wanted=2)
    answer(rosa, task, "lead")
    answer(ravi, task, "lead")
    assert undo_last_review(user=rosa, workflow=workflow, now=SOON).task_id == task.pk
    assert state(task) == ("open", "review", 1, 2)
    assert Label.objects.get().taken_back_at == SOON
    assert ActionRun.objects.get().status == "cancelled"
    answer(rosa, task, "lead", at=SOON)
    assert Label.objects.get(taken_back_at=None).value == "lead"


def test_an_undo_takes_back_the_third_opinion_too(workflow: Workflow, rosa: User, ravi: User) -> None:
    task = make_task(workflow, reviews_wanted=2)
    answer(rosa, task, "lead")
    answer(ravi, task, "spam")
    undo_last_review(user=ravi, workflow=workflow, now=SOON)
    assert state(task) == ("open", "review", 1, 2)


def test_an_undo_beside_a_third_makes_room(workflow: Workflow, rosa: User, ravi: User, sara: User) -> None:
    task = make_task(workflow, reviews_wanted=2)
    answer(rosa, task, "lead")
    answer(ravi, task, "spam")
    place_lease(task_id=task.pk, user=sara, workflow=workflow)
    undo_last_review(user=ravi, workflow=workflow, now=SOON)
    assert state(task) == ("open", "review", 1, 3)
    assert Lease.objects.count() == 2
    answer(sara, task, "lead", at=SOON)
    assert state(task)[0] == "done"


def test_not_while_a_senior_decides_nor_afterwards(
    workflow: Workflow, rosa: User, ravi: User, mara: User
) -> None:
    rule(workflow, "unanimous")
    task = make_task(workflow, reviews_wanted=2)
    answer(rosa, task, "lead")
    answer(ravi, task, "spam")
    place_lease(task_id=task.pk, user=mara, workflow=workflow)
    with pytest.raises(NothingToUndo, match="mara is deciding"):
        undo_last_review(user=ravi, workflow=workflow, now=SOON)
    answer(mara, task, "spam", at=SOON)
    with pytest.raises(NothingToUndo, match="mara has decided"):
        undo_last_review(user=ravi, workflow=workflow, now=SOON)


def test_who_decided_may_take_it_back(workflow: Workflow, rosa: User, ravi: User, mara: User) -> None:
    rule(workflow, "unanimous")
    task = make_task(workflow, reviews_wanted=2)
    answer(rosa, task, "lead")
    answer(ravi, task, "spam")
    answer(mara, task, "spam", at=SOON)
    undo_last_review(user=mara, workflow=workflow, now=SOON)
    assert state(task) == ("open", "adjudication", 2, 3)
    answer(mara, task, "lead", at=SOON)
    assert Label.objects.get(taken_back_at=None).value == "lead"


def test_who_decides_sees_answers_side_by_side_and_no_model(
    workflow: Workflow, rosa: User, ravi: User, mara: User
) -> None:
    rule(workflow, "unanimous")
    task = make_task(workflow, reviews_wanted=2)
    send(rosa, task, {"intent": SubmittedAnswer("lead")}, note="She asks for prices")
    send(ravi, task, {"intent": SubmittedAnswer(None, cannot_tell=True, said="Unreadable")})
    shown = desk_task(place_lease(task_id=task.pk, user=mara, workflow=workflow))
    assert shown.adjudication is not None
    assert [person.note for person in shown.adjudication.people] == ["She asks for prices", ""]
    [row] = shown.adjudication.rows
    assert [(each.value, each.said) for cell in row.cells if (each := cell.given)] == [
        ("Qualified lead", ""),
        ("Cannot tell", "Unreadable"),
    ]
    assert (shown.model, shown.asked[0].suggestion) == ("", None)
    assert is_hidden_from(user=mara, item=task.item)


def test_an_opinion_is_shown_no_others(workflow: Workflow, rosa: User, ravi: User) -> None:
    task = make_task(workflow, reviews_wanted=2)
    answer(rosa, task, "lead")
    assert desk_task(place_lease(task_id=task.pk, user=ravi, workflow=workflow)).adjudication is None


def escalate(task: ReviewTask, by: User) -> None:
    TaskEvent.objects.create(task=task, kind="escalated", user=by, created_at=NOW)
    ReviewTask.objects.filter(pk=task.pk).update(stage="escalated")


def test_of_several_opinions_an_escalated_one_decides(workflow: Workflow, rosa: User, mara: User) -> None:
    task = make_task(workflow, reviews_wanted=3)
    answer(rosa, task, "lead")
    escalate(task, rosa)
    with pytest.raises(NothingToUndo, match="a senior’s to decide"):
        undo_last_review(user=rosa, workflow=workflow, now=SOON)
    answer(mara, task, "spam")
    assert state(task)[0] == "done"
    assert (Label.objects.get().value, Label.objects.get().source) == ("spam", "adjudication")


def test_a_single_escalated_opinion_is_an_opinion(workflow: Workflow, rosa: User, mara: User) -> None:
    task = make_task(workflow)
    escalate(task, rosa)
    answer(mara, task, "lead")
    assert state(task) == ("done", "escalated", 1, 1)
    assert Label.objects.get().source == "review"


def test_who_was_handed_it_gives_it_free_by_answering(workflow: Workflow, rosa: User, ravi: User) -> None:
    task = make_task(workflow, reviews_wanted=2, assigned_to=rosa, assigned_until=NOW + timedelta(days=9_999))
    answer(rosa, task, "lead")
    lease = take_next_task(user=ravi, workflow=workflow)
    assert lease is not None
    assert lease.task_id == task.pk
