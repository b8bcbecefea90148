"""What the product tells: decided and settled items, activated policies; of items only where somebody wants it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from apps.accounts.models import User
from apps.clef.local.server import StandIn
from apps.items.models import Item, Route
from apps.outbox.models import Event, Sending
from apps.pipeline.incoming import Incoming
from apps.pipeline.intake import add_items
from apps.pipeline.processing import decide_batch
from apps.policies.selectors import active_policy
from apps.policies.services import activate, create_draft, go_back
from apps.reviews.leases import take_next_task
from apps.reviews.services import SubmittedAnswer, submit_review, undo_last_review
from apps.workflows.models import Endpoint, Workflow
from tests.factories import NOW, RULES, make_task
from tests.outbox.conftest import subscribe

HOOK = "https://example.org/"


@pytest.fixture
def asked_workflow(workflow: Workflow) -> Iterator[Workflow]:
    with StandIn() as model:
        Endpoint.objects.update(base_url=model.url)
        workflow.endpoint.refresh_from_db()
        yield workflow


def decide(workflow: Workflow, count: int) -> None:
    incoming = [Incoming(f"item-{number}", "Win a free prize now click here") for number in range(count)]
    add_items(workflow=workflow, incoming=incoming, source="test", now=NOW)
    assert decide_batch(workflow=workflow, now=lambda: NOW) == count


def test_it_works(asked_workflow: Workflow) -> None:
    subscribe(asked_workflow, HOOK, "item.decided", "item.settled")
    decide(asked_workflow, 3)
    decided = Event.objects.filter(type="item.decided").order_by("pk")
    assert [each.data["item"]["external_id"] for each in decided] == ["item-0", "item-1", "item-2"]
    assert [each.data["outcome"] for each in decided] == list(
        Route.objects.order_by("item").values_list("outcome", flat=True)
    )
    settled = Event.objects.filter(type="item.settled")
    by_policy = Item.objects.filter(settled_by="policy")
    assert {each.data["item"]["id"] for each in settled} == set(by_policy.values_list("pk", flat=True))
    assert "prize" not in str([each.data for each in (*decided, *settled)])


def test_where_nobody_wants_to_know_nothing_is_written(asked_workflow: Workflow) -> None:
    subscribe(asked_workflow, HOOK, "alarm.raised")
    decide(asked_workflow, 3)
    assert not Event.objects.exists()


def test_a_batch_costs_one_query_more(asked_workflow: Workflow) -> None:
    with CaptureQueriesContext(connection) as queries:
        decide(asked_workflow, 20)
    assert sum("outbox_" in query["sql"] for query in queries.captured_queries) == 1


def answer(workflow: Workflow, rosa: User) -> None:
    lease = take_next_task(user=rosa, workflow=workflow)
    assert lease is not None
    given = {"intent": SubmittedAnswer("lead")}
    submit_review(user=rosa, lease_token=lease.token, answers=given, seconds=3, note="", now=NOW)


def test_people_settle_and_take_back(workflow: Workflow, rosa: User) -> None:
    subscribe(workflow, HOOK, "item.settled")
    task = make_task(workflow)
    answer(workflow, rosa)
    sending = Sending.objects.select_related("event").get()
    assert sending.event.data["settled_by"] == "people"
    assert sending.event.data["answers"] == {"intent": "lead"}
    assert (sending.next_try_at - NOW).total_seconds() == workflow.undo_s
    undo_last_review(user=rosa, workflow=task.workflow, now=NOW)
    assert not Sending.objects.exists()


def test_an_audit_tells_nothing(workflow: Workflow, rosa: User) -> None:
    subscribe(workflow, HOOK, "item.settled")
    make_task(workflow, kind="audit")
    answer(workflow, rosa)
    assert not Event.objects.exists()


def test_policies_in_force(workflow: Workflow, mara: User) -> None:
    draft = create_draft(workflow=workflow, rules=RULES, based_on=active_policy(workflow), user=mara)
    activate(policy=draft, user=mara, now=NOW)
    go_back(workflow=workflow, user=None, now=NOW)
    first, second = Event.objects.order_by("pk")
    assert first.data["text"] == "Policy version 2 is in force instead of version 1, activated by mara."
    assert (second.data["version"], second.data["activated_by"]) == (1, None)
