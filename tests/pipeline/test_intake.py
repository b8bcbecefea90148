from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timedelta, timezone
from typing import Any

import pytest
from django.db import connection

from apps.items.models import Item, ItemContent
from apps.pipeline.incoming import Incoming, check_incoming
from apps.pipeline.intake import Intake, add_items
from apps.workflows.models import Workflow
from tests.factories import NOW, make_workflow

# Each is a time that exists where it was written, and none that Python can read in UTC.
FIRST_YEAR = datetime(1, 1, 1, tzinfo=timezone(timedelta(hours=14)))
LAST_YEAR = datetime(9999, 12, 31, 23, tzinfo=timezone(-timedelta(hours=12)))


def add(workflow: Workflow, *incoming: Incoming) -> Intake:
    return add_items(workflow=workflow, incoming=incoming, source="test", now=NOW)


def test_it_works(workflow: Workflow) -> None:
    state = {"subject": "Hello  you", "body": "Line\nline", "tags": ["a", 2]}
    intake = add(workflow, Incoming("a-1", state, {"amount": 3}))
    item = Item.objects.get(pk=intake.added[0].item_id)
    assert (intake.created, item.status, item.title, item.metadata) == (
        1,
        "received",
        "Hello you",
        {"amount": 3},
    )
    content = ItemContent.objects.get(item=item)
    assert content.state == state
    assert content.text == "subject: Hello  you\nbody: Line\nline\ntags[0]: a\ntags[1]: 2"


def test_the_same_again_is_the_first_item(workflow: Workflow) -> None:
    first = add(workflow, Incoming("a", {"x": 1, "y": 2}))
    again = add(workflow, Incoming("a", {"y": 2, "x": 1}))
    assert (again.created, again.added[0].item_id) == (0, first.added[0].item_id)


def test_changed_content_names_what_differs(workflow: Workflow) -> None:
    add(workflow, Incoming("a", "text", {"k": 1}))
    refused = add(workflow, Incoming("a", "text", {"k": 2})).refused[0]
    assert refused.is_conflict
    assert [problem.path for problem in refused.problems] == ["metadata"]


@pytest.mark.parametrize(("first", "again"), [({"vip": True}, {"vip": 1}), ({"n": 1}, {"n": 1.0})])
def test_what_only_python_calls_equal_is_named_too(
    workflow: Workflow, first: dict[str, Any], again: dict[str, Any]
) -> None:
    add(workflow, Incoming("a", "text", first))
    refused = add(workflow, Incoming("a", "text", again)).refused[0]
    assert [problem.path for problem in refused.problems] == ["metadata"]


def test_twins_in_one_batch(workflow: Workflow) -> None:
    intake = add(workflow, Incoming("a", "one"), Incoming("a", "one"), Incoming("a", "two"))
    assert [(each.index, each.created) for each in intake.added] == [(0, True), (1, False)]
    assert [(each.index, each.is_conflict) for each in intake.refused] == [(2, True)]


def test_good_rows_are_kept(workflow: Workflow) -> None:
    intake = add(workflow, Incoming("", "x"), Incoming("ok", "fine"), Incoming("bad", "nul\x00"))
    assert [each.index for each in intake.refused] == [0, 2]
    assert list(Item.objects.values_list("external_id", flat=True)) == ["ok"]


def test_other_workflows_ids_are_their_own(workflow: Workflow, other_workflow: Workflow) -> None:
    add(workflow, Incoming("a", "one"))
    assert add(other_workflow, Incoming("a", "two")).created == 1


@pytest.mark.parametrize(
    ("incoming", "path", "why"),
    [
        (Incoming(" ", "x"), "external_id", "not empty"),
        (Incoming("x" * 201, "x"), "external_id", "201 characters"),
        (Incoming("a\x00", "x"), "external_id", "NUL"),
        (Incoming("a", ""), "state", "is empty"),
        (Incoming("a", " \n"), "state", "is empty"),
        (Incoming("a", {"x": None}), "state", "no text"),
        (Incoming("a", 7), "state", "must be a text"),  # type: ignore[arg-type]  # what a sender may send
        (Incoming("a", "x\ud800y"), "state", "position 1"),
        (Incoming("a", {"k": ["ok", "\x00"]}), "state.k[1]", "NUL"),
        (Incoming("a", {"k\x00": 1}), "state (a key)", "NUL"),
        (Incoming("a", {"n": float("nan")}), "state.n", "finite"),
        (Incoming("a", "é" * 600_000), "state", "1,200,000 bytes"),
        (Incoming("a", "x", {str(n): n for n in range(101)}), "metadata", "101 keys"),
        (Incoming("a", "x", {"k": "y" * 70_000}), "metadata", "the limit is 65,536"),
        (Incoming("a", {"k" * 300: ["\x00"]}), f"state.{'k' * 100}…[0]", "NUL"),
        (Incoming("a", {"k" * 300_000: [1] * 200_000}), "state", "shorten the keys"),
        (Incoming("a", {"k" * 9_000: [1] * 2_000}), "state", "shorten the keys"),
        (Incoming("a", {"k" * 600_000: ["\x00"] * 600_000}), "state", "the limit is 1,048,576"),
        (Incoming("a", "x", priority=10**9), "priority", "within"),
        (Incoming("a", "x", received_at=FIRST_YEAR), "received_at", "1970 to 2199"),
        (Incoming("a", "x", received_at=LAST_YEAR), "received_at", "1970 to 2199"),
        (Incoming("a", "x", received_at=datetime(2026, 1, 1)), "received_at", "time zone"),  # noqa: DTZ001 - the fault
    ],
)
def test_what_cannot_be_taken_names_the_field(incoming: Incoming, path: str, why: str) -> None:
    (problem,) = check_incoming(incoming)
    assert problem.path == path
    assert why in problem.message


def test_hostile_depth_is_refused_without_exhausting_the_stack() -> None:
    state: dict[str, Any] = {}
    for _ in range(100_000):
        state = {"a": state}
    (problem,) = check_incoming(Incoming("a", state))
    assert "deeper than 50" in problem.message


@pytest.mark.django_db(transaction=True)
def test_a_hundred_equal_posts_are_one_item() -> None:
    workflow = make_workflow()

    def post(_: int) -> tuple[int, bool]:
        try:
            (added,) = add(workflow, Incoming("same", "text")).added
            return added.item_id, added.created
        finally:
            connection.close()

    with ThreadPoolExecutor(40) as pool:
        results = list(pool.map(post, range(100)))
    assert len({item_id for item_id, _ in results}) == 1
    assert sum(created for _, created in results) == 1


@pytest.mark.django_db(transaction=True)
def test_overlapping_batches_do_not_deadlock() -> None:
    workflow = make_workflow()
    ids = [f"id-{number:03}" for number in range(200)]

    def post(turn: int) -> int:
        try:
            order = ids if turn % 2 else ids[::-1]
            return add(workflow, *(Incoming(each, "text") for each in order)).created
        finally:
            connection.close()

    with ThreadPoolExecutor(8) as pool:
        assert sum(pool.map(post, range(16))) == 200
