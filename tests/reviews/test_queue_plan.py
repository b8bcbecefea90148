"""The next item costs the same however many were answered before: the plan is asked, not the clock."""

from __future__ import annotations

import re
from typing import Any

import pytest
from django.db import connection

from apps.accounts.models import User
from apps.reviews.conditions import IN_TURN, SKIPPED
from apps.reviews.models import ReviewTask
from apps.reviews.queue import QueueFilter, Seeker, matching, next_sql
from apps.workflows.models import Workflow
from tests.factories import NOW, make_task
from tests.reviews.queue_people import read_only

DONE = 3_000
# So many that sorting them costs more than reading them in order: with one open task both plans cost the same.
OPEN = 60
TABLES = (
    "reviews_reviewtask",
    "reviews_review",
    "reviews_skip",
    "workflows_membership",
    "accounts_user",
)


def nodes(plan: dict[str, Any]) -> list[dict[str, Any]]:
    return [plan, *(node for inner in plan.get("Plans", []) for node in nodes(inner))]


def fill(workflow: Workflow) -> None:
    first, *_ = [make_task(workflow) for _ in range(OPEN)]
    common = {
        "workflow": workflow,
        "route": first.route,
        "question_set": first.question_set,
        "kind": "routine",
        "asked": ["intent"],
        "blind": False,
        "due_at": NOW,
        "place_at": NOW,
        "created_at": NOW,
    }
    ReviewTask.objects.bulk_create(
        ReviewTask(item=first.item, status="done", closed_at=NOW, **common) for _ in range(DONE)
    )


def assert_in_order(explained: list[dict[str, Any]]) -> None:
    found = nodes(explained[0]["Plan"])
    assert [
        node.get("Index Name") for node in found if node.get("Relation Name") == "reviews_reviewtask"
    ] == ["task_queue"]
    assert "Sort" not in {node["Node Type"] for node in found}


def test_it_works(workflow: Workflow, rosa: User) -> None:
    fill(workflow)
    seeker = Seeker.of(rosa, workflow)
    assert seeker is not None
    with connection.cursor() as cursor:
        # Every table of the question: with stale figures of one the planner may choose otherwise.
        cursor.execute(f"ANALYZE {', '.join(TABLES)}")
        cursor.execute(
            "EXPLAIN (FORMAT JSON) " + next_sql(seeker, f"NOT {SKIPPED}"),
            seeker.values,
        )
        ((explained,),) = cursor.fetchall()
    assert_in_order(explained)


def test_planned_once_it_is_the_same(workflow: Workflow, rosa: User) -> None:
    """The statement is prepared: what is planned must not need to know the values."""
    fill(workflow)
    seeker = Seeker.of(rosa, workflow)
    assert seeker is not None
    names = list(seeker.values)
    sql = re.sub(
        r"%\((\w+)\)s", lambda found: f"${names.index(found[1]) + 1}", next_sql(seeker, f"NOT {SKIPPED}")
    )
    with connection.cursor() as cursor:
        cursor.execute(f"ANALYZE {', '.join(TABLES)}")
        cursor.execute(f"EXPLAIN (FORMAT JSON, GENERIC_PLAN) {sql}")
        ((explained,),) = cursor.fetchall()
    assert_in_order(explained)


def sought_in_the_index(seeker: Seeker, wanted: QueueFilter) -> str:
    """What is asked of the queue's index, before any task itself is looked at."""
    condition, values = matching(seeker.workflow, wanted)
    with connection.cursor() as cursor:
        cursor.execute(f"ANALYZE {', '.join(TABLES)}")
        cursor.execute(
            f"EXPLAIN (FORMAT JSON) {next_sql(seeker, f'{condition} AND NOT {SKIPPED}')}",
            seeker.values | values,
        )
        ((explained,),) = cursor.fetchall()
    found = nodes(explained[0]["Plan"])
    return "".join(node["Index Cond"] for node in found if node.get("Index Name") == "task_queue")


@pytest.mark.parametrize(
    ("wanted", "sought"),
    [
        (QueueFilter(label="lead"), "suggested"),
        (QueueFilter(language="de"), "language"),
        (QueueFilter(source="mail"), "source"),
        (QueueFilter(older_than_h=2), "created_at"),
    ],
)
def test_what_is_filtered_out_is_passed_over_in_the_index(
    workflow: Workflow, rosa: User, wanted: QueueFilter, sought: str
) -> None:
    fill(workflow)
    seeker = Seeker.of(rosa, workflow)
    assert seeker is not None
    assert sought in sought_in_the_index(seeker, wanted)


def test_what_somebody_cannot_read_is_passed_over_in_the_index(workflow: Workflow, rosa: User) -> None:
    fill(workflow)
    read_only(rosa, "he-IL")
    seeker = Seeker.of(rosa, workflow)
    assert seeker is not None
    assert "language" in sought_in_the_index(seeker, QueueFilter())


def test_the_queue_is_not_walked_for_who_passed_on_nothing(workflow: Workflow, rosa: User) -> None:
    make_task(workflow)
    seeker = Seeker.of(rosa, workflow)
    assert seeker is not None
    with connection.cursor() as cursor:
        cursor.execute("EXPLAIN (FORMAT JSON) " + next_sql(seeker, IN_TURN[1][0]), seeker.values)
        ((explained,),) = cursor.fetchall()
    assert any("One-Time Filter" in node for node in nodes(explained[0]["Plan"]))
