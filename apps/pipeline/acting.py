"""Runs what is due: an automatic run asks the policy in force once more, then the effect is written and read back."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime

import structlog
from django.db import transaction

from apps.actions.models import ActionRun
from apps.actions.services import claim_runs, has_acted, hold_run, perform, record_trouble
from apps.items.models import Item, Route
from apps.pipeline.rulebook import rulebook_for
from apps.pipeline.writing import Routed, reroute, write_routes
from apps.policies.models import Policy
from apps.reviews.models import Label, ReviewTask
from apps.routing.types import Outcome

log = structlog.get_logger()
BATCH = 100
MOST_ROUNDS = 50


def act_on_due_runs(*, now: Callable[[], datetime]) -> int:
    """How many runs were taken up; bounded, the sweep comes back for the rest."""
    done = 0
    for _ in range(MOST_ROUNDS):
        runs = claim_runs(limit=BATCH)
        for run in runs:
            _act(run, now)
        done += len(runs)
        if len(runs) < BATCH:
            break
    return done


def _act(run: ActionRun, now: Callable[[], datetime]) -> None:
    """Whatever breaks at one run is kept on it; those behind it do not wait for it."""
    try:
        status = None if hold_back(run=run, now=now()) else perform(run=run, now=now())
    except Exception as error:
        log.exception("action_run_broke", run=run.pk, item=run.item_id)
        status = record_trouble(run=run, now=now(), error=f"{type(error).__name__}: {error}")
    log.info("action_run", run=run.pk, item=run.item_id, status=status or "held")


def hold_back(*, run: ActionRun, now: datetime) -> bool:
    """True when the run may not go on: the policy changed since and sends the item to people, or the claim is gone."""
    if run.started_by != ActionRun.StartedBy.POLICY or has_acted(run):
        return False
    if Policy.objects.filter(pk=run.route.policy_id, status=Policy.Status.ACTIVE).exists():
        return False
    return _ask_again(run, now)


@transaction.atomic
def _ask_again(run: ActionRun, now: datetime) -> bool:
    # Tasks before the item, as an answer locks them.
    list(ReviewTask.objects.select_for_update().filter(item=run.item_id).order_by("pk"))
    item = (
        Item.objects.select_for_update(of=("self",))
        .select_related("content", "workflow__endpoint")
        .get(pk=run.item_id)
    )
    decision = run.route.decision
    if decision is None:
        return False
    book = rulebook_for(item.workflow, run.route.question_set)
    fresh = reroute(book, item, item.content, decision.answers)
    if fresh.outcome is Outcome.AUTOMATIC:
        return False
    if not hold_run(
        run=run, now=now, why=f"Held: policy version {book.policy.version} sends this item to people."
    ):
        return True
    ReviewTask.objects.filter(item=item, status=ReviewTask.Status.OPEN).update(
        status=ReviewTask.Status.CANCELLED, closed_at=now
    )
    # An audit answered meanwhile was a check of another rule's route: the question is asked anew, in the open.
    Label.objects.filter(item=item, taken_back_at=None).update(taken_back_at=now)
    Route.objects.filter(pk=run.route_id).update(superseded_at=now)
    Item.objects.filter(pk=item.pk).update(
        settled_by=None, settled_at=None, audit_open=False, status="in_review"
    )
    write_routes(book=book, routed=[Routed(item, decision, fresh)], now=now)
    return True
