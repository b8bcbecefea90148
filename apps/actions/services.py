"""Effects outside: begun when an answer settles, written by a worker, believed only after reading back."""

from __future__ import annotations

import uuid
from datetime import datetime, timedelta

from django.db import transaction
from django.db.models import F, Q

from apps.actions.models import Action, ActionRun, ItemTag
from apps.core.db import ClockTimestamp
from apps.core.text import repaired
from apps.items.models import Route

CLAIM_S = 60
MOST_ATTEMPTS = 3


def build_run(
    *, action: Action, route: Route, started_by: ActionRun.StartedBy, now: datetime, not_before: datetime
) -> ActionRun:
    """An unsaved run, for one or for a bulk write."""
    return ActionRun(
        item_id=route.item_id,
        action=action,
        route=route,
        started_by=started_by,
        settings=action.settings,
        not_before=not_before,
        idempotency_key=uuid.uuid4(),
        created_at=now,
    )


def begin_run(*, route: Route, label: str | None, now: datetime, not_before: datetime) -> ActionRun | None:
    """The run that a person's answer starts; None when this label has no action."""
    action = Action.objects.filter(workflow_id=route.workflow_id, label=label).first()
    if action is None:
        return None
    run = build_run(
        action=action, route=route, started_by=ActionRun.StartedBy.PEOPLE, now=now, not_before=not_before
    )
    run.save()
    return run


def cancel_pending_runs(*, item_id: int, now: datetime) -> bool:
    """Cancels what has not started; False (and nothing changed) when a worker was faster.

    Locks the runs: a worker's claim locks the same rows, so exactly one of the two wins.
    """
    runs = list(ActionRun.objects.select_for_update().filter(item_id=item_id).exclude(status="cancelled"))
    if any(run.status != ActionRun.Status.PENDING or run.attempts for run in runs):
        return False
    ActionRun.objects.filter(pk__in=[run.pk for run in runs]).update(
        status=ActionRun.Status.CANCELLED, finished_at=now
    )
    return True


@transaction.atomic
def claim_runs(*, limit: int) -> list[ActionRun]:
    """Runs whose time has come, or whose worker died; the caller has `CLAIM_S` seconds for them."""
    clock = ClockTimestamp()
    ready = Q(status__in=["pending", "unknown"], not_before__lte=clock) | Q(
        status="running", claimed_until__lt=clock
    )
    ids = list(
        ActionRun.objects.select_for_update(skip_locked=True)
        .filter(ready)
        .order_by("not_before", "id")
        .values_list("pk", flat=True)[:limit]
    )
    token = uuid.uuid4()
    ActionRun.objects.filter(pk__in=ids).update(
        status=ActionRun.Status.RUNNING,
        claim_token=token,
        claimed_until=ClockTimestamp() + timedelta(seconds=CLAIM_S),
        attempts=F("attempts") + 1,
    )
    return list(
        ActionRun.objects.select_related("action", "route", "item").filter(claim_token=token).order_by("id")
    )


def perform(*, run: ActionRun, now: datetime) -> ActionRun.Status:
    """Writes the effect, reads it back, and records what was found.

    Safe to repeat: an effect that is already there is only read. Returns the state it ended in; a claim
    that ran out meanwhile changes nothing and returns `running`.
    """
    if read_back(run) is None:
        write_tag(run=run, now=now)
    found = read_back(run)
    if found is not None:
        return _finish(run, ActionRun.Status.VERIFIED, now=now, found=found)
    error = f'The tag "{run.settings["tag"]}" was written but is not there when read back.'
    return record_trouble(run=run, now=now, error=error)


def record_trouble(*, run: ActionRun, now: datetime, error: str) -> ActionRun.Status:
    """What became of it is not known: tried again, and after `MOST_ATTEMPTS` failed, with the reason on the run."""
    given_up = run.attempts >= MOST_ATTEMPTS
    status = ActionRun.Status.FAILED if given_up else ActionRun.Status.UNKNOWN
    return _finish(run, status, now=now, error=repaired(error)[0][:500])


def has_acted(run: ActionRun) -> bool:
    """Whether an attempt before this one had its effect; one that died or broke early leaves nothing."""
    return run.attempts > 1 and read_back(run) is not None


def write_tag(*, run: ActionRun, now: datetime) -> None:
    ItemTag.objects.bulk_create(
        [
            ItemTag(
                item_id=run.item_id,
                tag=run.settings["tag"],
                idempotency_key=run.idempotency_key,
                created_at=now,
            )
        ],
        ignore_conflicts=True,
    )


def read_back(run: ActionRun) -> dict[str, str] | None:
    """What is there now, in the words of the outside; None when the tag is not."""
    tag = ItemTag.objects.filter(item_id=run.item_id, tag=run.settings["tag"]).first()
    return None if tag is None else {"tag": tag.tag, "written_at": tag.created_at.isoformat()}


def hold_run(*, run: ActionRun, now: datetime, why: str) -> bool:
    """Cancels a claimed run that may no longer happen; False when the claim is another's meanwhile.

    What an attempt before had met stays beside the reason.
    """
    why = f"{why} Before: {run.error}"[:500] if run.error else why
    return _finish(run, ActionRun.Status.CANCELLED, now=now, error=why) == ActionRun.Status.CANCELLED


def _finish(
    run: ActionRun,
    status: ActionRun.Status,
    *,
    now: datetime,
    found: dict[str, str] | None = None,
    error: str = "",
) -> ActionRun.Status:
    # Only the holder of the claim writes; who woke up late finds another token and changes nothing.
    written = ActionRun.objects.filter(pk=run.pk, claim_token=run.claim_token).update(
        status=status,
        claim_token=None,
        claimed_until=None,
        read_back=found,
        error=error,
        not_before=now + timedelta(seconds=5) if status == ActionRun.Status.UNKNOWN else run.not_before,
        finished_at=None if status == ActionRun.Status.UNKNOWN else now,
    )
    return status if written else ActionRun.Status.RUNNING
