"""The work on trials: every model is asked about every example, beside the live work and never in its way.

A batch is asked outside any transaction and written under the claim's token; a worker that was killed costs its last
batch. Threads do HTTP only. An endpoint that is in trouble ends its own column, with the reason, and no other.
"""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any

import structlog
from django.db import transaction
from django.db.models import Exists, F, OuterRef, Q

from apps.calibration.models import Trial, TrialAnswer, TrialExample, TrialModel
from apps.calibration.trials.services import price_of
from apps.clef.circuit import CircuitBreaker
from apps.clef.client import ClefClient
from apps.clef.errors import ClefError
from apps.clef.types import ModelReply, ModelRequest
from apps.core.db import ClockTimestamp
from apps.core.errors import Conflict
from apps.core.text import repaired
from apps.pipeline.endpoints import to_settings
from apps.pipeline.processing import Outcome, ask_one
from apps.pipeline.writing import NO_TIME, TROUBLE
from apps.workflows.definitions import to_clef_questions

log = structlog.get_logger()
BATCH = 32
AT_ONCE = 4
"""Requests to one endpoint at a time, so that live items come first. Latencies are measured under this load."""
ASK_S = 60.0
CLAIM_S = 330
"""A batch may begin to ask for ASK_S; its last attempt may take twice an endpoint's longest timeout, 120 s."""
SLICE_S = 20.0
MOST_ATTEMPTS = 3
GIVEN_UP = f"Given up: a worker died over it {MOST_ATTEMPTS} times in a row."
Clock = Callable[[], datetime]
ClientFor = Callable[[TrialModel], ClefClient]


class ClaimLost(Conflict):
    """Another worker has the trial, or it was deleted; what this batch brought is dropped."""


@dataclass(frozen=True, slots=True)
class Claim:
    token: uuid.UUID
    trial: Trial


def client_for(model: TrialModel) -> ClefClient:
    """Raises EndpointMisconfigured, naming the variable that is missing, never a value."""
    if model.endpoint is None:
        raise ValueError(f"{model.name} is a column of given answers")
    settings = to_settings(model.endpoint)
    if model.model:
        settings = replace(settings, model=model.model)
    return ClefClient(settings, pool_size=AT_ONCE)


def work_on_next_trial(
    *, now: Clock, client_for: ClientFor = client_for, slice_s: float = SLICE_S, trial_id: int | None = None
) -> bool:
    """A slice of the trial that waits longest, or of the one named; False when none waited."""
    claim = claim_trial(now=now(), trial_id=trial_id)
    if claim is None:
        return False
    try:
        _work(claim, now, client_for, time.monotonic() + slice_s)
    except ClaimLost:
        log.info("trial_claim_lost", trial=claim.trial.pk)
    return True


@transaction.atomic
def claim_trial(*, now: datetime, trial_id: int | None = None) -> Claim | None:
    """The oldest that waits, or whose worker is gone; those that killed too many workers are given up."""
    waiting = Q(status=Trial.Status.WAITING)
    left_behind = Q(status=Trial.Status.RUNNING, claimed_until__lt=ClockTimestamp())
    trials = Trial.objects.filter(waiting | left_behind)
    if trial_id is not None:
        trials = trials.filter(pk=trial_id)
    while True:
        trial = trials.select_for_update(skip_locked=True).order_by("pk").first()
        if trial is None:
            return None
        if trial.attempts < MOST_ATTEMPTS:
            token = uuid.uuid4()
            Trial.objects.filter(pk=trial.pk).update(
                status=Trial.Status.RUNNING,
                claim_token=token,
                claimed_until=_claim_end(),
                attempts=F("attempts") + 1,
            )
            return Claim(token, trial)
        Trial.objects.filter(pk=trial.pk).update(
            status=Trial.Status.FAILED,
            error=GIVEN_UP,
            finished_at=now,
            claim_token=None,
            claimed_until=None,
        )


