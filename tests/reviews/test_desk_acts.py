"""Skip, undo, and the hold on an item, as the browser asks for them."""

from __future__ import annotations

import json

from apps.accounts.models import User
from apps.reviews.models import Lease, Review, Skip
from apps.workflows.models import Workflow
from tests.conftest import SignIn
from tests.factories import make_task
from tests.reviews.desk_forms import DESK, HTMX, lease_on, open_desk, submit


def test_it_works(signed_in: SignIn, rosa: User, workflow: Workflow) -> None:
    make_task(workflow)
    second = make_task(workflow)
    client = signed_in(rosa)
    form = {"lease": str(lease_on(open_desk(client))), "reason": "Information is missing"}
    page = client.post(f"{DESK}skip/", form, headers=HTMX).content.decode()
    assert second.item.external_id in page
    assert Skip.objects.get().reason == "Information is missing"


def test_a_skip_needs_one_of_the_reasons(signed_in: SignIn, rosa: User, workflow: Workflow) -> None:
    make_task(workflow)
    client = signed_in(rosa)
    form = {"lease": str(lease_on(open_desk(client))), "reason": "Monday"}
    assert client.post(f"{DESK}skip/", form, headers=HTMX).status_code == 422
    assert not Skip.objects.exists()


def test_undo_brings_the_item_back(signed_in: SignIn, rosa: User, workflow: Workflow) -> None:
    task = make_task(workflow)
    client = signed_in(rosa)
    submit(client, lease_on(open_desk(client)), intent="o:lead")
    page = client.post(f"{DESK}undo/", headers=HTMX).content.decode()
    assert task.item.external_id in page
    assert Review.objects.get().taken_back_at is not None


def test_nothing_to_undo_leaves_the_desk_as_it_is(signed_in: SignIn, rosa: User, workflow: Workflow) -> None:
    answer = signed_in(rosa).post(f"{DESK}undo/", headers=HTMX)
    assert (answer.status_code, answer.headers["HX-Reswap"]) == (409, "none")
    assert "no answer" in json.loads(answer.headers["HX-Trigger"])["message"]["text"]


def test_a_heartbeat_renews_the_hold(signed_in: SignIn, rosa: User, workflow: Workflow) -> None:
    make_task(workflow)
    client = signed_in(rosa)
    lease = lease_on(open_desk(client))
    Lease.objects.update(expires_at="2020-01-01T00:00:00Z")
    assert client.post(f"{DESK}renew/", {"lease": str(lease)}).status_code == 200
    assert Lease.objects.get().expires_at.year > 2020


def test_a_heartbeat_tells_when_the_hold_is_lost(signed_in: SignIn, rosa: User, workflow: Workflow) -> None:
    make_task(workflow)
    client = signed_in(rosa)
    lease = lease_on(open_desk(client))
    Lease.objects.all().delete()
    answer = client.post(f"{DESK}renew/", {"lease": str(lease)})
    assert answer.status_code == 409
    assert "no longer on your desk" in answer.json()["message"]


def test_leaving_gives_the_item_back(signed_in: SignIn, rosa: User, workflow: Workflow) -> None:
    make_task(workflow)
    client = signed_in(rosa)
    lease = lease_on(open_desk(client))
    assert client.post(f"{DESK}release/", {"lease": str(lease)}).status_code == 204
    assert not Lease.objects.exists()


def test_nobody_gives_back_what_a_colleague_holds(
    signed_in: SignIn, rosa: User, ravi: User, workflow: Workflow
) -> None:
    make_task(workflow)
    lease = lease_on(open_desk(signed_in(rosa)))
    signed_in(ravi).post(f"{DESK}release/", {"lease": str(lease)})
    assert Lease.objects.exists()
