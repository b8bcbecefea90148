from __future__ import annotations

from datetime import timedelta

import pytest
from django.utils import timezone

from apps.accounts.models import User
from apps.insights.items import PAGE
from apps.reviews.leases import take_next_task
from apps.reviews.models import Lease
from apps.workflows.models import Endpoint, Workflow
from tests.conftest import SignIn
from tests.factories import NOW, make_item, make_task

ITEMS = "/w/leads/items/"


def test_it_works(workflow: Workflow, rosa: User, signed_in: SignIn) -> None:
    make_task(workflow, label="spam", p=0.7)
    page = signed_in(rosa).get(ITEMS)
    assert page.status_code == 200
    for shown in ("Hello", "item-1", "Spam", "70.0 %", "In review", "standin-ngram-1"):
        assert shown in page.content.decode()


def test_htmx_gets_the_table_alone(workflow: Workflow, rosa: User, signed_in: SignIn) -> None:
    headers = {"HX-Request": "true", "HX-Target": "found"}
    page = signed_in(rosa).get(ITEMS, {"text": "nothing"}, headers=headers).content.decode()
    assert page.lstrip().startswith('<section id="found"')
    assert "Nothing matches" in page


@pytest.mark.parametrize(
    "query",
    [
        {"status": "lost"},
        {"outcome": "maybe"},
        {"label": "nope"},
        {"before": "x"},
        {"after": str(2**63)},
        {"text": "a" * 201},
    ],
)
def test_a_filter_that_cannot_be_is_named(
    workflow: Workflow, rosa: User, signed_in: SignIn, query: dict[str, str]
) -> None:
    page = signed_in(rosa).get(ITEMS, query)
    assert page.status_code == 422
    assert f"<bdi>{next(iter(query))}</bdi>:" in page.content.decode()


def test_waiting_items_say_why(workflow: Workflow, rosa: User, signed_in: SignIn) -> None:
    make_item(workflow, wait_reason="busy: too many requests", next_try_at=NOW)
    Endpoint.objects.update(paused_until=timezone.now() + timedelta(minutes=5), pause_reason="quota: used up")
    page = signed_in(rosa).get(ITEMS).content.decode()
    for shown in ("busy: too many requests", "next try", "The model is not asked until", "quota: used up"):
        assert shown in page


def test_the_pager_keeps_the_filters(workflow: Workflow, rosa: User, signed_in: SignIn) -> None:
    for number in range(PAGE + 1):
        make_item(workflow, text=f"a&b {number}")
    page = signed_in(rosa).get(ITEMS, {"text": "a&b", "status": "received"}).content.decode()
    assert "?text=a%26b&amp;status=received&amp;before=" in page


def test_what_senders_write_is_inert(workflow: Workflow, rosa: User, signed_in: SignIn) -> None:
    evil = "<script>alert(1)</script>"
    make_item(workflow, evil, text=evil, source=evil, wait_reason=evil)
    page = signed_in(rosa).get(ITEMS, {"text": evil}).content.decode()
    assert evil not in page
    assert "&lt;script&gt;alert(1)" in page


def test_a_blind_item_is_shown_without_its_answer(
    workflow: Workflow, rosa: User, mara: User, signed_in: SignIn
) -> None:
    make_task(workflow, kind="audit", label="customer")
    for person in (rosa, mara):
        rows = signed_in(person).get(ITEMS).content.decode().split("<tbody>")[1]
        assert "Quality check pending" in rows
        assert not [told for told in ("customer", "Settled", "utomatic", "70.0") if told in rows]


def test_who_has_an_item_open_is_shown(workflow: Workflow, rosa: User, ravi: User, signed_in: SignIn) -> None:
    make_task(workflow)
    take_next_task(user=ravi, workflow=workflow)
    assert "<bdi>ravi</bdi> has it open" in signed_in(rosa).get(ITEMS).content.decode()
    assert "on your desk" in signed_in(ravi).get(ITEMS).content.decode()
    Lease.objects.update(expires_at=NOW)
    assert "has it open" not in signed_in(rosa).get(ITEMS).content.decode()


def test_strangers_find_nothing(workflow: Workflow, nora: User, signed_in: SignIn) -> None:
    assert signed_in(nora).get(ITEMS).status_code == 404
