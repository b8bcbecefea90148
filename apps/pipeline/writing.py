"""Writes what became of a batch: one transaction, only for items whose claim still stands."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any

from django.db import transaction
from django.db.models import F, Q

from apps.actions.models import ActionRun
from apps.actions.services import build_run
from apps.clef.errors import ClefError, Reason
from apps.clef.types import ModelReply
from apps.core.text import repaired
from apps.items.models import Decision, DecisionPayload, Item, ItemContent, Route
from apps.items.selectors import to_decision_view, to_item_facts
from apps.pipeline.claims import Claim, put_back
from apps.pipeline.opinions import opinions_on
from apps.pipeline.placing import place_of
from apps.pipeline.rulebook import Rulebook
from apps.pipeline.telling import tell_routed
from apps.pipeline.wake import wake_actors
from apps.reviews.drawing import Drawn
from apps.reviews.models import ReviewTask
from apps.reviews.rules import rules_in_force
from apps.routing.policy import model_error_route, route
from apps.routing.types import Route as PureRoute
from apps.routing.types import RouteKind
from apps.workflows.models import Endpoint, QuestionSet

FIRST_PAUSE_S = 5.0
LONGEST_PAUSE_S = 300.0
QUOTA_PAUSE_S = 900.0
BROKEN_PAUSE = timedelta(seconds=60)
TROUBLE: dict[Reason, str] = {
    "busy": "The model is busy",
    "quota": "The model’s allowance is used up",
    "config": "The model’s address, account or key is not right",
    "server": "The model failed",
    "unreachable": "The model cannot be reached",
}
NO_TIME = "no_time"
"""The code of what was not asked because the batch's time was over, with an endpoint that is well."""
Pictures = Mapping[int, Sequence[Mapping[str, Any]]]
"""By item id, what was sent of its pictures, as `Decision.images` keeps it."""


@dataclass(frozen=True, slots=True)
class Routed:
    item: Item
    decision: Decision | None
    pure: PureRoute


@transaction.atomic
def write_answers(
    *,
    book: Rulebook,
    claim: Claim,
    outcomes: Mapping[int, ModelReply | Exception],
    now: datetime,
    pictures: Pictures | None = None,
) -> None:
    """Decisions, routes, tasks and runs for what was answered; the rest waits or goes to people.

    An exception that is no ClefError is a fault of ours: the item is tried again, a bounded number of times.
    """
    items = {
        item.pk: item
        for item in Item.objects.select_for_update().filter(
            claim_token=claim.token, status=Item.Status.DECIDING
        )
    }
    held = {item_id: outcome for item_id, outcome in outcomes.items() if item_id in items}
    replies = {pk: each for pk, each in held.items() if isinstance(each, ModelReply)}
    refused = {pk: each for pk, each in held.items() if isinstance(each, ClefError) and each.scope == "item"}
    unasked = {pk for pk, each in held.items() if isinstance(each, ClefError) and each.code == NO_TIME}
    waiting = {
        pk: each
        for pk, each in held.items()
        if isinstance(each, ClefError) and each.scope == "endpoint" and pk not in unasked
    }
    broken = {pk: each for pk, each in held.items() if not isinstance(each, ModelReply | ClefError)}
    routed = [*_decide(book, items, replies, now, pictures or {}), *_refuse(book, items, refused)]
    write_routes(book=book, routed=routed, now=now)
    put_back(claim=claim, item_ids=unasked, is_counted=False)
    for item_id, error in broken.items():
        put_back_broken(claim=claim, item_id=item_id, error=error, now=now)
    if replies and _is_of_the_items(waiting):
        for item_id, failure in waiting.items():
            why, next_try_at = _told(failure), now + BROKEN_PAUSE
            put_back(claim=claim, item_ids=[item_id], why=why, next_try_at=next_try_at, is_counted=True)
        waiting = {}
    if waiting:
        _wait(claim, book.workflow.endpoint, waiting, now)
    elif replies:
        Endpoint.objects.filter(pk=book.workflow.endpoint_id).exclude(failures_in_a_row=0).update(
            failures_in_a_row=0, paused_until=None, pause_reason=""
        )


