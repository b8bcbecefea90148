"""The page where managers say how many people look, name seniors, and read what people miss."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import Client

from apps.accounts.models import User
from apps.policies.readable import isolated
from apps.reviews.models import ReviewRules, ReviewTask
from apps.reviews.services import SubmittedAnswer
from apps.workflows.models import Membership, Workflow
from tests.conftest import SignIn
from tests.factories import make_task
from tests.insights.answered import answer, cannot_tell, send

PAGE = "/w/leads/settings/opinions/"
FORM = {"wanted": "1", "second_share": "10", "consensus": "majority", "most": "3", "label:spam": "2"}


@pytest.fixture
def maras(workflow: Workflow, mara: User, signed_in: SignIn) -> Client:
    return signed_in(mara)


def page(client: Client) -> str:
    return client.get(PAGE).content.decode()


def save(client: Client, **more: Any) -> Any:
    return client.post(f"{PAGE}change/", FORM | more, follow=True)


def propose(user: User, workflow: Workflow, text: str, **task: Any) -> None:
    given = SubmittedAnswer(None, none_of_these=True, said=text)
    send(user, make_task(workflow, **task), {"intent": given})


def test_it_works(workflow: Workflow, maras: Client) -> None:
    make_task(workflow)
    assert "One person has always been asked." in page(maras)
    text = save(maras).content.decode()
    assert "It holds for items that come from now on." in text
    assert f"2 people where the model says {isolated('Spam')}." in text
    assert "Two people for 10 % of the others." in text
    rules = ReviewRules.objects.get()
    assert (rules.wanted_by_label, rules.second_share) == ({"spam": 2}, 0.1)


def test_what_is_wrong_stands_beside_its_field(maras: Client) -> None:
    response = save(maras, **{"most": "2", "label:spam": "3"})
    assert response.status_code == 422
    assert "must be from 1 to 2" in response.content.decode()
    assert save(maras, wanted="8").status_code == 422
    assert not ReviewRules.objects.exists()


def test_what_was_set_is_in_the_form(maras: Client) -> None:
    save(maras)
    assert 'name="label:spam" value="2"' in page(maras)
    assert 'name="second_share" value="10"' in page(maras)


def test_a_senior_is_named_and_unnamed(workflow: Workflow, maras: Client, rosa: User, nora: User) -> None:
    change = f"{PAGE}seniors/{rosa.pk}/"
    maras.post(change, {"senior": "yes"})
    assert Membership.objects.get(user=rosa).is_senior
    maras.post(change, {"senior": "no"})
    assert not Membership.objects.get(user=rosa).is_senior
    assert maras.post(f"{PAGE}seniors/{nora.pk}/", {"senior": "yes"}).status_code == 404


def test_proposed_options_are_counted(workflow: Workflow, maras: Client, rosa: User, ravi: User) -> None:
    propose(rosa, workflow, "Press enquiry")
    propose(ravi, workflow, "press enquiry")
    cannot_tell(ravi, make_task(workflow), said="Not for us")
    text = page(maras)
    assert text.casefold().count("press enquiry") == 1
    assert 'data-label="Times" class="num">2<' in text
    assert "Not for us" in text


def test_what_may_still_be_answered_blind_is_not_told(workflow: Workflow, maras: Client, rosa: User) -> None:
    propose(rosa, workflow, "Press enquiry", reviews_wanted=2)
    assert "Press enquiry" not in page(maras)


def test_a_proposal_taken_back_is_gone(workflow: Workflow, maras: Client, rosa: User) -> None:
    propose(rosa, workflow, "Press enquiry")
    ReviewTask.objects.get().reviews.update(taken_back_at="2026-11-30T09:00:00Z")
    assert "Press enquiry" not in page(maras)


def test_what_nobody_may_decide_is_said(workflow: Workflow, maras: Client, mara: User, rosa: User) -> None:
    ReviewRules.objects.create(workflow=workflow, consensus="unanimous", created_at="2026-11-30T09:00:00Z")
    task = make_task(workflow, reviews_wanted=2)
    answer(mara, task, "lead")
    answer(rosa, task, "spam")
    assert "1 item waits for a decision that nobody here may give" in page(maras)
    Membership.objects.filter(user=rosa).update(is_senior=True)
    assert "nobody here may give" in page(maras)


def test_too_few_people_are_told(workflow: Workflow, maras: Client, rosa: User) -> None:
    save(maras)
    assert "such an item waits" not in page(maras)
    save(maras, wanted="3")
    assert "Some items need 3 people, and 2 can sign in here" in page(maras)


def test_a_proposal_is_inert(workflow: Workflow, maras: Client, rosa: User) -> None:
    propose(rosa, workflow, "<script>alert(1)</script>")
    assert "<script>alert(1)" not in page(maras)
