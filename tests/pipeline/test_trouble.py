"""What breaks at one item, one workflow or one endpoint stays there: the others go on, and it is seen."""

from __future__ import annotations

import time
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import httpx
import pytest
from django.utils import timezone

from apps.clef.circuit import CircuitBreaker
from apps.clef.client import ClefClient
from apps.clef.errors import (
    EndpointBusy,
    EndpointError,
    EndpointFailed,
    EndpointUnreachable,
    QuotaExhausted,
)
from apps.clef.local.server import StandIn
from apps.clef.types import Answer, EndpointSettings, ModelReply, ModelRequest, NoulQuestion
from apps.items.models import Item, Route
from apps.pipeline.claims import ASK_S, claim_items, claim_s
from apps.pipeline.endpoints import to_settings
from apps.pipeline.incoming import Incoming
from apps.pipeline.intake import add_items
from apps.pipeline.processing import ask_one, decide_waiting_items
from apps.pipeline.rulebook import rulebook_for
from apps.pipeline.sweep import sweep_rows
from apps.pipeline.writing import write_answers
from apps.reviews.models import ReviewTask
from apps.workflows.models import Endpoint, Workflow
from tests.factories import NOW, make_decision, make_endpoint, make_item, make_route, make_workflow

OVERDUE = NOW + timedelta(hours=25)
SETTINGS = EndpointSettings("systemone", "http://127.0.0.1:9", "clef")


@pytest.fixture
def model(workflow: Workflow) -> Iterator[StandIn]:
    with StandIn() as standin:
        Endpoint.objects.update(base_url=standin.url)
        yield standin


def add(workflow: Workflow, name: str = "a", text: str = "My order has not arrived") -> Item:
    incoming = [Incoming(name, text)]
    added = add_items(workflow=workflow, incoming=incoming, source="test", now=NOW).added
    return Item.objects.get(pk=added[0].item_id)


def decide() -> None:
    decide_waiting_items(now=timezone.now)


def test_it_works(workflow: Workflow, model: StandIn) -> None:
    poison, good = add(workflow, "a"), add(workflow, "b")
    make_decision(poison)
    decide()
    poison.refresh_from_db()
    good.refresh_from_db()
    assert (poison.status, poison.attempts, good.status) == ("received", 1, "in_review")
    assert "(IntegrityError, see the worker’s log)" in poison.wait_reason
    assert poison.next_try_at is not None


def test_an_item_that_always_breaks_comes_to_people(workflow: Workflow) -> None:
    item = make_item(workflow, wait_reason="A fault (KeyError)", attempts=5)
    sweep_rows(now=NOW)
    assert "A fault (KeyError)" in Route.objects.get(item=item).reasons[0]["numbers"]["message"]


def reply(workflow: Workflow) -> ModelReply:
    questions = workflow.question_sets.get().questions.all()
    answers = {
        each.key: Answer(
            each.key,
            "choice" if each.is_routing else "noul",
            tuple((option, 1 / len(each.options)) for option in each.option_ids),
        )
        for each in questions
    }
    return ModelReply("clef", answers, None, 200, 0.1, 1, 0, "{}")


def test_an_item_that_a_model_cannot_bear_pauses_nobody_else(workflow: Workflow) -> None:
    poison, good = add(workflow, "a"), add(workflow, "b")
    claim = claim_items(workflow=workflow)
    outcomes: dict[int, ModelReply | Exception] = {
        poison.pk: EndpointFailed("status 500"),
        good.pk: reply(workflow),
    }
    write_answers(book=rulebook_for(workflow), claim=claim, outcomes=outcomes, now=NOW)
    poison.refresh_from_db()
    assert (poison.status, poison.attempts, poison.wait_reason) == (
        "received",
        1,
        "The model failed (status 500)",
    )
    assert Endpoint.objects.get().failures_in_a_row == 0
    Item.objects.filter(pk=poison.pk).update(attempts=5)
    sweep_rows(now=NOW)
    assert Route.objects.get(item=poison).reasons[0]["numbers"]["code"] == "gave_up"


@pytest.mark.parametrize(
    "error", [EndpointBusy("slow down"), QuotaExhausted("used up"), EndpointUnreachable("", code="not_asked")]
)
def test_what_an_endpoint_says_of_itself_counts_against_no_item(
    workflow: Workflow, error: EndpointError
) -> None:
    waits, good = add(workflow, "a"), add(workflow, "b")
    claim = claim_items(workflow=workflow)
    outcomes: dict[int, ModelReply | Exception] = {waits.pk: error, good.pk: reply(workflow)}
    write_answers(book=rulebook_for(workflow), claim=claim, outcomes=outcomes, now=NOW)
    waits.refresh_from_db()
    assert (waits.attempts, Endpoint.objects.get().failures_in_a_row) == (0, 1)


