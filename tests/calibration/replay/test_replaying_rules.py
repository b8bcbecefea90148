"""Rules on text and metadata in a replay: taken from when the item came, or tried again; and the rows it all reads."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from django.utils import timezone

from apps.calibration.replay.replaying import Replayed, replay, source_for
from apps.calibration.replay.rows import batches, day_of
from apps.items.models import Item, ItemContent, Route, RouteColumns
from apps.pipeline.rulebook import Rulebook, rulebook_for
from apps.pipeline.writing import reroute
from apps.policies.models import Policy
from apps.workflows.models import Workflow
from tests.calibration.replay.replays import vector_of
from tests.factories import NOW, RULES, make_decision, make_item, make_policy

pytestmark = pytest.mark.django_db

REFUND: dict[str, Any] = {"id": "refund", "name": "Refunds", "kind": "text", "words": ["refund*"]}
AMOUNT: dict[str, Any] = {
    "id": "amount",
    "name": "Large",
    "kind": "metadata",
    "field": "amount",
    "op": ">",
    "value": 100.0,
}
MONEY: dict[str, Any] = {
    "id": "money",
    "name": "Money",
    "kind": "answer",
    "question": "money",
    "at_least": 0.5,
}
TEXTS = ("a refund please", "hello", "refunds", "thanks")
AMOUNTS = (5, 500, None, "much")


def having(*overrides: dict[str, Any]) -> dict[str, Any]:
    return {**RULES, "overrides": list(overrides)}


def in_force(workflow: Workflow, rules: dict[str, Any]) -> Rulebook:
    """Straight into the table: what a policy says cannot change once it was activated."""
    workflow.policies.update(status="retired")
    make_policy(workflow, rules, version=workflow.policies.count() + 1)
    return rulebook_for(workflow)


def came(book: Rulebook, texts: Sequence[str] = TEXTS, *, p: float = 0.95, at: datetime = NOW) -> list[Item]:
    """Items decided by the policy in force, as the pipeline would."""
    items = []
    for number, text in enumerate(texts):
        item = make_item(book.workflow, text=text, metadata={"amount": AMOUNTS[number % len(AMOUNTS)]})
        decision = make_decision(item, "spam", p)
        pure = reroute(book, item, item.content, decision.answers)
        Route.objects.create(
            item=item,
            workflow=book.workflow,
            decision=decision,
            policy=book.policy,
            question_set=book.question_set,
            outcome=pure.outcome.value,
            label=pure.label,
            p=pure.p,
            gates=[gate.to_json() for gate in pure.gates],
            reasons=[reason.to_json() for reason in pure.reasons],
            pi=pure.pi,
            drawn=pure.drawn,
            open_but_threshold=pure.open_but_threshold,
            created_at=at,
        )
        items.append(item)
    return items


def replayed(workflow: Workflow, rules: dict[str, Any]) -> Replayed:
    found = replay(workflow=workflow, rules=rules, now=NOW)
    assert found is not None
    return found


def automatic_by_route(items: Sequence[Item], rules: dict[str, Any]) -> int:
    book = rulebook_for(items[0].workflow)
    candidate = Policy(workflow=book.workflow, rules=rules)
    trial = Rulebook(book.workflow, book.question_set, candidate, {})
    return sum(
        reroute(trial, item, item.content, item.decisions.get().answers).outcome == "automatic"
        for item in items
    )


def test_it_works(workflow: Workflow) -> None:
    came(in_force(workflow, having(REFUND)))

    found = replayed(workflow, having())

    assert (found.current.automation.numerator, found.candidate.automation.numerator) == (2, 4)


@pytest.mark.parametrize("before", [(), (REFUND,), (AMOUNT, MONEY), (REFUND, AMOUNT)])
@pytest.mark.parametrize("after", [(), (REFUND,), (AMOUNT,), (MONEY, AMOUNT, REFUND)])
def test_as_many_go_on_as_by_route(workflow: Workflow, before: Any, after: Any) -> None:
    items = came(in_force(workflow, having(*before)))

    found = replayed(workflow, having(*after))

    assert found.candidate.automation.numerator == automatic_by_route(items, having(*after))
    assert found.current.automation.numerator == automatic_by_route(items, having(*before))


def test_a_rule_that_stays_needs_no_text(workflow: Workflow) -> None:
    came(in_force(workflow, having(REFUND)))
    ItemContent.objects.update(text="", state="")

    assert replayed(workflow, having({**REFUND, "name": "Renamed"})).candidate.automation.numerator == 2


def test_a_rule_under_the_id_of_another_is_tried_anew(workflow: Workflow) -> None:
    came(in_force(workflow, having(REFUND)))

    assert replayed(workflow, having({**REFUND, "words": ["thanks"]})).candidate.automation.numerator == 3


def test_each_route_is_read_by_the_rules_it_was_made_with(workflow: Workflow) -> None:
    came(in_force(workflow, having(REFUND)))
    came(in_force(workflow, having()))

    assert replayed(workflow, having(REFUND)).candidate.automation.numerator == 4


def test_a_route_has_its_columns(workflow: Workflow) -> None:
    came(in_force(workflow, having(REFUND)), p=0.7)

    columns = RouteColumns.objects.order_by("route")
    assert [each.held for each in columns] == [["refund"], None, ["refund"], None]
    assert {bytes(each.vector) for each in columns} == {vector_of("spam", 0.7)}
    assert {each.model for each in columns} == {"standin-ngram-1"}


def test_a_route_that_another_replaces_has_none(workflow: Workflow) -> None:
    came(in_force(workflow, having()))

    Route.objects.filter(item__external_id="item-1").update(superseded_at=timezone.now())

    assert RouteColumns.objects.count() == 3


def test_what_the_model_could_not_answer_goes_to_people(workflow: Workflow) -> None:
    book = in_force(workflow, having())
    came(book)
    Route.objects.create(
        item=make_item(workflow),
        workflow=workflow,
        policy=book.policy,
        question_set=book.question_set,
        outcome="review",
        gates=[],
        reasons=[],
        pi=1.0,
        drawn=False,
        open_but_threshold=False,
        created_at=NOW,
    )

    found = replayed(workflow, having())

    assert found.found.without_answer == 1
    assert (found.candidate.automation.numerator, found.candidate.automation.denominator) == (4, 5)


@pytest.mark.parametrize("zone", ["Asia/Kathmandu", "America/St_Johns", "Europe/Berlin", "Asia/Riyadh"])
def test_days_are_those_of_the_workflows_time_zone(workflow: Workflow, zone: str) -> None:
    workflow.time_zone = zone
    late = datetime(2026, 10, 25, 23, 50, tzinfo=UTC)
    came(in_force(workflow, having()), at=late)

    source = source_for(workflow, now=NOW)

    assert source is not None
    batch = next(batches(source, size=10))
    assert {day_of(day) for day in batch.day.tolist()} == {late.astimezone(ZoneInfo(zone)).date()}
