from __future__ import annotations

import pytest
from django.db import connection
from django.db.models import F, Value

from apps.accounts.models import User
from apps.core.errors import InvalidInput
from apps.insights import items
from apps.insights.items import ItemPage, ItemQuery, find_items
from apps.items.models import Item, ItemContent
from apps.reviews.leases import take_next_task
from apps.reviews.services import SubmittedAnswer, submit_review
from apps.workflows.models import Workflow
from tests.factories import NOW, make_item, make_route, make_task


def find(user: User, workflow: Workflow, **query: object) -> ItemPage:
    return find_items(user=user, workflow=workflow, query=ItemQuery(**query))  # type: ignore[arg-type]  # by name


def titles(page: ItemPage) -> list[str]:
    return [row.item.title for row in page.rows]


def answer_next(user: User, workflow: Workflow, value: str) -> None:
    lease = take_next_task(user=user, workflow=workflow)
    assert lease is not None
    given = {"intent": SubmittedAnswer(value)}
    submit_review(user=user, lease_token=lease.token, answers=given, seconds=1, note="", now=NOW)


def test_it_works(workflow: Workflow, rosa: User) -> None:
    make_item(workflow, text="first")
    make_task(workflow, label="spam", p=0.7)
    newest, oldest = find(rosa, workflow).rows
    assert (newest.answer, newest.item.status, newest.is_hidden) == ("Spam", "in_review", False)
    assert (oldest.item.title, oldest.answer, oldest.route) == ("first", "", None)


def test_other_workflows_stay_out(workflow: Workflow, other_workflow: Workflow, rosa: User) -> None:
    make_item(other_workflow, "theirs", text="theirs")
    assert not find(rosa, workflow, text="theirs").rows


def test_each_filter(workflow: Workflow, rosa: User) -> None:
    waiting = make_item(workflow, text="waiting", source="mail")
    held = make_task(workflow, label="spam").item
    passed = make_item(workflow, status="settled", settled_by="policy", settled_at=NOW)
    make_route(passed, "lead", 0.95, outcome="automatic")
    for query, found in (
        ({"status": "received"}, waiting),
        ({"status": "settled"}, passed),
        ({"outcome": "review"}, held),
        ({"label": "lead"}, passed),
        ({"source": "mail"}, waiting),
    ):
        assert [row.item for row in find(rosa, workflow, **query).rows] == [found]


def test_the_label_of_people_counts_before_the_models(workflow: Workflow, rosa: User) -> None:
    make_task(workflow, label="spam")
    answer_next(rosa, workflow, "lead")
    (row,) = find(rosa, workflow, label="lead").rows
    assert (row.answer, row.label is not None) == ("Qualified lead", True)
    assert not find(rosa, workflow, label="spam").rows


@pytest.mark.parametrize("text", ["100%", "a_b", "back\\slash", "ÉTÉ", "طلب", "'; --"])
def test_search_takes_every_character_as_itself(workflow: Workflow, rosa: User, text: str) -> None:
    make_item(workflow, text=f"before {text.lower()} after")
    make_item(workflow, text="1000 axb backXslash")
    assert titles(find(rosa, workflow, text=text)) == [f"before {text.lower()} after"]


def test_an_external_id_leads_the_first_page(workflow: Workflow, rosa: User) -> None:
    make_item(workflow, "order-7", text="Hello")
    make_item(workflow, text="about order-7")
    assert titles(find(rosa, workflow, text="order-7")) == ["Hello", "about order-7"]


def test_the_trigram_index_can_answer_the_search(workflow: Workflow) -> None:
    wanted = ItemContent.objects.filter(items.ILike(F("text"), Value("%order%")))
    with connection.cursor() as cursor:
        # A table this small is read through; the question is whether the index could be used.
        cursor.execute("SET LOCAL enable_seqscan = off")
    assert "item_content_text_search" in wanted.explain()


def test_paging_meets_every_item_once(workflow: Workflow, rosa: User) -> None:
    made = [make_item(workflow, text=str(number)) for number in range(items.PAGE + 3)]
    first = find(rosa, workflow)
    second = find(rosa, workflow, before=first.older)
    assert [row.item for row in (*first.rows, *second.rows)] == made[::-1]
    assert (first.newer, second.older) == (None, None)
    back = find(rosa, workflow, after=second.newer)
    assert (titles(back), back.newer) == (titles(first), None)


def test_a_search_that_takes_too_long_is_ended(workflow: Workflow, rosa: User) -> None:
    make_item(workflow, text="a" * 1_000_000)
    slow = ItemQuery(text="a" * 199 + "b")
    with pytest.raises(InvalidInput, match="takes too long"):
        find_items(user=rosa, workflow=workflow, query=slow, limit_s=0.005)


HIDING = ["audit", "shadow"]


@pytest.mark.parametrize("kind", HIDING)
def test_a_blind_item_shows_no_answer(workflow: Workflow, rosa: User, kind: str) -> None:
    make_task(workflow, kind=kind)
    (row,) = find(rosa, workflow).rows
    assert (row.is_hidden, row.route, row.label, row.answer) == (True, None, None, "")


@pytest.mark.parametrize("kind", HIDING)
@pytest.mark.parametrize(
    "query", [{"label": "spam"}, {"outcome": "automatic"}, {"outcome": "review"}, {"status": "settled"}]
)
def test_filters_tell_nothing_of_a_blind_item(
    workflow: Workflow, rosa: User, kind: str, query: dict[str, str]
) -> None:
    make_task(workflow, kind=kind)
    assert not find(rosa, workflow, **query).rows


@pytest.mark.parametrize("kind", HIDING)
def test_a_blind_item_is_found_as_in_review(workflow: Workflow, rosa: User, kind: str) -> None:
    make_task(workflow, kind=kind)
    assert len(find(rosa, workflow, status=Item.Status.IN_REVIEW).rows) == 1


def test_an_answer_opens_it(workflow: Workflow, rosa: User) -> None:
    make_task(workflow, kind="audit")
    answer_next(rosa, workflow, "spam")
    assert find(rosa, workflow, label="spam").rows[0].answer == "Spam"
