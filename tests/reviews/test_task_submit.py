from __future__ import annotations

import uuid

import pytest

from apps.accounts.models import User
from apps.reviews.leases import take_next_task
from apps.reviews.models import Lease, Review
from apps.workflows.models import Role, Workflow
from tests.conftest import SignIn
from tests.factories import join, make_task
from tests.reviews.desk_forms import DESK, lease_on, open_desk, submit


def test_it_works(signed_in: SignIn, rosa: User, workflow: Workflow) -> None:
    first, second = make_task(workflow), make_task(workflow)
    client = signed_in(rosa)
    page = submit(client, lease_on(open_desk(client)), intent="o:lead", seconds="3.5").content.decode()
    assert second.item.external_id in page
    assert "Saved. Next item." in page
    review = Review.objects.get(task=first)
    assert (review.seconds, review.answers.get().value) == (3.5, "lead")


def test_without_javascript_it_leads_back_to_the_desk(
    signed_in: SignIn, rosa: User, workflow: Workflow
) -> None:
    make_task(workflow)
    client = signed_in(rosa)
    answer = submit(client, lease_on(open_desk(client)), headers={}, intent="o:lead")
    assert (answer.status_code, answer.headers["Location"]) == (302, DESK)
    assert "Saved." in open_desk(client)


def test_sent_twice_is_one_review(signed_in: SignIn, rosa: User, workflow: Workflow) -> None:
    make_task(workflow)
    client = signed_in(rosa)
    lease = lease_on(open_desk(client))
    assert submit(client, lease, intent="o:lead").status_code == 200
    assert submit(client, lease, intent="o:lead").status_code == 200
    assert submit(client, lease, intent="o:spam").status_code == 409
    assert Review.objects.get().answers.get().value == "lead"


def test_the_last_item_leaves_an_empty_desk(signed_in: SignIn, rosa: User, workflow: Workflow) -> None:
    make_task(workflow)
    client = signed_in(rosa)
    answer = submit(client, lease_on(open_desk(client)), intent="o:lead")
    assert answer.status_code == 200
    assert "Nothing for you now" in answer.content.decode()


def test_none_of_these_is_the_option_that_says_so(signed_in: SignIn, rosa: User, workflow: Workflow) -> None:
    make_task(workflow)
    client = signed_in(rosa)
    submit(client, lease_on(open_desk(client)), intent="none")
    answer = Review.objects.get().answers.get()
    assert (answer.kind, answer.value) == ("none_of_these", "other")


def test_accepting_all_keeps_what_was_picked(signed_in: SignIn, rosa: User, workflow: Workflow) -> None:
    make_task(workflow, asked=["intent", "money"])
    client = signed_in(rosa)
    form = {
        "lease": str(lease_on(open_desk(client))),
        "accept": "all",
        "s:intent": "o:spam",
        "s:money": "o:false",
        "q:money": "o:true",
    }
    client.post(f"{DESK}submit/", form)
    given = {answer.question.key: answer.value for answer in Review.objects.get().answers.all()}
    assert given == {"intent": "spam", "money": "true"}


def test_what_is_missing_is_named_and_the_rest_is_kept(
    signed_in: SignIn, rosa: User, workflow: Workflow
) -> None:
    make_task(workflow, asked=["intent", "money"])
    client = signed_in(rosa)
    answer = submit(client, lease_on(open_desk(client)), money="o:true", note="Ask Ann")
    page = answer.content.decode()
    assert answer.status_code == 422
    assert "<bdi>Intent</bdi>: needs an answer" in page
    assert 'value="o:true" checked' in page
    assert "Ask Ann" in page


@pytest.mark.parametrize("value", ["o:nonsense", "spam", "o:", "o:\x00", ""])
def test_an_answer_that_is_no_option_is_refused(
    signed_in: SignIn, rosa: User, workflow: Workflow, value: str
) -> None:
    make_task(workflow)
    client = signed_in(rosa)
    answer = submit(client, lease_on(open_desk(client)), intent=value)
    assert answer.status_code == 422
    assert not Review.objects.exists()


def test_a_note_that_cannot_be_stored_is_refused_and_kept(
    signed_in: SignIn, rosa: User, workflow: Workflow
) -> None:
    make_task(workflow)
    client = signed_in(rosa)
    answer = submit(client, lease_on(open_desk(client)), intent="o:lead", note="before\x00after")
    assert answer.status_code == 422
    assert "after" in answer.content.decode()
    assert not Review.objects.exists()


@pytest.mark.parametrize("lease", ["", "nonsense", "\x00"])
def test_a_form_without_its_lease_is_refused(
    signed_in: SignIn, rosa: User, workflow: Workflow, lease: str
) -> None:
    make_task(workflow)
    assert submit(signed_in(rosa), lease, intent="o:lead").status_code == 422
    assert not Review.objects.exists()


@pytest.mark.parametrize("seconds", ["", "-1", "nan", "inf", "a while"])
def test_a_clock_that_cannot_say_costs_no_answer(
    signed_in: SignIn, rosa: User, workflow: Workflow, seconds: str
) -> None:
    make_task(workflow)
    client = signed_in(rosa)
    submit(client, lease_on(open_desk(client)), intent="o:lead", seconds=seconds)
    assert Review.objects.get().seconds is None


def test_a_lost_item_says_who_has_it_and_keeps_the_note(
    signed_in: SignIn, rosa: User, ravi: User, workflow: Workflow
) -> None:
    make_task(workflow)
    client = signed_in(rosa)
    lease = lease_on(open_desk(client))
    Lease.objects.update(expires_at="2020-01-01T00:00:00Z")
    take_next_task(user=ravi, workflow=workflow)
    answer = submit(client, lease, intent="o:lead", note="Call <b>back</b>")
    assert answer.status_code == 409
    page = answer.content.decode()
    assert "ravi has it now" in page
    assert "Call &lt;b&gt;back&lt;/b&gt;" in page
    assert not Review.objects.exists()


def test_a_lost_item_is_a_whole_page_without_javascript(
    signed_in: SignIn, rosa: User, workflow: Workflow
) -> None:
    answer = submit(signed_in(rosa), uuid.uuid4(), headers={}, intent="o:lead")
    assert answer.status_code == 409
    assert "<!DOCTYPE html>" in answer.content.decode()


def test_a_colleagues_form_is_refused(signed_in: SignIn, rosa: User, ravi: User, workflow: Workflow) -> None:
    make_task(workflow)
    lease = take_next_task(user=ravi, workflow=workflow)
    assert lease is not None
    assert submit(signed_in(rosa), lease.token, intent="o:lead").status_code == 409
    assert not Review.objects.exists()


def test_a_task_is_answered_through_its_own_workflow_only(
    signed_in: SignIn, rosa: User, workflow: Workflow, other_workflow: Workflow
) -> None:
    membership = join(rosa, other_workflow, Role.REVIEWER)
    make_task(other_workflow)
    lease = take_next_task(user=rosa, workflow=other_workflow)
    membership.delete()
    assert lease is not None
    assert submit(signed_in(rosa), lease.token, intent="o:lead").status_code == 409
    assert not Review.objects.exists()