def test_probes_take_turns(workflow: Workflow) -> None:
    failed, fresh = add(workflow, "a"), add(workflow, "b")
    Item.objects.filter(pk=failed.pk).update(next_try_at=NOW - timedelta(days=365))
    workflow.endpoint.failures_in_a_row = 1
    assert claim_items(workflow=workflow).item_ids == (fresh.pk,)
    assert claim_items(workflow=workflow).item_ids == (failed.pk,)


def test_rules_that_cannot_be_read_stop_no_other_workflow(
    workflow: Workflow, other_workflow: Workflow, model: StandIn
) -> None:
    workflow.policies.update(status="retired")
    workflow.policies.create(version=2, status="active", rules={"margin": "much"}, activated_at=NOW)
    broken, good = add(workflow), add(other_workflow)
    decide()
    broken.refresh_from_db()
    good.refresh_from_db()
    assert (broken.status, broken.attempts, good.status) == ("received", 0, "in_review")
    assert broken.wait_reason.startswith("rules: ")
    assert sweep_rows(now=OVERDUE).to_people == 1
    assert ReviewTask.objects.get(item=broken).asked == ["intent", "money"]


def test_a_fault_of_ours_while_asking_is_handed_back_not_raised() -> None:
    def break_down(request: httpx.Request) -> httpx.Response:
        raise RuntimeError("a bug")

    asked = ModelRequest("hello", (NoulQuestion("urgent", "Is it urgent?"),))
    with ClefClient(SETTINGS, transport=httpx.MockTransport(break_down)) as client:
        outcome = ask_one(client, CircuitBreaker(), asked, time.monotonic() + 5)
    assert isinstance(outcome, RuntimeError)


def test_what_there_was_no_time_for_waits_without_a_pause(workflow: Workflow) -> None:
    item = add(workflow)
    claim = claim_items(workflow=workflow)
    with ClefClient(SETTINGS) as client:
        outcome = ask_one(client, CircuitBreaker(), ModelRequest("hello", ()), time.monotonic() - 1)
    write_answers(book=rulebook_for(workflow), claim=claim, outcomes={item.pk: outcome}, now=NOW)
    item.refresh_from_db()
    assert (item.status, item.attempts, item.next_try_at) == ("received", 0, None)
    assert Endpoint.objects.get().failures_in_a_row == 0


def test_a_key_file_that_cannot_be_read_is_the_endpoints_trouble(
    workflow: Workflow, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("SOME_KEY_FILE", str(tmp_path / "none"))
    Endpoint.objects.update(secret_variable="SOME_KEY")
    item = add(workflow)
    decide()
    item.refresh_from_db()
    assert (item.status, item.attempts) == ("received", 0)
    assert "SOME_KEY_FILE" in item.wait_reason


def test_an_item_that_came_during_the_pause_goes_to_people_when_due(workflow: Workflow) -> None:
    add(workflow)
    pause = {"failures_in_a_row": 3, "paused_until": OVERDUE + timedelta(hours=1), "pause_reason": "busy"}
    Endpoint.objects.update(**pause)
    assert sweep_rows(now=NOW + timedelta(hours=1)).to_people == 0
    assert sweep_rows(now=OVERDUE).to_people == 1
    assert Route.objects.get().reasons[0]["numbers"]["message"] == "busy"


def test_a_workflow_that_cannot_hand_over_stops_no_other(
    workflow: Workflow, other_workflow: Workflow
) -> None:
    make_route(make_item(workflow, attempts=5))
    make_item(other_workflow, attempts=5)
    assert sweep_rows(now=NOW).to_people == 1


@pytest.mark.parametrize("timeout_s", [0.1, 10, 120])
def test_a_claim_outlives_the_last_attempt(db: None, timeout_s: float) -> None:
    endpoint = make_endpoint(timeout_s=timeout_s)
    assert claim_s(endpoint) >= ASK_S + 2 * timeout_s + 10
    assert to_settings(endpoint).timeout_s == timeout_s
    workflow = make_workflow(endpoint=endpoint)
    item = add(workflow)
    claim_items(workflow=workflow)
    item.refresh_from_db()
    assert item.claimed_until is not None
    assert item.claimed_until - timezone.now() > timedelta(seconds=ASK_S + 2 * timeout_s)
