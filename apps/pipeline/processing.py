"""Asks the model about waiting items: claim in a short transaction, ask outside any, write once in bulk.

Threads here do HTTP only. The ORM stays in the task's own thread: a thread of a pool would keep a database
connection of its own.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime

import structlog

from apps.clef.circuit import CircuitBreaker
from apps.clef.client import ClefClient
from apps.clef.errors import ClefError, EndpointMisconfigured, EndpointUnreachable, InvalidReply
from apps.clef.types import ModelReply, ModelRequest
from apps.items.models import ItemContent
from apps.pipeline.claims import BATCH, Claim, claim_items, workflows_with_work
from apps.pipeline.endpoints import client_of
from apps.pipeline.rulebook import rulebook_for
from apps.pipeline.writing import write_answers
from apps.workflows.definitions import to_clef_questions
from apps.workflows.models import Workflow

log = structlog.get_logger()
Outcome = ModelReply | ClefError
Clock = Callable[[], datetime]
ASK_S = 90.0
"""Seconds a batch may spend asking; what is not asked by then goes back to wait, well before the claim ends."""
MOST_ROUNDS = 50


def decide_waiting_items(*, now: Clock) -> bool:
    """Works until nothing waits, or for `MOST_ROUNDS` batches; True when work was left."""
    for _ in range(MOST_ROUNDS):
        decided = [decide_batch(workflow=workflow, now=now) for workflow in workflows_with_work()]
        if not any(decided):
            return False
    return True


def decide_batch(*, workflow: Workflow, now: Clock) -> int:
    """How many items of this workflow were asked about; 0 when others were faster."""
    # An endpoint that was in trouble gets a single probe before it gets a full batch again.
    claim = claim_items(workflow=workflow, limit=1 if workflow.endpoint.failures_in_a_row else BATCH)
    if not claim.item_ids:
        return 0
    book = rulebook_for(workflow)
    questions = tuple(to_clef_questions(book.question_set))
    states = dict(ItemContent.objects.filter(pk__in=claim.item_ids).values_list("pk", "state"))
    requests = {item_id: ModelRequest(state, questions) for item_id, state in states.items()}
    outcomes = _ask_all(workflow, requests)
    write_answers(book=book, claim=claim, outcomes=outcomes, now=now())
    _log(workflow, claim, outcomes)
    return len(claim.item_ids)


def _ask_all(workflow: Workflow, requests: Mapping[int, ModelRequest]) -> dict[int, Outcome]:
    try:
        client = client_of(workflow.endpoint)
    except EndpointMisconfigured as error:
        return dict.fromkeys(requests, error)
    circuit = CircuitBreaker()
    give_up_at = time.monotonic() + ASK_S
    with ThreadPoolExecutor(min(workflow.endpoint.concurrency, len(requests))) as pool:
        answers = pool.map(lambda request: _ask(client, circuit, request, give_up_at), requests.values())
        outcomes = dict(zip(requests, answers, strict=True))
    if circuit.state == "closed":
        return outcomes
    # Unreadable replies that opened the circuit are the endpoint's trouble, not these items'.
    return {
        item_id: EndpointUnreachable(outcome.message, code=outcome.code)
        if isinstance(outcome, InvalidReply)
        else outcome
        for item_id, outcome in outcomes.items()
    }


def _ask(client: ClefClient, circuit: CircuitBreaker, request: ModelRequest, give_up_at: float) -> Outcome:
    left_s = give_up_at - time.monotonic()
    if left_s <= 0 or not circuit.admits():
        return EndpointUnreachable("not asked: the endpoint was in trouble", code="not_asked")
    try:
        reply = client.decide(request, deadline_s=left_s)
    except ClefError as error:
        circuit.failed(error)
        return error
    circuit.succeeded()
    return reply


def _log(workflow: Workflow, claim: Claim, outcomes: Mapping[int, Outcome]) -> None:
    failed = [outcome for outcome in outcomes.values() if isinstance(outcome, ClefError)]
    log.info(
        "batch_decided",
        workflow=workflow.slug,
        items=len(claim.item_ids),
        failed=len(failed),
        reasons=sorted({error.reason for error in failed}),
    )
