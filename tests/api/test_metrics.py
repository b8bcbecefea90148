from __future__ import annotations

from typing import Any

import pytest
from django.utils import timezone

from apps.accounts.models import User
from apps.insights.metrics import workflow_metrics
from apps.workflows.models import Workflow
from tests.api.conftest import Caller, caller_of
from tests.factories import make_task

GET = "/workflows/leads/metrics"
RATE = {"value", "numerator", "denominator", "low", "high"}


@pytest.fixture
def maya(workflow: Workflow, mara: User) -> Caller:
    """A program whose person manages."""
    return caller_of(workflow, mara)


def test_it_works(workflow: Workflow, maya: Caller) -> None:
    make_task(workflow)
    answer = maya.get(GET).json()
    assert (answer["workflow"], answer["group"], answer["groups"]) == ("leads", None, [])
    assert answer["metrics"]["items_in"]["value"] == 1
    assert all(set(metric) >= RATE for metric in answer["metrics"].values())


def test_unknown_is_null_with_a_reason(workflow: Workflow, maya: Caller) -> None:
    metrics = maya.get(GET).json()["metrics"]
    unknown = [metric for metric in metrics.values() if metric["value"] is None]
    assert unknown
    assert all(metric["reason"] for metric in unknown)


def test_nothing_is_added_to_what_the_pages_show(workflow: Workflow, maya: Caller) -> None:
    make_task(workflow)
    shown = workflow_metrics(
        workflow=workflow, start=None, end=None, group="label", now=timezone.now()
    ).to_json()
    answer = maya.get(GET, group="label").json()
    assert answer["metrics"].keys() == shown["metrics"].keys()
    assert answer["metrics"]["automatic_share"] == shown["metrics"]["automatic_share"]
    assert [group["key"] for group in answer["groups"]] == [group["key"] for group in shown["groups"]]


@pytest.mark.parametrize("group", ["label", "reviewer", "day", "confidence", "question"])
def test_groups(workflow: Workflow, maya: Caller, group: str) -> None:
    make_task(workflow)
    response = maya.get(GET, group=group, **{"from": "2026-11-01", "to": "2026-11-30"})
    assert (response.status_code, response.json()["group"]) == (200, group)


@pytest.mark.parametrize(
    ("params", "path"),
    [
        ({"group": "colour"}, "group"),
        ({"from": "x"}, "from"),
        ({"to": "2026-13-01"}, "to"),
        ({"from": "2026-12-01", "to": "2026-11-01"}, "to"),
        ({"since": "2026-11-01"}, "since"),
    ],
)
def test_a_wrong_parameter_is_named(maya: Caller, params: dict[str, Any], path: str) -> None:
    response = maya.get(GET, **params)
    assert response.status_code == 422
    assert [each["path"] for each in response.json()["error"]["fields"]] == [path]


def test_a_reviewers_token_cannot_find_out_what_the_model_said_of_a_blind_item(
    workflow: Workflow, ivan: Caller
) -> None:
    make_task(workflow, kind="audit")
    response = ivan.get(GET, group="label")
    assert (response.status_code, response.json()["error"]["code"]) == (403, "managers_only")
