"""Who belongs to a workflow, its keys, and the few numbers a manager may turn."""

from __future__ import annotations

from datetime import datetime

from django.core.exceptions import ValidationError
from django.db import transaction

from apps.accounts.models import User
from apps.core.errors import Conflict, FieldProblem, InvalidInput
from apps.workflows.locking import lock_workflow
from apps.workflows.models import ApiToken, Membership, Role, Workflow
from apps.workflows.services import set_membership


@transaction.atomic
def add_member(*, workflow: Workflow, username: str, role: Role) -> Membership:
    """The person with this name in this role, newly or from now on.

    Raises InvalidInput when nobody active has the name, Conflict when the workflow would lose its last manager.
    """
    user = User.objects.filter(username__iexact=username.strip(), is_active=True).first()
    if user is None:
        raise InvalidInput(FieldProblem("username", "Nobody who can sign in has this name."))
    if role != Role.MANAGER:
        _check_manager_stays(workflow, user)
    return set_membership(user=user, workflow=workflow, role=role)


@transaction.atomic
def remove_member(*, workflow: Workflow, user: User, now: datetime) -> bool:
    """Whether the person was a member. Their keys end too, so that coming back later does not revive them.

    Raises Conflict for the last manager. Leases live above: `insights.settings.remove_person` ends them.
    """
    _check_manager_stays(workflow, user)
    removed, _ = Membership.objects.filter(workflow=workflow, user=user).delete()
    ApiToken.objects.filter(workflow=workflow, user=user, revoked_at=None).update(revoked_at=now)
    return bool(removed)


def set_senior(*, workflow: Workflow, user_id: int, is_senior: bool) -> Membership | None:
    """The member, who from now on takes what others escalate or disagree on, or no longer; None when there is none."""
    member = Membership.objects.select_related("user").filter(workflow=workflow, user=user_id).first()
    if member is not None:
        member.is_senior = is_senior
        member.save(update_fields=["is_senior"])
    return member


def _check_manager_stays(workflow: Workflow, leaving: User) -> None:
    # Everybody who changes people of this workflow takes turns: two managers cannot remove each other at once.
    lock_workflow(workflow)
    managers = Membership.objects.filter(workflow=workflow, role=Role.MANAGER)
    if not managers.filter(user=leaving).exists():
        return
    if not managers.filter(user__is_active=True).exclude(user=leaving).exists():
        raise Conflict(f"{leaving} is the last manager here. Make somebody else a manager first.")


def revoke_token(*, workflow: Workflow, token_id: int, now: datetime) -> bool:
    """Whether the workflow has this key; it opens nothing any more. The first revocation's time stays."""
    token = ApiToken.objects.filter(workflow=workflow, pk=token_id)
    token.filter(revoked_at=None).update(revoked_at=now)
    return token.exists()


def update_limits(*, workflow: Workflow, lease_s: int, undo_s: int, due_hours: int) -> Workflow:
    """How long an item stays on a desk, an answer can be taken back, and an item may wait. For new ones only.

    Raises InvalidInput naming each number out of bounds; then nothing has changed.
    """
    changed = Workflow.objects.get(pk=workflow.pk)
    changed.lease_s, changed.undo_s, changed.due_hours = lease_s, undo_s, due_hours
    try:
        changed.clean_fields()
    except ValidationError as error:
        raise InvalidInput(
            *(FieldProblem(field, " ".join(texts)) for field, texts in error.message_dict.items())
        ) from None
    changed.save(update_fields=["lease_s", "undo_s", "due_hours"])
    return changed
