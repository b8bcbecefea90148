from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from django.utils import timezone

from apps.accounts.models import User
from apps.reviews.bar import session_bar
from apps.reviews.errors import NothingToUndo
from apps.reviews.leases import take_next_task
from apps.reviews.models import Lease
from apps.reviews.selectors import DeskTask, desk_task, is_hidden_from, start_of_day
from apps.reviews.services import SubmittedAnswer, submit_review, undo_last_review
from apps.workflows.models import Role, Workflow
from tests.conftest import SignIn
from tests.factories import NOW, RULES, join, make_task, make_workflow


def desk(user: User, workflow: Workflow) -> tuple[Lease, DeskTask]:
    lease = take_next_task(user=user, workflow=workflow)
    assert lease is not None
    return lease, desk_task(lease)


def test_it_works(workflow: Workflow, rosa: User) -> None:
    make_task(workflow)
    _, shown = desk(rosa, workflow)
    (intent,) = shown.asked
    assert (intent.suggestion, [option.id for option in intent.options if option.is_suggested]) == (
        "spam",
        ["spam"],
    )
    assert shown.chances["intent"]["spam"].p == 0.7
    assert "Spam" in shown.reasons[0]
    assert shown.model == "standin-ngram-1"


def test_a_blind_task_shows_nothing_of_the_model(workflow: Workflow, rosa: User) -> None:
    make_task(workflow, kind="audit")
    _, shown = desk(rosa, workflow)
    assert (shown.asked[0].suggestion, shown.model) == (None, "")
    assert shown.chances == {}
    assert not any(option.is_suggested for q in shown.questions for option in q.options)
    assert "Spam" not in " ".join(shown.reasons)


def test_a_map_stands_beside_what_the_model_gave(rosa: User, signed_in: SignIn) -> None:
    maps = {"intent": {"kind": "temperature", "t": 0.5}}
    workflow = make_workflow("mapped", rules=RULES | {"maps": maps})
    join(rosa, workflow, Role.REVIEWER)
    make_task(workflow)
    _, shown = desk(rosa, workflow)
    suggested = shown.chances["intent"]["spam"]
    assert suggested.p == 0.7
    assert suggested.mapped == pytest.approx(0.49 / (0.49 + 3 * 0.01))
    assert "mapped 94.2 %" in signed_in(rosa).get("/w/mapped/review/").content.decode()


def test_hidden_until_answered(workflow: Workflow, rosa: User, ravi: User) -> None:
    task = make_task(workflow, kind="audit")
    assert is_hidden_from(user=rosa, item=task.item)
    lease, _ = desk(rosa, workflow)
    given = {"intent": SubmittedAnswer("spam")}
    submit_review(user=rosa, lease_token=lease.token, answers=given, seconds=1, note="", now=NOW)
    assert not is_hidden_from(user=rosa, item=task.item)
    assert not is_hidden_from(user=ravi, item=make_task(workflow).item)


def test_hidden_while_the_answer_can_be_taken_back(workflow: Workflow, rosa: User, ravi: User) -> None:
    task = make_task(workflow, kind="audit")
    lease, _ = desk(rosa, workflow)
    given = {"intent": SubmittedAnswer("spam")}
    now = timezone.now()
    submit_review(user=rosa, lease_token=lease.token, answers=given, seconds=1, note="", now=now)
    assert is_hidden_from(user=rosa, item=task.item)
    assert is_hidden_from(user=ravi, item=task.item)
    with pytest.raises(NothingToUndo):
        undo_last_review(user=rosa, workflow=workflow, now=now + timedelta(seconds=11))


def test_done_today_by_the_workflows_clock(workflow: Workflow, rosa: User) -> None:
    make_task(workflow)
    lease, _ = desk(rosa, workflow)
    given = {"intent": SubmittedAnswer("spam")}
    submit_review(user=rosa, lease_token=lease.token, answers=given, seconds=3, note="", now=NOW)
    today = session_bar(user=rosa, workflow=workflow, now=NOW, counts_left=False)
    tomorrow = session_bar(user=rosa, workflow=workflow, now=NOW + timedelta(days=1), counts_left=False)
    assert (today.done_today, today.median_seconds, tomorrow.done_today) == (1, 3, 0)


def test_a_day_begins_where_the_workflow_is(workflow: Workflow) -> None:
    workflow.time_zone = "Asia/Amman"
    assert start_of_day(workflow, NOW) == datetime(2026, 11, 29, 21, tzinfo=UTC)


def test_the_last_answered_item_is_known_until_it_is_taken_back(workflow: Workflow, rosa: User) -> None:
    task = make_task(workflow)
    lease, _ = desk(rosa, workflow)
    now = timezone.now()
    given = {"intent": SubmittedAnswer("spam")}
    submit_review(user=rosa, lease_token=lease.token, answers=given, seconds=1, note="", now=now)
    assert session_bar(user=rosa, workflow=workflow, now=now, counts_left=False).last_item == task.item
    undo_last_review(user=rosa, workflow=workflow, now=now)
    assert session_bar(user=rosa, workflow=workflow, now=now, counts_left=False).last_item is None
