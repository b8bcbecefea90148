from __future__ import annotations

import re
from datetime import timedelta

import pytest
from django.test import Client
from django.utils import timezone

from apps.accounts.models import User
from apps.reviews.leases import take_next_task
from apps.reviews.models import Lease
from apps.workflows.access import get_token_for
from apps.workflows.models import ApiToken, Endpoint, Membership, Question, Workflow
from tests.conftest import SignIn
from tests.factories import NOW, make_task
from tests.reviews.queue_people import hand_to

SETTINGS = "/w/leads/settings/"


@pytest.fixture
def maras(workflow: Workflow, mara: User, signed_in: SignIn) -> Client:
    return signed_in(mara)


def test_it_works(maras: Client) -> None:
    page = maras.get(SETTINGS)
    assert page.status_code == 200
    text = page.content.decode()
    for shown in (
        "What is this message?",
        "I want to buy your product for my company",
        "Version 1 of 1",
        "<bdi>mara</bdi>",
        "standin-ngram-1",
        "http://127.0.0.1:9",
        'value="300"',
    ):
        assert shown in text, shown


def test_reviewers_and_strangers_stay_out(
    workflow: Workflow, rosa: User, nora: User, signed_in: SignIn
) -> None:
    assert signed_in(rosa).get(SETTINGS).status_code == 403
    assert signed_in(nora).get(SETTINGS).status_code == 404
    assert signed_in(rosa).post(SETTINGS + "tokens/", {}).status_code == 403


def test_somebody_is_added_and_removed(maras: Client, nora: User, workflow: Workflow) -> None:
    added = maras.post(SETTINGS + "people/", {"member-username": "nora", "member-role": "reviewer"})
    assert (added.status_code, added["Location"]) == (302, SETTINGS)
    assert Membership.objects.get(user=nora, workflow=workflow).role == "reviewer"
    assert maras.post(f"{SETTINGS}people/{nora.pk}/remove/").status_code == 302
    assert not Membership.objects.filter(user=nora).exists()


def test_an_unknown_name_comes_back_with_the_reason(maras: Client) -> None:
    page = maras.post(SETTINGS + "people/", {"member-username": "<b>x", "member-role": "reviewer"})
    assert page.status_code == 422
    text = page.content.decode()
    assert "Nobody who can sign in has this name." in text
    assert 'value="&lt;b&gt;x"' in text


def test_the_last_manager_stays(maras: Client, mara: User) -> None:
    page = maras.post(f"{SETTINGS}people/{mara.pk}/remove/")
    assert page.status_code == 409
    assert "mara is the last manager here." in page.content.decode()
    page = maras.post(SETTINGS + "people/", {"member-username": "mara", "member-role": "reviewer"})
    assert page.status_code == 409


def test_removing_somebody_gives_back_their_desk(maras: Client, rosa: User, workflow: Workflow) -> None:
    make_task(workflow)
    take_next_task(user=rosa, workflow=workflow)
    maras.post(f"{SETTINGS}people/{rosa.pk}/remove/")
    assert not Lease.objects.exists()


def test_people_of_other_workflows_are_out_of_reach(maras: Client, nora: User) -> None:
    assert maras.post(f"{SETTINGS}people/{nora.pk}/remove/").status_code == 404


def test_a_secret_is_shown_once(maras: Client, mara: User) -> None:
    form = {"token-name": "mail", "token-scopes": ["read", "ingest"], "token-expires_on": ""}
    page = maras.post(SETTINGS + "tokens/", form)
    assert page.status_code == 201
    secret = re.findall(r"fmt_[\w-]{40,}", page.content.decode())
    assert len(secret) == 1
    token = get_token_for(secret=secret[0], now=timezone.now())
    assert token is not None
    assert (token.user, token.scopes) == (mara, ["ingest", "read"])
    assert secret[0] not in maras.get(SETTINGS).content.decode()


