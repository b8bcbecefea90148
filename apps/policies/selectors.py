from __future__ import annotations

import hashlib
import json
from typing import Any

from django.db.models import QuerySet

from apps.policies.models import Policy
from apps.workflows.models import Workflow

OPEN = (Policy.Status.DRAFT, Policy.Status.PROPOSED)


def active_policy(workflow: Workflow) -> Policy | None:
    return Policy.objects.filter(workflow=workflow, status=Policy.Status.ACTIVE).first()


def previous_policy(workflow: Workflow) -> Policy | None:
    """What `services.go_back` returns to: of the retired versions the one that was activated last."""
    return (
        Policy.objects.filter(workflow=workflow, status=Policy.Status.RETIRED)
        .order_by("-activated_at", "-version")
        .first()
    )


def policy_versions(workflow: Workflow) -> QuerySet[Policy]:
    """Every version, newest first, with the people who made and activated it."""
    return (
        Policy.objects.filter(workflow=workflow)
        .select_related("created_by", "activated_by", "based_on")
        .order_by("-version")
    )


def open_drafts(workflow: Workflow) -> QuerySet[Policy]:
    """Drafts and proposals, newest first."""
    return policy_versions(workflow).filter(status__in=OPEN)


def stamp_of(policy: Policy) -> str:
    """Changes whenever the draft does: whoever acts on it says with it what they were looking at."""
    content: list[Any] = [policy.version, policy.status, policy.based_on_id, policy.note, policy.rules]
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()[:32]
