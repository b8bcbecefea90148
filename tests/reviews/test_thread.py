from __future__ import annotations

from datetime import timedelta

from django.db import connection
from django.test.utils import CaptureQueriesContext

from apps.accounts.models import User
from apps.items.models import Item
from apps.reviews.body import in_blocks
from apps.reviews.content import count_in_thread, thread_of
from apps.workflows.models import Workflow
from tests.conftest import SignIn
from tests.factories import NOW, make_item, make_task
from tests.reviews.came_rows import drawn, give_mail, give_pictures
from tests.reviews.desk_forms import HTMX, open_desk


def make_thread(workflow: Workflow, count: int, key: str = "t") -> list[Item]:
    return [
        make_item(
            workflow, f"{key}-{n}", text=f"Message {n}", group_key=key, received_at=NOW + timedelta(hours=n)
        )
        for n in range(count)
    ]


def test_it_works(signed_in: SignIn, rosa: User, workflow: Workflow) -> None:
    others = make_thread(workflow, 2)
    task = make_task(workflow)
    Item.objects.filter(pk=task.item_id).update(group_key="t", received_at=NOW + timedelta(hours=9))
    page = open_desk(signed_in(rosa))
    assert "Conversation: 3 items" in page
    assert page.index("Message 0") < page.index("Message 1") < page.index("this item ·")
    assert f'hx-get="/w/leads/items/{others[0].pk}/text/"' in page


def test_the_newest_is_last_whatever_came_first(workflow: Workflow) -> None:
    items = make_thread(workflow, 3)
    Item.objects.filter(pk=items[0].pk).update(received_at=NOW + timedelta(days=1))
    thread = thread_of(items[1])
    assert thread is not None
    assert [line.title for line in thread.lines] == ["Message 1", "Message 2", "Message 0"]


def test_a_long_conversation_shows_what_is_near(workflow: Workflow) -> None:
    items = make_thread(workflow, 40)
    thread = thread_of(items[20])
    assert thread is not None
    assert [line.item_id for line in thread.lines] == [item.pk for item in items[6:26]]
    assert thread.has_more
    last = thread_of(items[39])
    assert last is not None
    assert last.lines[-1].is_this


def test_twenty_are_all(workflow: Workflow) -> None:
    thread = thread_of(make_thread(workflow, 15)[14])
    assert thread is not None
    assert (len(thread.lines), thread.has_more) == (15, False)


def test_another_workflow_is_another_conversation(workflow: Workflow, other_workflow: Workflow) -> None:
    (mine,) = make_thread(workflow, 1)
    make_thread(other_workflow, 3)
    assert thread_of(mine) is None
    assert count_in_thread(mine) == 1


def test_who_wrote_is_told(workflow: Workflow) -> None:
    first, second, _ = make_thread(workflow, 3)
    Item.objects.filter(pk=first.pk).update(metadata={"from": "ann@example.com", "from_name": "Ann"})
    Item.objects.filter(pk=second.pk).update(metadata={"from": "bob@example.com"})
    thread = thread_of(first)
    assert thread is not None
    assert [line.sender for line in thread.lines] == ["Ann", "bob@example.com", ""]


def test_a_line_opens_its_text(signed_in: SignIn, rosa: User, workflow: Workflow) -> None:
    item = make_task(workflow, label="spam").item
    give_mail(item, parts=[{"kind": "body", "text": "Win <b>now</b>"}])
    client, address = signed_in(rosa), f"/w/leads/items/{item.pk}/text/"
    fragment = client.get(address, headers=HTMX).content.decode()
    assert "Win &lt;b&gt;now&lt;/b&gt;" in fragment
    for told in ("spam", "Spam", "70.0"):
        assert told not in fragment
    assert client.get(address).headers["Location"] == f"/w/leads/items/{item.pk}/"


def test_it_costs_three_queries_and_no_picture(workflow: Workflow, signed_in: SignIn, rosa: User) -> None:
    client = signed_in(rosa)
    task = make_task(workflow)
    open_desk(client)
    with CaptureQueriesContext(connection) as before:
        open_desk(client)
    give_mail(task.item, html="<p>Hi</p>")
    give_pictures(task.item, drawn("red"), drawn("blue"))
    make_thread(workflow, 5)
    Item.objects.filter(pk=task.item_id).update(group_key="t")
    with CaptureQueriesContext(connection) as after:
        assert "Conversation: 6 items" in open_desk(client)
    # Only what there is is asked for.
    assert len(after) == len(before) + 3
    wide = ('"items_image"."data"', '"items_image"."thumbnail"', '"items_mail"."html",')
    assert not any(column in query["sql"] for query in after for column in wide)


def test_a_long_text_comes_in_blocks() -> None:
    text = "\n".join(f"line {n}" for n in range(5_000))
    blocks = in_blocks(text)
    assert "\n".join(blocks) == text
    assert len(blocks) > 5
    assert in_blocks("") == [""]
