from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from apps.pipeline.placing import place_of
from apps.pipeline.rulebook import Rulebook, rulebook_for
from apps.routing.types import Gate
from apps.workflows.models import Workflow
from tests.factories import NOW, RULES, make_workflow


def hours_sooner(book: Rulebook, expected: float, *, review: float = 2.0, **more: Any) -> float:
    gate = Gate("cost", False, {"label": "spam", "expected_cost": expected, "review_cost": review})
    given: dict[str, Any] = {"is_blind": False, "gates": [gate]} | more
    return (NOW - place_of(book, due_at=NOW, **given)) / timedelta(hours=1)


def test_it_works(workflow: Workflow) -> None:
    assert hours_sooner(rulebook_for(workflow), 5.0) == 2.5


@pytest.mark.parametrize(
    ("expected", "review"), [(1e9, 1.0), (float("inf"), 1.0), (1.0, 0.0), (1e300, 1e-300)]
)
def test_never_sooner_than_all_the_time_there_is(workflow: Workflow, expected: float, review: float) -> None:
    assert hours_sooner(rulebook_for(workflow), expected, review=review) == workflow.due_hours


def test_what_costs_nothing_waits_its_turn(workflow: Workflow) -> None:
    assert hours_sooner(rulebook_for(workflow), 0.0, review=0.0) == 0


def test_a_blind_one_stands_where_nothing_can_be_guessed_of_it(workflow: Workflow) -> None:
    assert hours_sooner(rulebook_for(workflow), 5.0, is_blind=True) == 0


def test_without_prices_or_an_answer_the_due_time_counts(workflow: Workflow) -> None:
    unpriced = make_workflow("unpriced", rules=RULES | {"costs": {}})
    assert hours_sooner(rulebook_for(unpriced), 5.0) == 0
    assert hours_sooner(rulebook_for(workflow), 5.0, gates=[]) == 0
