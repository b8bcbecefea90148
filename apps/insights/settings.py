"""What the settings page shows, and taking a person out of a workflow with all they held there."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db import transaction

from apps.accounts.models import User
from apps.actions.models import Action
from apps.insights.operate import without_secrets
from apps.reviews.handing import give_back_above, give_back_all
from apps.reviews.leases import lock_person
from apps.workflows.models import ApiToken, Membership, QuestionSet, Role, Workflow
from apps.workflows.people import add_member, remove_member


@dataclass(frozen=True, slots=True)
class Settings:
    """`tags`: what the built-in action writes, by label of the routing question."""

    question_set: QuestionSet | None
    versions: int
    tags: dict[str, Any]
    members: tuple[Membership, ...]
    tokens: tuple[ApiToken, ...]
    endpoint_address: str


def workflow_settings(workflow: Workflow) -> Settings:
    question_sets = QuestionSet.objects.filter(workflow=workflow)
    actions = Action.objects.filter(workflow=workflow, kind=Action.Kind.TAG)
    return Settings(
        question_set=question_sets.prefetch_related("questions").filter(is_current=True).first(),
        versions=question_sets.count(),
        tags={action.label: action.settings["tag"] for action in actions},
        members=tuple(
            Membership.objects.filter(workflow=workflow).select_related("user").order_by("user__username")
        ),
        tokens=tuple(
            ApiToken.objects.filter(workflow=workflow).select_related("user").order_by("-created_at", "-pk")
        ),
        endpoint_address=without_secrets(workflow.endpoint.base_url),
    )


@transaction.atomic
def put_person(*, workflow: Workflow, username: str, role: Role) -> Membership:
    """As `add_member`; who is no manager any more keeps nothing of what waits for one."""
    person = User.objects.filter(username__iexact=username.strip(), is_active=True).first()
    if person is not None:
        lock_person(person)
    member = add_member(workflow=workflow, username=username, role=role)
    give_back_above(user=member.user, workflow=workflow)
    return member


@transaction.atomic
def remove_person(*, workflow: Workflow, user: User, now: datetime) -> bool:
    """Whether they were a member; what they had on their desk, or was handed to them, is everybody's; answers stay.

    Raises Conflict for the last manager.
    """
    lock_person(user)
    removed = remove_member(workflow=workflow, user=user, now=now)
    give_back_all(user=user, workflow=workflow)
    return removed