def test_a_token_ends_after_its_last_day(maras: Client) -> None:
    today = timezone.now().date()
    form = {"token-name": "mail", "token-scopes": ["read"], "token-expires_on": today.isoformat()}
    maras.post(SETTINGS + "tokens/", form)
    token = ApiToken.objects.get()
    assert token.is_valid(timezone.now())
    assert not token.is_valid(timezone.now() + timedelta(days=1))


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("name", ""),
        ("name", " "),
        ("name", "a\x00"),
        ("scopes", []),
        ("scopes", ["all"]),
        ("expires_on", "2020-01-01"),
    ],
)
def test_a_wrong_token_is_refused_by_field(maras: Client, field: str, value: str | list[str]) -> None:
    form = {"token-name": "mail", "token-scopes": ["read"], f"token-{field}": value}
    page = maras.post(SETTINGS + "tokens/", form)
    assert page.status_code == 422
    assert 'class="errorlist' in page.content.decode()
    assert not ApiToken.objects.exists()


def test_a_token_is_revoked(maras: Client) -> None:
    maras.post(SETTINGS + "tokens/", {"token-name": "mail", "token-scopes": ["read"]})
    token = ApiToken.objects.get()
    assert maras.post(f"{SETTINGS}tokens/{token.pk}/revoke/").status_code == 302
    assert "Revoked" in maras.get(SETTINGS).content.decode()
    assert maras.post(f"{SETTINGS}tokens/{token.pk + 1}/revoke/").status_code == 404


def test_times_are_changed_within_bounds(maras: Client, workflow: Workflow) -> None:
    form = {"limits-lease_s": 60, "limits-undo_s": 5, "limits-due_hours": 48}
    assert maras.post(SETTINGS + "limits/", form).status_code == 302
    workflow.refresh_from_db()
    assert (workflow.lease_s, workflow.undo_s, workflow.due_hours) == (60, 5, 48)
    page = maras.post(SETTINGS + "limits/", form | {"limits-lease_s": 5})
    assert page.status_code == 422
    assert 'value="5"' in page.content.decode()


def test_stored_words_are_inert_and_secrets_of_addresses_stay_out(maras: Client) -> None:
    evil = "<script>alert(1)</script>"
    Question.objects.update(instructions=evil)
    Endpoint.objects.update(name=evil, base_url="https://user:hidden-password@example.org/v1?key=hidden-key")
    page = maras.get(SETTINGS).content.decode()
    assert evil not in page
    assert "https://example.org/v1" in page
    assert "hidden" not in page.split("<main")[1].replace('type="hidden"', "").replace("visually-hidden", "")


def test_what_was_handed_to_the_removed_is_everybodys(maras: Client, rosa: User, workflow: Workflow) -> None:
    task = make_task(workflow)
    hand_to(rosa, task)
    maras.post(f"{SETTINGS}people/{rosa.pk}/remove/")
    task.refresh_from_db()
    assert (task.assigned_to, task.assigned_until) == (None, None)


def test_answers_of_the_removed_stay(maras: Client, rosa: User, workflow: Workflow) -> None:
    task = make_task(workflow)
    task.reviews.create(user=rosa, revision=1, blind=False, lease_token="0" * 32, created_at=NOW)
    maras.post(f"{SETTINGS}people/{rosa.pk}/remove/")
    assert task.reviews.count() == 1


def test_numbers_nobody_can_have(maras: Client) -> None:
    assert maras.post(f"{SETTINGS}people/{10**30}/remove/").status_code == 404
    assert maras.post(f"{SETTINGS}tokens/{10**30}/revoke/").status_code == 404


def test_who_is_no_manager_any_more_has_nothing_of_theirs_on_the_desk(
    maras: Client, rosa: User, workflow: Workflow
) -> None:
    Membership.objects.filter(user=rosa).update(role="manager")
    make_task(workflow, stage="escalated")
    assert take_next_task(user=rosa, workflow=workflow)
    maras.post(f"{SETTINGS}people/", {"member-username": "rosa", "member-role": "reviewer"})
    assert not Lease.objects.exists()
