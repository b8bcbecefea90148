"""How many people a new task asks is drawn with it, whatever the model said."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from django.conf import settings

from apps.clef.local.server import StandIn
from apps.pipeline.incoming import Incoming
from apps.pipeline.intake import add_items
from apps.pipeline.processing import decide_batch
from apps.reviews.models import ReviewRules, ReviewTask
from apps.routing.draw import second_draw
from apps.workflows.models import Endpoint, Workflow
from tests.factories import NOW


@pytest.fixture
def asked_workflow(workflow: Workflow) -> Iterator[Workflow]:
    with StandIn() as model:
        Endpoint.objects.update(base_url=model.url)
        workflow.endpoint.refresh_from_db()
        yield workflow


def decide(workflow: Workflow, *texts: str) -> list[ReviewTask]:
    incoming = [Incoming(f"item-{number}", text) for number, text in enumerate(texts)]
    add_items(workflow=workflow, incoming=incoming, source="test", now=NOW)
    assert decide_batch(workflow=workflow, now=lambda: NOW) == len(texts)
    return list(ReviewTask.objects.select_related("route", "item").order_by("pk"))


def test_it_works(asked_workflow: Workflow) -> None:
    ReviewRules.objects.create(workflow=asked_workflow, wanted=2, created_at=NOW)
    tasks = decide(asked_workflow, "I want to buy for my company", "My order has not arrived")
    assert tasks
    assert {(task.reviews_wanted, task.reviews_needed, task.blind, task.blind_pi) for task in tasks} == {
        (2, 2, True, 1.0)
    }


def test_without_rules_one_person_is_asked(asked_workflow: Workflow) -> None:
    tasks = decide(asked_workflow, "I want to buy for my company")
    assert [(task.reviews_wanted, task.blind, task.blind_pi) for task in tasks] == [(1, False, 1.0)]


def test_a_label_may_ask_for_more(asked_workflow: Workflow) -> None:
    ReviewRules.objects.create(workflow=asked_workflow, wanted_by_label={"lead": 3}, created_at=NOW)
    tasks = decide(asked_workflow, "I want to buy your product for my company", "My order has not arrived")
    wanted = {task.route.label: task.reviews_wanted for task in tasks}
    assert (wanted.get("lead"), wanted.get("customer")) == (3, 1)


def test_a_share_is_drawn_by_the_item(asked_workflow: Workflow) -> None:
    ReviewRules.objects.create(workflow=asked_workflow, second_share=0.5, created_at=NOW)
    tasks = decide(asked_workflow, *["I want to buy for my company"] * 12)
    key = settings.SECRET_KEY.encode()
    assert {task.reviews_wanted for task in tasks} == {1, 2}
    for task in tasks:
        is_second = second_draw(key, "leads", task.item.external_id) < 0.5
        assert (task.reviews_wanted, task.blind, task.blind_pi) == (1 + is_second, is_second, 0.5)
