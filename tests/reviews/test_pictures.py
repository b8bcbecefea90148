from __future__ import annotations

from django.db import connection
from django.test.utils import CaptureQueriesContext

from apps.accounts.models import User
from apps.items.models import Item
from apps.workflows.models import Role, Workflow
from tests.conftest import SignIn
from tests.factories import join, make_item
from tests.reviews.came_rows import drawn, give_pictures


def address_of(item: Item, *, is_thumbnail: bool = False, slug: str = "leads") -> str:
    (picture,) = give_pictures(item, drawn())
    return f"/w/{slug}/items/{item.pk}/images/{picture.pk}/{'thumbnail/' if is_thumbnail else ''}"


def test_it_works(signed_in: SignIn, rosa: User, workflow: Workflow) -> None:
    answer = signed_in(rosa).get(address_of(make_item(workflow)))
    assert answer.content == drawn().data
    assert answer.headers["Content-Type"] == "image/png"
    assert answer.headers["X-Content-Type-Options"] == "nosniff"
    assert answer.headers["Content-Security-Policy"] == "default-src 'none'; sandbox"
    assert answer.headers["Cache-Control"] == "private, no-cache"
    assert answer.headers["ETag"] == f'"{drawn().sha256}"'


def test_a_thumbnail_is_small(signed_in: SignIn, rosa: User, workflow: Workflow) -> None:
    answer = signed_in(rosa).get(address_of(make_item(workflow), is_thumbnail=True))
    assert answer.content == drawn().thumbnail
    assert answer.headers["Content-Type"] == "image/webp"


def test_what_the_browser_has_is_not_sent_again(signed_in: SignIn, rosa: User, workflow: Workflow) -> None:
    client, address = signed_in(rosa), address_of(make_item(workflow))
    etag = client.get(address).headers["ETag"]
    with CaptureQueriesContext(
        connection,
    ) as asked:
        again = client.get(address, headers={"If-None-Match": etag})
    assert (again.status_code, again.content, again.headers["ETag"]) == (304, b"", etag)
    assert not any('"items_image"."data"' in query["sql"] for query in asked)


def test_who_has_left_gets_nothing_from_what_is_kept(
    signed_in: SignIn, rosa: User, workflow: Workflow
) -> None:
    client, address = signed_in(rosa), address_of(make_item(workflow))
    etag = client.get(address).headers["ETag"]
    rosa.memberships.all().delete()
    assert client.get(address, headers={"If-None-Match": etag}).status_code == 404


def test_a_picture_is_found_through_its_own_item_only(
    signed_in: SignIn, rosa: User, workflow: Workflow, other_workflow: Workflow
) -> None:
    theirs = address_of(make_item(other_workflow), slug="elsewhere")
    mine = make_item(workflow)
    client = signed_in(rosa)
    assert client.get(theirs).status_code == 404
    assert client.get(theirs.replace("elsewhere", "leads")).status_code == 404
    number = theirs.split("/")[-2]
    assert client.get(f"/w/leads/items/{mine.pk}/images/{number}/").status_code == 404
    join(rosa, other_workflow, Role.REVIEWER)
    assert client.get(theirs).status_code == 200
