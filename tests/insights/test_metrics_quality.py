from __future__ import annotations

from datetime import timedelta

import pytest

from apps.accounts.models import User
from apps.insights.metrics import Group, workflow_metrics
from apps.stats.rates import Rate
from apps.workflows.models import Workflow
from tests.factories import NOW, make_task
from tests.insights.answered import answer

pytestmark = pytest.mark.django_db


def questions(workflow: Workflow, days: int | None = None) -> dict[str | None, Group]:
    start = None if days is None else NOW - timedelta(days=days)
    found = workflow_metrics(workflow=workflow, start=start, end=None, group="question", now=NOW)
    return {group.key: group for group in found.groups}


def test_it_works(workflow: Workflow, rosa: User) -> None:
    for kind, value in (("routine", "spam"), ("audit", "lead")):
        answer(rosa, make_task(workflow, kind=kind), value)
    group = questions(workflow, days=3)["intent"]
    figures = {name: figure.value for name, figure in group.figures.items()}
    assert (figures["answers"], figures["automatic_error"]) == (2, 1.0)
    assert figures["error"] == pytest.approx(10 / 11)
    assert (group.about["from"], group.about["to"], group.about["newest_only"]) == (
        "2026-11-27",
        "2026-11-30",
        False,
    )


def test_what_is_unknown_says_why(workflow: Workflow) -> None:
    figures = questions(workflow)["money"].to_json()["metrics"]
    unknown = {name: figure for name, figure in figures.items() if figure["value"] is None}
    assert {"error", "brier", "ece", "people_kappa", "visible_blind_gap"} <= unknown.keys()
    assert all(figure["reason"] for figure in unknown.values())


def test_an_estimate_does_not_call_itself_exact(workflow: Workflow, rosa: User) -> None:
    answer(rosa, make_task(workflow), "spam")
    metrics = questions(workflow)["intent"].to_json()["metrics"]
    assert "exact" not in metrics["brier"]
    assert metrics["answers"]["exact"] is True
    assert isinstance(questions(workflow)["intent"].figures["error"], Rate)
