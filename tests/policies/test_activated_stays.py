"""The database itself keeps a policy that was in force; each try here is raw SQL."""

from __future__ import annotations

import pytest
from django.db import IntegrityError, connection, transaction

from apps.policies.models import Policy
from apps.workflows.models import Workflow
from tests.factories import RULES, make_policy

pytestmark = pytest.mark.django_db
CHANGES = [
    "UPDATE policies_policy SET rules = '{}' WHERE id = %s",
    "UPDATE policies_policy SET version = 9 WHERE id = %s",
    "UPDATE policies_policy SET note = 'x' WHERE id = %s",
    "UPDATE policies_policy SET created_at = now() WHERE id = %s",
    "UPDATE policies_policy SET based_on_id = id WHERE id = %s",
    "UPDATE policies_policy SET workflow_id = workflow_id + 1 WHERE id = %s",
]
LEAVING = [
    "UPDATE policies_policy SET activated_at = NULL, status = 'draft' WHERE id = %s",
    "DELETE FROM policies_policy WHERE id = %s",
]


def run(sql: str, policy: Policy) -> None:
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(sql, [policy.pk])


def test_it_works(workflow: Workflow) -> None:
    with pytest.raises(IntegrityError, match="was activated: it neither changes nor goes"):
        run(CHANGES[0], workflow.policies.get())


@pytest.mark.parametrize("change", [*CHANGES, *LEAVING])
@pytest.mark.parametrize("status", ["active", "retired"])
def test_activated_versions_stay(workflow: Workflow, status: str, change: str) -> None:
    policies = {
        "active": workflow.policies.get(),
        "retired": make_policy(workflow, RULES, version=2, status="retired"),
    }

    with pytest.raises(IntegrityError, match="neither changes nor goes"):
        run(change, policies[status])


@pytest.mark.parametrize("change", [*CHANGES[:5], LEAVING[1]])
def test_drafts_may_change(workflow: Workflow, change: str) -> None:
    run(change, make_policy(workflow, RULES, version=2, status="draft"))


def test_an_active_version_may_retire(workflow: Workflow) -> None:
    run(
        "UPDATE policies_policy SET status = 'retired', activated_at = now() WHERE id = %s",
        workflow.policies.get(),
    )

    assert workflow.policies.get().status == Policy.Status.RETIRED


def test_a_workflow_with_a_past_stays(workflow: Workflow) -> None:
    workflow.actions.all().delete()
    with pytest.raises(IntegrityError, match="was activated"), transaction.atomic():
        workflow.delete()
