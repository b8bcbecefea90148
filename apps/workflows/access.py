"""The only way from a request to an object: who asks is checked in the same call that fetches."""

from __future__ import annotations

import hashlib
from datetime import datetime

from django.contrib.auth.base_user import AbstractBaseUser
from django.contrib.auth.models import AnonymousUser
from django.core.exceptions import PermissionDenied
from django.http import Http404

from apps.accounts.models import User
from apps.core.db import Columns, fetch
from apps.workflows.models import ApiToken, Endpoint, Membership, Role, Workflow

Asker = User | AbstractBaseUser | AnonymousUser
_WORKFLOW, _ENDPOINT = Columns(Workflow), Columns(Endpoint)
_MEMBER = f"""
    SELECT member.role, {_WORKFLOW.of("workflow")}, {_ENDPOINT.of("endpoint")}
    FROM workflows_membership member
    JOIN workflows_workflow workflow ON workflow.id = member.workflow_id
    JOIN workflows_endpoint endpoint ON endpoint.id = workflow.endpoint_id
    WHERE workflow.slug = %(slug)s AND member.user_id = %(user)s
"""  # noqa: S608 - our own columns


def get_workflow_for(*, user: Asker, slug: str, role: Role) -> Workflow:
    """The workflow, when `user` has at least `role` in it.

    Raises Http404 for people who are not members (its existence is not theirs to know), PermissionDenied
    for members whose role does not reach.
    """
    if not isinstance(user, User) or not user.is_active:
        raise Http404
    found = fetch(_MEMBER, {"slug": slug, "user": user.pk})
    if not found:
        raise Http404
    own_role, *rest = found[0]
    if role == Role.MANAGER and own_role != Role.MANAGER:
        raise PermissionDenied("This page is for managers of the workflow.")
    values = iter(rest)
    workflow = _WORKFLOW.take(values)
    workflow.endpoint = _ENDPOINT.take(values)
    return workflow


def is_manager(*, user: Asker, workflow: Workflow) -> bool:
    return (
        isinstance(user, User)
        and Membership.objects.filter(user=user, workflow=workflow, role=Role.MANAGER).exists()
    )


def check_operator(user: Asker) -> None:
    """Raises PermissionDenied unless `user` is an operator."""
    if not (isinstance(user, User) and user.is_active and user.is_operator):
        raise PermissionDenied("This page is for operators.")


def token_digest(secret: str) -> str:
    return hashlib.sha256(secret.encode()).hexdigest()


def get_token_for(*, secret: str, now: datetime) -> ApiToken | None:
    """The valid token with this secret, its workflow and person loaded; None when wrong, expired, revoked,
    or when its person was deactivated or left the workflow."""
    token = (
        ApiToken.objects.select_related("workflow__endpoint", "user")
        .filter(digest=token_digest(secret), user__is_active=True)
        .first()
    )
    if token is None or not token.is_valid(now):
        return None
    if not Membership.objects.filter(user=token.user, workflow=token.workflow).exists():
        return None
    return token
