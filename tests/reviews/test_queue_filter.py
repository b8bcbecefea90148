from __future__ import annotations

from datetime import timedelta
from typing import Any
from urllib.parse import parse_qs

import pytest
from django.db import connection, transaction
from django.http import QueryDict
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from apps.accounts.models import User
from apps.core.errors import InvalidInput
from apps.items.models import Item, ItemContent
from apps.reviews.forms_queue import filter_of, told_filter
from apps.reviews.models import ReviewTask
from apps.reviews.queue import EVERYTHING, FEW, QueueFilter, Seeker
from apps.reviews.searching import bounded
from apps.reviews.standing import waiting_for
from apps.workflows.models import Workflow
from tests.factories import NOW, make_item, make_task
from tests.reviews.queue_people import gets


def test_it_works(workflow: Workflow, rosa: User) -> None:
    make_task(workflow, label="spam")
    lead = make_task(workflow, label="lead")
    assert gets(rosa, workflow, QueueFilter(label="lead")) == lead


@pytest.mark.parametrize(
    "wanted",
    [
        {"label": "lead"},
        {"reason": "low_confidence"},
        {"language": "de"},
        {"source": "mail"},
        {"older_than_h": 2},
        {"text": "100% grünen"},
        {"text": "named-1"},
    ],
)
def test_each_part_finds_its_own(workflow: Workflow, rosa: User, wanted: dict[str, Any]) -> None:
    make_task(workflow, kind="audit", label="lead", language="en")
    right = make_task(workflow, label="lead", language="de-AT")
    ItemContent.objects.filter(item=right.item).update(text="mit 100% GRÜNEN")
    Item.objects.filter(pk=right.item_id).update(external_id="named-1")
    ReviewTask.objects.exclude(pk=right.pk).update(created_at=timezone.now() - timedelta(hours=1))
    ReviewTask.objects.filter(pk=right.pk).update(
        source="mail", created_at=timezone.now() - timedelta(hours=3)
    )
    assert gets(rosa, workflow, QueueFilter(**wanted)) == right


def test_a_reason_that_none_has_does_not_walk_the_queue(workflow: Workflow, rosa: User) -> None:
    make_task(workflow)
    with CaptureQueriesContext(connection) as asked:
        assert gets(rosa, workflow, QueueFilter(reason="model_error")) is None
    assert asked.captured_queries
    assert not [each for each in asked.captured_queries if "SKIP LOCKED" in each["sql"]]


def test_few_are_given_in_the_queues_order(workflow: Workflow, rosa: User) -> None:
    tasks = [make_task(workflow, priority=number) for number in (1, 3, 2)]
    assert gets(rosa, workflow, QueueFilter(reason="low_confidence")) == tasks[1]


def test_many_are_given_in_the_queues_order(workflow: Workflow, rosa: User) -> None:
    first = make_task(workflow)
    items = [make_item(workflow, f"more-{number}", status="in_review") for number in range(FEW)]
    same = {
        name: getattr(first, name) for name in ("route", "question_set", "kind", "asked", "blind", "due_at")
    }
    ReviewTask.objects.bulk_create(
        ReviewTask(item=item, workflow=workflow, place_at=NOW, created_at=NOW, **same) for item in items
    )
    ReviewTask.objects.filter(item=items[7]).update(priority=1)
    found = gets(rosa, workflow, QueueFilter(reason="low_confidence"))
    assert found is not None
    assert found.item == items[7]


def test_what_is_answered_blind_carries_nothing_the_model_said(workflow: Workflow) -> None:
    for more in ({}, {"blind": True}, {"kind": "audit"}):
        make_task(workflow, label="lead", **more)
    found = ReviewTask.objects.order_by("pk").values_list("source", "suggested", "reasons")
    assert list(found) == [("test", "lead", ["low_confidence"]), ("test", "", []), ("test", "", [])]


@pytest.mark.parametrize("wanted", [QueueFilter(label="spam"), QueueFilter(reason="low_confidence")])
def test_a_blind_task_is_found_by_nothing_the_model_said(
    workflow: Workflow, rosa: User, wanted: QueueFilter
) -> None:
    make_task(workflow, label="spam", kind="audit")
    make_task(workflow, label="spam", blind=True)
    assert gets(rosa, workflow, wanted) is None


@pytest.mark.parametrize("text", ["%", "_", "\\", "a' OR true --"])
def test_signs_mean_themselves(workflow: Workflow, rosa: User, text: str) -> None:
    make_task(workflow)
    assert gets(rosa, workflow, QueueFilter(text=text)) is None


def test_what_lies_on_the_desk_already_need_not_match(workflow: Workflow, rosa: User) -> None:
    first, second = make_task(workflow, label="spam"), make_task(workflow, label="lead")
    assert gets(rosa, workflow) == first
    assert gets(rosa, workflow, QueueFilter(label="lead")) == second
    assert gets(rosa, workflow, QueueFilter(label="spam")) == first


def test_a_filter_reads_back_what_it_writes(workflow: Workflow) -> None:
    wanted = QueueFilter("lead", "high_cost", "pt-BR", "a&b=c", 5, "ü 100% &c")
    assert filter_of(QueryDict(wanted.query), workflow) == wanted
    assert set(parse_qs(wanted.query)) == {"label", "reason", "language", "source", "older_than_h", "q"}
    assert (filter_of(QueryDict(""), workflow), EVERYTHING.query) == (EVERYTHING, "")


def test_a_language_is_named_as_people_call_it(workflow: Workflow) -> None:
    wanted = filter_of(QueryDict("language=Deutsch"), workflow)
    assert wanted == QueueFilter(language="de")
    assert told_filter(wanted, workflow) == [("Language", "German")]


@pytest.mark.parametrize(
    "query", ["label=nowhere", "older_than_h=soon", "older_than_h=-1", "language=Klingon", "reason=x"]
)
def test_what_cannot_be_read_is_not_everything(workflow: Workflow, query: str) -> None:
    assert filter_of(QueryDict(query), workflow) is None


def test_a_search_ends_in_time(workflow: Workflow, rosa: User) -> None:
    seeker = Seeker.of(rosa, workflow)
    assert seeker is not None
    searching = bounded("x", limit_s=0.001)
    with pytest.raises(InvalidInput, match="too long"), transaction.atomic(), searching:
        sleep_in_the_database()


def sleep_in_the_database() -> None:
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_sleep(5)")


def test_why_there_is_nothing(workflow: Workflow, rosa: User) -> None:
    make_task(workflow, label="spam")
    seeker = Seeker.of(rosa, workflow)
    assert seeker is not None
    waiting = waiting_for(seeker, QueueFilter(label="lead"))
    assert (waiting.filtered, waiting.free, waiting.open) == (1, 0, 1)