def _work(claim: Claim, now: Clock, client_for: ClientFor, ends: float) -> None:
    questions = to_clef_questions(claim.trial.question_set)
    asked = claim.trial.models.filter(endpoint__isnull=False).select_related("endpoint").order_by("position")
    for model in asked:
        try:
            client = client_for(model)
        except ClefError as error:
            _give_up_on(claim, model, error)
            continue
        with client:
            while batch := _unanswered(claim.trial, model):
                requests = {each.pk: ModelRequest(each.state, questions) for each in batch}
                outcomes, is_in_trouble = _ask(client, requests)
                _write(claim, [_to_answer(model, pk, each) for pk, each in outcomes.items()])
                if is_in_trouble is not None:
                    _give_up_on(claim, model, is_in_trouble)
                if time.monotonic() > ends:
                    _update(claim, status=Trial.Status.WAITING, claim_token=None, claimed_until=None)
                    return
    _update(claim, status=Trial.Status.DONE, finished_at=now(), claim_token=None, claimed_until=None)


def _unanswered(trial: Trial, model: TrialModel) -> list[TrialExample]:
    answered = TrialAnswer.objects.filter(trial_model=model, example=OuterRef("pk"))
    return list(trial.examples.exclude(Exists(answered)).order_by("position")[:BATCH])


def _ask(
    client: ClefClient, requests: dict[int, ModelRequest]
) -> tuple[dict[int, Outcome], ClefError | None]:
    """What came of each, without those that time or trouble kept from being asked (the first ones always are); and
    the trouble, when it is the endpoint's and the circuit opened over it."""
    circuit, give_up_at = CircuitBreaker(), time.monotonic() + ASK_S
    with ThreadPoolExecutor(min(AT_ONCE, len(requests))) as pool:
        answers = pool.map(lambda request: ask_one(client, circuit, request, give_up_at), requests.values())
        outcomes = dict(zip(requests, answers, strict=True))
    trouble = [
        each
        for each in outcomes.values()
        if isinstance(each, ClefError)
        and each.scope == "endpoint"
        and each.code not in (NO_TIME, "not_asked")
    ]
    kept = {
        pk: each
        for pk, each in outcomes.items()
        if not (isinstance(each, ClefError) and each.code in (NO_TIME, "not_asked"))
    }
    return kept, trouble[0] if trouble and circuit.state != "closed" else None


def _to_answer(model: TrialModel, example_id: int, outcome: Outcome) -> TrialAnswer:
    answer = TrialAnswer(trial_model=model, example_id=example_id)
    if isinstance(outcome, ModelReply):
        tokens, price = outcome.input_tokens, price_of(model)
        answer.values = {key: each.top for key, each in outcome.answers.items()}
        answer.answers = {
            key: {
                "kind": each.kind,
                "probabilities": [[option, p] for option, p in each.probabilities],
                "raw_confidence": each.raw_confidence,
            }
            for key, each in outcome.answers.items()
        }
        answer.model, answer.latency_s = repaired(outcome.model)[0][:120], outcome.latency_s
        answer.input_tokens = tokens
        answer.cost = None if tokens is None or price is None else Decimal(tokens) * price / 1_000_000
    else:
        answer.error = _told(outcome)
    return answer


def _told(error: Exception) -> str:
    """For people; the text of an exception that is none of ours may hold content, so it is not kept."""
    if not isinstance(error, ClefError):
        return f"A fault of Fermata’s own ({type(error).__name__}, see the worker’s log)"
    return f"{TROUBLE.get(error.reason, 'The model did not answer')} ({repaired(error.message)[0][:200]})"


def _give_up_on(claim: Claim, model: TrialModel, error: ClefError) -> None:
    """Every example this model has not answered gets the reason; people may ask again when it is over."""
    answered = TrialAnswer.objects.filter(trial_model=model, example=OuterRef("pk"))
    left: Iterable[Any] = claim.trial.examples.exclude(Exists(answered)).values_list("pk", flat=True)
    _write(claim, [TrialAnswer(trial_model=model, example_id=pk, error=_told(error)) for pk in left])


@transaction.atomic
def _write(claim: Claim, answers: Sequence[TrialAnswer]) -> None:
    _update(claim, claimed_until=_claim_end(), attempts=0)
    TrialAnswer.objects.bulk_create(answers)


def _update(claim: Claim, **values: Any) -> None:
    mine = Trial.objects.filter(pk=claim.trial.pk, claim_token=claim.token, status=Trial.Status.RUNNING)
    if not mine.update(**values):
        raise ClaimLost("Somebody else has this trial.")


def _claim_end() -> Any:
    return ClockTimestamp() + timedelta(seconds=CLAIM_S)
