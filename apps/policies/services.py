"""Policy versions: drafted, proposed, activated, taken back.

Every change locks the workflow's row first, so that of two managers one is second and is told so.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from django.db import transaction

from apps.accounts.models import User
from apps.core.errors import FieldProblem, InvalidInput
from apps.core.text import unstorable_at
from apps.outbox.events import POLICY_ACTIVATED
from apps.outbox.services import emit
from apps.policies.errors import BasedOnAnother, ChangedMeanwhile, NotADraft, NothingToGoBackTo
from apps.policies.models import Policy
from apps.policies.rules import read_rules
from apps.policies.selectors import OPEN, active_policy, previous_policy, stamp_of
from apps.workflows.locking import lock_workflow
from apps.workflows.models import Workflow
from apps.workflows.selectors import current_question_set


@transaction.atomic
def create_draft(
    *,
    workflow: Workflow,
    rules: Mapping[str, Any],
    based_on: Policy | None,
    user: User | None,
    note: str = "",
) -> Policy:
    """A new version that nothing obeys yet. `based_on` is the version whose rules were changed into these.

    Raises InvalidInput when the rules do not fit the current questions.
    """
    _lock(workflow)
    stored = _checked(workflow, rules, note)
    latest = Policy.objects.filter(workflow=workflow).order_by("-version").first()
    return Policy.objects.create(
        workflow=workflow,
        version=latest.version + 1 if latest else 1,
        rules=stored,
        based_on=based_on,
        created_by=user,
        note=note,
    )


@transaction.atomic
def update_draft(
    *, policy: Policy, rules: Mapping[str, Any], user: User, note: str = "", seen: str | None = None
) -> Policy:
    """The draft with other rules, compared with the version that is active now from here on.

    A proposal becomes a draft again, and the person who changed it its author. `seen` is the draft's stamp
    (`selectors.stamp_of`) when the person began; raises ChangedMeanwhile when somebody saved since.
    """
    draft = _locked_draft(policy, seen)
    draft.rules = _checked(draft.workflow, rules, note)
    draft.note, draft.created_by, draft.status = note, user, Policy.Status.DRAFT
    draft.based_on = active_policy(draft.workflow)
    draft.save()
    return draft


@transaction.atomic
def propose(*, policy: Policy) -> Policy:
    """Marks a draft as finished: a manager is asked to activate it."""
    draft = _locked_draft(policy, None)
    draft.status = Policy.Status.PROPOSED
    draft.save(update_fields=["status"])
    return draft


@transaction.atomic
def discard_draft(*, policy: Policy, seen: str | None = None) -> None:
    _locked_draft(policy, seen).delete()


@transaction.atomic
def activate(*, policy: Policy, user: User | None, now: datetime, seen: str | None = None) -> Policy:
    """The draft in force instead of the active version, which retires.

    Raises ChangedMeanwhile, BasedOnAnother when the difference the person looked at is no longer the one
    that would take effect, InvalidInput when the rules no longer fit the workflow's questions.
    """
    draft = _locked_draft(policy, seen)
    active = active_policy(draft.workflow)
    if active is not None and draft.based_on_id != active.pk:
        raise BasedOnAnother(
            f"Version {active.version} is active now, and version {draft.version} was not made from it. "
            "Look at the differences again and save the draft, then activate it."
        )
    _checked(draft.workflow, draft.rules, draft.note)
    return _put_in_force(draft, active, user, now)


@transaction.atomic
def go_back(
    *, workflow: Workflow, user: User | None, now: datetime, seen_version: int | None = None
) -> Policy:
    """The version that was active before, in force again; going back twice returns to where one was.

    It need not fit the current questions: what it says of one that is gone holds items, never lets them pass.
    `seen_version` is the active version the person was looking at: a double click goes back once.
    """
    _lock(workflow)
    active, previous = active_policy(workflow), previous_policy(workflow)
    if active is None or previous is None:
        raise NothingToGoBackTo("No other version was active before this one.")
    if seen_version is not None and seen_version != active.version:
        raise ChangedMeanwhile(f"Version {active.version} has become active meanwhile; nothing was changed.")
    return _put_in_force(previous, active, user, now)


def _put_in_force(policy: Policy, active: Policy | None, user: User | None, now: datetime) -> Policy:
    if active is not None:
        active.status = Policy.Status.RETIRED
        active.save(update_fields=["status"])
    policy.status = Policy.Status.ACTIVE
    policy.activated_by, policy.activated_at = user, now
    policy.save(update_fields=["status", "activated_by", "activated_at"])
    _tell(policy, active, user, now)
    return policy


def _tell(policy: Policy, before: Policy | None, user: User | None, now: datetime) -> None:
    by = f"activated by {user}" if user is not None else "activated by no person"
    instead = f" instead of version {before.version}" if before is not None else ""
    data = {
        "text": f"Policy version {policy.version} is in force{instead}, {by}.",
        "version": policy.version,
        "previous_version": None if before is None else before.version,
        "note": policy.note,
        "activated_by": None if user is None else str(user),
        "activated_at": now.isoformat(),
    }
    emit(workflow=policy.workflow, type=POLICY_ACTIVATED, data=data, now=now)


def _lock(workflow: Workflow) -> None:
    lock_workflow(workflow)


def _locked_draft(policy: Policy, seen: str | None) -> Policy:
    _lock(policy.workflow)
    draft = Policy.objects.select_related("workflow").filter(pk=policy.pk).first()
    if draft is None:
        raise NotADraft(f"Version {policy.version} was discarded.")
    if draft.status not in OPEN:
        raise NotADraft(f"Version {draft.version} was activated and cannot be changed any more.")
    if seen is not None and seen != stamp_of(draft):
        raise ChangedMeanwhile(
            f"Version {draft.version} was changed by {draft.created_by or 'somebody'} while you looked at it."
        )
    return draft


def _checked(workflow: Workflow, rules: Mapping[str, Any], note: str) -> dict[str, Any]:
    if len(note) > 300 or unstorable_at(note) is not None:
        raise InvalidInput(FieldProblem("note", "must have at most 300 characters"))
    return read_rules(rules, list(current_question_set(workflow).questions.all()))