def _is_of_the_items(waiting: Mapping[int, ClefError]) -> bool:
    """Whether an endpoint that answered others in the same batch broke or fell silent at these alone.

    Otherwise one item that a model cannot bear would pause it for all, again and again.
    """
    return all(
        each.reason in ("server", "unreachable") and each.code != "not_asked" for each in waiting.values()
    )


def _told(error: ClefError) -> str:
    """For people, on pages; at most 300 characters, as long as its columns."""
    return f"{TROUBLE.get(error.reason, 'The model did not answer')} ({repaired(error.message)[0][:220]})"


def put_back_broken(*, claim: Claim, item_id: int, error: Exception, now: datetime) -> None:
    """Waits and counts, so that what always breaks comes to people. The exception's text may hold content: not kept."""
    why = f"A fault of Fermata’s own ({type(error).__name__}, see the worker’s log)"
    put_back(claim=claim, item_ids=[item_id], why=why, next_try_at=now + BROKEN_PAUSE, is_counted=True)


def _decide(
    book: Rulebook,
    items: Mapping[int, Item],
    replies: Mapping[int, ModelReply],
    now: datetime,
    pictures: Pictures,
) -> list[Routed]:
    if not replies:
        return []
    QuestionSet.objects.filter(pk=book.question_set.pk, first_used_at=None).update(first_used_at=now)
    decisions = Decision.objects.bulk_create(
        _to_decision(book, item_id, reply, now, pictures.get(item_id, ()))
        for item_id, reply in replies.items()
    )
    DecisionPayload.objects.bulk_create(
        DecisionPayload(decision=decision, reply=repaired(reply.body)[0])
        for decision, reply in zip(decisions, replies.values(), strict=True)
    )
    contents = ItemContent.objects.in_bulk(list(replies))
    return [
        Routed(
            items[decision.item_id],
            decision,
            reroute(book, items[decision.item_id], contents[decision.item_id], decision.answers),
        )
        for decision in decisions
    ]


def reroute(book: Rulebook, item: Item, content: ItemContent, answers: Mapping[str, Any]) -> PureRoute:
    """What the policy says of stored answers; nothing is sent to the model."""
    view = to_decision_view(answers, book.routing_key)
    return route(view, to_item_facts(item, content), book.rules, book.draw_for(item))


def _refuse(book: Rulebook, items: Mapping[int, Item], refused: Mapping[int, ClefError]) -> list[Routed]:
    return [
        Routed(items[item_id], None, to_people(book, error.reason, error.message))
        for item_id, error in refused.items()
    ]


def to_people(book: Rulebook, code: str, message: str) -> PureRoute:
    """The route of an item the model cannot answer: every question is asked of a person."""
    asked = tuple(question.key for question in book.question_set.questions.all())
    return model_error_route(code, repaired(message)[0][:500], asked)


def write_routes(*, book: Rulebook, routed: Sequence[Routed], now: datetime) -> None:
    """Routes and what follows from each: a task, a run, or both for an audit. The caller holds the items' rows."""
    routes = Route.objects.bulk_create(_to_route(book, each, now) for each in routed)
    pairs = list(zip(routed, routes, strict=True))
    rules = rules_in_force(book.workflow)
    ReviewTask.objects.bulk_create(
        _to_task(book, each, made, opinions_on(book, rules, each.item, each.pure), now)
        for each, made in pairs
        if each.pure.asked
    )
    runs = ActionRun.objects.bulk_create(
        build_run(
            action=book.actions[made.label],
            route=made,
            started_by=ActionRun.StartedBy.POLICY,
            now=now,
            not_before=now,
        )
        for _, made in pairs
        if made.outcome == Route.Outcome.AUTOMATIC and made.label in book.actions
    )
    for audited in (False, True):
        settled = [
            each.item.pk for each, made in pairs if made.outcome == "automatic" and made.drawn == audited
        ]
        _update(settled, now, status="settled", settled_by="policy", settled_at=now, audit_open=audited)
    _update([each.item.pk for each, made in pairs if made.outcome == "review"], now, status="in_review")
    if runs:
        transaction.on_commit(wake_actors)
    tell_routed(book=book, routed=[(each.item, each.decision, made) for each, made in pairs], now=now)


