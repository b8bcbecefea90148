from __future__ import annotations

from apps.accounts.models import User
from apps.workflows.models import Workflow
from tests.conftest import SignIn
from tests.factories import make_item
from tests.reviews.came_rows import HEADERS, give_mail


def page_at(address: str, user: User, signed_in: SignIn) -> str:
    answer = signed_in(user).get(address)
    assert answer.status_code == 200
    return answer.content.decode()


def test_it_works(signed_in: SignIn, rosa: User, workflow: Workflow) -> None:
    item = make_item(workflow, text="What the model read")
    give_mail(item, html="<p>Hi</p>", headers=[*HEADERS, ["X-Mailer", "A mail program"]])
    page = page_at(f"/w/leads/items/{item.pk}/", rosa, signed_in)
    for told in ("Ann Example", "As sent", "A mail program", "What the model read"):
        assert told in page
    assert "in this thread" not in page


def test_a_conversation_is_counted_and_found(signed_in: SignIn, rosa: User, workflow: Workflow) -> None:
    key = "a&b #1=+é"
    first = make_item(workflow, "first", group_key=key)
    make_item(workflow, "second", group_key=key)
    make_item(workflow, "stranger")
    page = page_at(f"/w/leads/items/{first.pk}/", rosa, signed_in)
    assert ">2 in this thread</a>" in page
    found = page_at(page.split('<dt>Conversation</dt><dd><a href="')[1].split('"')[0], rosa, signed_in)
    assert "second" in found
    assert "stranger" not in found
