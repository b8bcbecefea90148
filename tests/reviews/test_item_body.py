"""Long items, chats and marks as the desk and the item's page show them."""

from __future__ import annotations

import copy
import re
from typing import Any

import pytest
from django.urls import reverse

from apps.accounts.models import User
from apps.items.models import Item, ItemContent
from apps.reviews.models import ReviewTask
from apps.workflows.models import Workflow
from tests.conftest import SignIn
from tests.factories import RULES, make_policy, make_task
from tests.reviews.came_rows import give_mail
from tests.reviews.desk_forms import HTMX, open_desk

LONG = "\n".join(f"line {n}" for n in range(20_000))


def hold_refunds(workflow: Workflow) -> None:
    rules = copy.deepcopy(RULES)
    rules["overrides"] = [{"id": "money", "name": "Money", "kind": "text", "words": ["refund*"]}]
    workflow.policies.update(status="retired")
    make_policy(workflow, rules, version=2)


def task_of(workflow: Workflow, state: Any, **more: Any) -> ReviewTask:
    task = make_task(workflow, **more)
    text = state if isinstance(state, str) else ""
    ItemContent.objects.filter(item=task.item).update(state=state, text=text)
    return task


def page_of(item: Item) -> str:
    return reverse("insights:item", args=["leads", item.pk])


def test_it_works(signed_in: SignIn, rosa: User, workflow: Workflow) -> None:
    task = task_of(workflow, LONG)
    client = signed_in(rosa)
    page = open_desk(client)
    assert len(page) < 60_000
    (address,) = re.findall(r'hx-get="([^"]*/rest/[^"]*)"', page)
    rest = client.get(address, headers=HTMX).content.decode()
    assert "line 19999" in rest
    assert "<html" not in rest
    assert "line 19999" in client.get(f"{page_of(task.item)}?whole=1").content.decode()


def test_each_part_of_a_mail_has_its_rest(signed_in: SignIn, rosa: User, workflow: Workflow) -> None:
    task = task_of(workflow, "Hello")
    give_mail(task.item, parts=[{"kind": "body", "text": "Hi"}, {"kind": "quoted", "text": LONG}])
    client = signed_in(rosa)
    (address,) = re.findall(r'hx-get="([^"]*/rest/[^"]*)"', open_desk(client))
    assert address.endswith("&amp;part=1")
    assert "line 19999" in client.get(address.replace("&amp;", "&"), headers=HTMX).content.decode()


@pytest.mark.parametrize("asked", ["", "from=x", "from=-1", "from=1&part=x", "from=1&q=" + "x" * 201])
def test_a_place_that_is_none(asked: str, signed_in: SignIn, rosa: User, workflow: Workflow) -> None:
    task = task_of(workflow, LONG)
    assert signed_in(rosa).get(f"{page_of(task.item)}rest/?{asked}").status_code == 422


def test_a_place_behind_the_end_is_empty(signed_in: SignIn, rosa: User, workflow: Workflow) -> None:
    task = task_of(workflow, LONG)
    for asked in ("from=99999", "from=0&part=9"):
        answer = signed_in(rosa).get(f"{page_of(task.item)}rest/?{asked}")
        assert "Empty" in answer.content.decode()


def test_a_chat_is_read_as_one(signed_in: SignIn, rosa: User, workflow: Workflow) -> None:
    task_of(workflow, [{"role": "user", "text": "<i>Hi</i>"}, {"role": "agent", "text": "Hello"}])
    page = open_desk(signed_in(rosa))
    assert page.count('class="chat-message') == 2
    assert page.count("chat-message is-ours") == 1
    assert "&lt;i&gt;Hi&lt;/i&gt;" in page


def test_chosen_fields_are_on_top(signed_in: SignIn, rosa: User, workflow: Workflow) -> None:
    Workflow.objects.update(top_fields=["total"])
    task_of(workflow, {"a": "1", "total": "12 EUR"})
    page = open_desk(signed_in(rosa))
    assert page.index("12 EUR") < page.index("<bdi>a</bdi>")


def test_words_of_the_rule_are_marked(signed_in: SignIn, rosa: User, workflow: Workflow) -> None:
    hold_refunds(workflow)
    task = task_of(workflow, "I want refunds & peace")
    client = signed_in(rosa)
    for page in (open_desk(client), client.get(page_of(task.item)).content.decode()):
        assert "I want <mark>refunds</mark> &amp; peace" in page


def test_a_blind_task_marks_nothing_anywhere(signed_in: SignIn, rosa: User, workflow: Workflow) -> None:
    hold_refunds(workflow)
    task = task_of(workflow, f"I want refunds {LONG}", blind=True)
    client = signed_in(rosa)
    rest = f"{page_of(task.item)}rest/?from=0"
    for page in (
        open_desk(client),
        *(client.get(each).content.decode() for each in (page_of(task.item), rest)),
    ):
        assert "refunds" in page
        assert "<mark>" not in page


def test_only_what_a_rule_reads_is_marked(signed_in: SignIn, rosa: User, workflow: Workflow) -> None:
    hold_refunds(workflow)
    task = task_of(workflow, "A refund please")
    parts = [{"kind": "body", "text": "A refund please"}, {"kind": "quoted", "text": "No refund"}]
    give_mail(task.item, parts=parts)
    page = open_desk(signed_in(rosa))
    assert page.count("<mark>refund</mark>") == 1
    assert "No refund" in page


def test_what_was_searched_for_is_marked_in_the_rest(
    signed_in: SignIn, rosa: User, workflow: Workflow
) -> None:
    task = task_of(workflow, LONG)
    answer = signed_in(rosa).get(f"{page_of(task.item)}rest/?from=2&q=line+5000")
    assert "<mark>line 5000</mark>" in answer.content.decode()