def _update(item_ids: Sequence[int], now: datetime, **values: Any) -> None:
    if item_ids:
        Item.objects.filter(pk__in=item_ids).update(
            decided_at=now, claim_token=None, claimed_until=None, next_try_at=None, wait_reason="", **values
        )


def _to_decision(
    book: Rulebook, item_id: int, reply: ModelReply, now: datetime, pictures: Sequence[Mapping[str, Any]]
) -> Decision:
    endpoint = book.workflow.endpoint
    tokens = reply.input_tokens
    return Decision(
        item_id=item_id,
        question_set=book.question_set,
        endpoint=endpoint,
        model_requested=endpoint.model,
        model=reply.model[:120],
        request_id=(reply.request_id or "")[:200],
        http_status=reply.http_status,
        latency_s=reply.latency_s,
        input_tokens=tokens,
        output_tokens=reply.output_tokens,
        cost=None if tokens is None else Decimal(tokens) * endpoint.price_per_million / 1_000_000,
        warnings=list(reply.warnings),
        answers={
            key: {
                "kind": answer.kind,
                "probabilities": [[option, p] for option, p in answer.probabilities],
                "raw_confidence": answer.raw_confidence,
            }
            for key, answer in reply.answers.items()
        },
        images=[dict(each) for each in pictures],
        created_at=now,
    )


def _to_route(book: Rulebook, each: Routed, now: datetime) -> Route:
    pure = each.pure
    return Route(
        item=each.item,
        workflow=book.workflow,
        decision=each.decision,
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
        created_at=now,
    )


_TASK_KINDS = {RouteKind.AUDIT: ReviewTask.Kind.AUDIT, RouteKind.SHADOW: ReviewTask.Kind.SHADOW}


def _to_task(book: Rulebook, each: Routed, made: Route, opinions: Drawn, now: datetime) -> ReviewTask:
    return ReviewTask(
        workflow_id=made.workflow_id,
        item=each.item,
        route=made,
        question_set=made.question_set,
        kind=_TASK_KINDS.get(each.pure.kind, ReviewTask.Kind.ROUTINE),
        asked=list(each.pure.asked),
        blind=opinions.blind,
        blind_pi=opinions.blind_pi,
        reviews_wanted=opinions.wanted,
        reviews_needed=opinions.wanted,
        priority=each.item.priority,
        due_at=each.item.due_at,
        place_at=place_of(book, is_blind=opinions.blind, gates=each.pure.gates, due_at=each.item.due_at),
        language=each.item.language,
        created_at=now,
    )


def _wait(claim: Claim, endpoint: Endpoint, waiting: Mapping[int, ClefError], now: datetime) -> None:
    """Trouble of the endpoint is nobody's work: the items stay received, with the reason and the next try."""
    # "Not asked" only follows from another's failure: that one is the reason worth showing.
    worst = next(
        (error for error in waiting.values() if error.code != "not_asked"), next(iter(waiting.values()))
    )
    pause = timedelta(seconds=_pause_s(worst, endpoint.failures_in_a_row))
    reason = _told(worst)
    put_back(claim=claim, item_ids=waiting, why=reason, next_try_at=now + pause, is_counted=False)
    # Several workflows, or workers, may meet the same trouble at once: it counts once a pause.
    rested = Q(paused_until=None) | Q(paused_until__lte=now)
    Endpoint.objects.filter(rested, pk=endpoint.pk).update(
        failures_in_a_row=F("failures_in_a_row") + 1, paused_until=now + pause, pause_reason=reason
    )


def _pause_s(error: ClefError, failures_in_a_row: int) -> float:
    if error.reason == "quota":
        return max(QUOTA_PAUSE_S, error.retry_after_s or 0)
    pause = min(LONGEST_PAUSE_S, FIRST_PAUSE_S * math.pow(2, min(failures_in_a_row, 10)))
    return max(pause, error.retry_after_s or 0)
