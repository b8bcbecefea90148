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
from apps.pipeline.claims import ASK_S, Claim, claim_items, put_back, workflows_with_work
from apps.pipeline.endpoints import client_of
from apps.pipeline.pictures import Prepared, prepare_requests
from apps.pipeline.rulebook import Rulebook, rulebook_for
from apps.pipeline.writing import BROKEN_PAUSE, NO_TIME, Pictures, put_back_broken, write_answers
from apps.workflows.definitions import to_clef_questions
from apps.workflows.models import Workflow

log = structlog.get_logger()
Outcome = ModelReply | Exception
Clock = Callable[[], datetime]
MOST_ROUNDS = 50
PREPARE_S = ASK_S / 2
"""Seconds of a batch's time that its pictures may take."""


def decide_waiting_items(*, now: Clock) -> bool:
    """Works until nothing waits, or for `MOST_ROUNDS` batches; True when work was left."""
    for _ in range(MOST_ROUNDS):
        decided = [decide_batch(workflow=workflow, now=now) for workflow in workflows_with_work()]
        if not any(decided):
            return False
    return True


def decide_batch(*, workflow: Workflow, now: Clock) -> int:
    """How many items of this workflow were asked about; 0 when others were faster, or when its rules or questions
    cannot be read: then the items wait and say so, and other workflows go on."""
    claim, began = claim_items(workflow=workflow), time.monotonic()
    if not claim.item_ids:
        return 0
    try:
        book = rulebook_for(workflow)
        questions, _ = tuple(to_clef_questions(book.question_set)), book.rules
    except Exception as error:
        log.exception("workflow_cannot_decide", workflow=workflow.slug)
        why = f"rules: the policy or the questions cannot be read ({type(error).__name__})"
        next_try_at = now() + BROKEN_PAUSE
        put_back(claim=claim, item_ids=claim.item_ids, why=why, next_try_at=next_try_at, is_counted=False)
        return 0
    prepared = prepare_requests(
        workflow=workflow, item_ids=claim.item_ids, questions=questions, until=began + PREPARE_S
    )
    asked = {pk: each for pk, each in prepared.items() if isinstance(each, Prepared)}
    outcomes: dict[int, Outcome] = {pk: each for pk, each in prepared.items() if isinstance(each, Exception)}
    outcomes |= _ask_all(workflow, {pk: each.request for pk, each in asked.items()}, began + ASK_S)
    pictures = {pk: each.pictures for pk, each in asked.items()}
    _write(book, claim, outcomes, now(), pictures)
    _log(workflow, claim, outcomes)
    return len(claim.item_ids)


def _write(
    book: Rulebook, claim: Claim, outcomes: Mapping[int, Outcome], now: datetime, pictures: Pictures
) -> None:
    """In bulk; when that breaks, one by one, so that an item that cannot be written holds up no other."""
    try:
        write_answers(book=book, claim=claim, outcomes=outcomes, now=now, pictures=pictures)
    except Exception as error:
        log.exception("batch_not_written", workflow=book.workflow.slug, items=len(outcomes))
        if len(outcomes) > 1:
            for item_id, outcome in outcomes.items():
                _write(book, claim, {item_id: outcome}, now, pictures)
            return
        for item_id in outcomes:
            put_back_broken(claim=claim, item_id=item_id, error=error, now=now)


def _ask_all(
    workflow: Workflow, requests: Mapping[int, ModelRequest], give_up_at: float
) -> dict[int, Outcome]:
    if not requests:
        return {}
    try:
        client = client_of(workflow.endpoint)
    except EndpointMisconfigured as error:
        return dict.fromkeys(requests, error)
    except Exception as error:
        log.exception("no_client", endpoint=workflow.endpoint.name)
        why = EndpointMisconfigured(f"no connection can be made ({type(error).__name__})", code="client")
        return dict.fromkeys(requests, why)
    circuit = CircuitBreaker()
    with ThreadPoolExecutor(min(workflow.endpoint.concurrency, len(requests))) as pool:
        answers = pool.map(lambda request: ask_one(client, circuit, request, give_up_at), requests.values())
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


def ask_one(client: ClefClient, circuit: CircuitBreaker, request: ModelRequest, give_up_at: float) -> Outcome:
    """The reply, or the exception that came instead of it; nothing is raised."""
    left_s = give_up_at - time.monotonic()
    if left_s <= 0:
        return EndpointUnreachable("not asked: the time of the batch was over", code=NO_TIME)
    if not circuit.admits():
        return EndpointUnreachable("not asked: the endpoint was in trouble", code="not_asked")
    try:
        reply = client.decide(request, deadline_s=left_s)
    except ClefError as error:
        circuit.failed(error)
        return error
    except Exception as error:
        log.exception("item_broke_asking")
        return error
    circuit.succeeded()
    return reply


def _log(workflow: Workflow, claim: Claim, outcomes: Mapping[int, Outcome]) -> None:
    failed = [outcome for outcome in outcomes.values() if isinstance(outcome, Exception)]
    log.info(
        "batch_decided",
        workflow=workflow.slug,
        items=len(claim.item_ids),
        failed=len(failed),
        reasons=sorted(
            {error.reason if isinstance(error, ClefError) else type(error).__name__ for error in failed}
        ),
    )
