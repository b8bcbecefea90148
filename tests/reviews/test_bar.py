"""The line above an item: what is done, how fast, how much is left, and who has what was mine."""

from __future__ import annotations

import re
from datetime import timedelta

import pytest
from django.test import Client
from django.utils import timezone

from apps.accounts.models import User
from apps.core.db import ClockTimestamp
from apps.reviews.bar import session_bar
from apps.reviews.leases import take_next_task
from apps.reviews.models import Lease, Review
from apps.workflows.models import Workflow
from tests.conftest import SignIn
from tests.factories import make_task
from tests.reviews.desk_forms import HTMX, held_by, lease_on, open_desk, submit

BAR = "/w/leads/review/bar/"


def answer_next(client: Client, seconds: str) -> None:
    submit(client, lease_on(open_desk(client)), intent="o:spam", seconds=seconds)


def test_it_works(signed_in: SignIn, rosa: User, ravi: User, workflow: Workflow) -> None:
    for _ in range(7):  # four are answered, and two stand on desks
        make_task(workflow)
    client = signed_in(rosa)
    for seconds in ("4", "9", "2"):
        answer_next(client, seconds)
    answer_next(signed_in(ravi), "60")
    bar = session_bar(user=rosa, workflow=workflow, now=timezone.now(), counts_left=True)
    assert (bar.done_today, bar.median_seconds, bar.left, bar.is_capped) == (3, 4.0, 1, False)
    assert "<strong>3</strong> done by you today" in client.get(BAR).content.decode()


def test_yesterday_and_what_was_taken_back_do_not_count(
    signed_in: SignIn, rosa: User, workflow: Workflow
) -> None:
    make_task(workflow)
    make_task(workflow)
    client = signed_in(rosa)
    answer_next(client, "4")
    Review.objects.update(created_at=timezone.now() - timedelta(days=2))
    answer_next(client, "9")
    client.post("/w/leads/review/undo/")
    bar = session_bar(user=rosa, workflow=workflow, now=timezone.now(), counts_left=False)
    assert (bar.done_today, bar.median_seconds, bar.last_item, bar.left) == (0, None, None, None)


def test_the_reply_to_an_answer_does_not_count_what_is_left(
    signed_in: SignIn, rosa: User, workflow: Workflow
) -> None:
    make_task(workflow)
    client = signed_in(rosa)
    assert "left for you" in open_desk(client)
    assert "left for you" not in client.get("/w/leads/review/", headers=HTMX).content.decode()


def test_who_has_it_now_is_told(signed_in: SignIn, rosa: User, ravi: User, workflow: Workflow) -> None:
    task = make_task(workflow)
    client = signed_in(rosa)
    token = lease_on(open_desk(client))
    assert "desk-gone" not in client.get(BAR, {"lease": str(token)}).content.decode()
    Lease.objects.update(expires_at=ClockTimestamp() - timedelta(seconds=1))
    assert "desk-gone" not in client.get(BAR, {"lease": str(token)}).content.decode()
    take_next_task(user=ravi, workflow=workflow)
    assert held_by(task, "ravi")
    assert "ravi has it now" in client.get(BAR, {"lease": str(token)}).content.decode()


def test_a_strange_lease_is_no_error(signed_in: SignIn, rosa: User, workflow: Workflow) -> None:
    answer = signed_in(rosa).get(BAR, {"lease": "x' OR 1=1"})
    assert answer.status_code == 200
    assert "desk-gone" not in answer.content.decode()


def figures_on(page: str) -> str:
    found = re.search(r'name="figures" value="([^"]*)" form="answer"', page)
    assert found
    return found[1]


def test_an_answer_counts_on_from_what_stood_on_the_page(
    signed_in: SignIn, rosa: User, workflow: Workflow
) -> None:
    for _ in range(3):
        make_task(workflow)
    client = signed_in(rosa)
    answer_next(client, "4")
    page = open_desk(client)
    assert figures_on(page) == "1 4.0"
    reply = submit(client, lease_on(page), intent="o:spam", figures="1 4.0").content.decode()
    assert figures_on(reply) == "2 4.0"
    assert "Last: <a" in reply


@pytest.mark.parametrize("figures", ["", "many", "-1 2", "1 2 3", "9999999", "1 1e9"])
def test_figures_that_cannot_be_read_are_counted(
    signed_in: SignIn, rosa: User, workflow: Workflow, figures: str
) -> None:
    make_task(workflow)
    client = signed_in(rosa)
    reply = submit(client, lease_on(open_desk(client)), intent="o:spam", seconds="3", figures=figures)
    assert figures_on(reply.content.decode()) == "1 3.0"
