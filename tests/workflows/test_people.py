from __future__ import annotations

import threading
from datetime import timedelta

import pytest
from django.db import connection

from apps.accounts.models import User
from apps.core.errors import Conflict, InvalidInput
from apps.workflows.access import get_token_for
from apps.workflows.models import ApiToken, Membership, Role, Workflow
from apps.workflows.people import add_member, remove_member, revoke_token, update_limits
from apps.workflows.services import create_token
from tests.factories import NOW, join, make_user, make_workflow


def test_it_works(workflow: Workflow, nora: User) -> None:
    member = add_member(workflow=workflow, username=" Nora ", role=Role.REVIEWER)
    assert (member.user, member.role) == (nora, "reviewer")
    assert remove_member(workflow=workflow, user=nora, now=NOW)
    assert not remove_member(workflow=workflow, user=nora, now=NOW)


def test_a_listed_name_changes_role(workflow: Workflow, rosa: User) -> None:
    add_member(workflow=workflow, username="rosa", role=Role.MANAGER)
    assert Membership.objects.get(workflow=workflow).role == "manager"


@pytest.mark.parametrize("name", ["nobody", "", "gone"])
def test_who_cannot_sign_in_cannot_be_added(workflow: Workflow, name: str) -> None:
    User.objects.filter(pk=make_user("gone").pk).update(is_active=False)
    with pytest.raises(InvalidInput) as refused:
        add_member(workflow=workflow, username=name, role=Role.REVIEWER)
    assert refused.value.problems[0].path == "username"


def test_the_last_manager_stays(workflow: Workflow, mara: User, rosa: User) -> None:
    with pytest.raises(Conflict, match="last manager"):
        remove_member(workflow=workflow, user=mara, now=NOW)
    with pytest.raises(Conflict, match="last manager"):
        add_member(workflow=workflow, username="mara", role=Role.REVIEWER)
    add_member(workflow=workflow, username="rosa", role=Role.MANAGER)
    assert remove_member(workflow=workflow, user=mara, now=NOW)


def test_a_deactivated_manager_is_no_manager_left(workflow: Workflow, mara: User, nora: User) -> None:
    join(nora, workflow, Role.MANAGER)
    User.objects.filter(pk=nora.pk).update(is_active=False)
    with pytest.raises(Conflict):
        remove_member(workflow=workflow, user=mara, now=NOW)


def test_keys_end_with_the_membership_for_good(workflow: Workflow, rosa: User) -> None:
    _, secret = create_token(workflow=workflow, user=rosa, name="mail", scopes=["read"])
    remove_member(workflow=workflow, user=rosa, now=NOW)
    join(rosa, workflow, Role.REVIEWER)
    assert get_token_for(secret=secret, now=NOW) is None


def test_a_revoked_token_opens_nothing(workflow: Workflow, other_workflow: Workflow, rosa: User) -> None:
    token, secret = create_token(workflow=workflow, user=rosa, name="mail", scopes=["read"])
    assert not revoke_token(workflow=other_workflow, token_id=token.pk, now=NOW)
    assert get_token_for(secret=secret, now=NOW) is not None
    assert revoke_token(workflow=workflow, token_id=token.pk, now=NOW)
    assert get_token_for(secret=secret, now=NOW) is None


def test_the_first_revocation_stays(workflow: Workflow, rosa: User) -> None:
    token, _ = create_token(workflow=workflow, user=rosa, name="mail", scopes=["read"])
    for now in (NOW, NOW + timedelta(days=1)):
        assert revoke_token(workflow=workflow, token_id=token.pk, now=now)
    assert ApiToken.objects.get().revoked_at == NOW


def test_limits_are_kept(workflow: Workflow) -> None:
    update_limits(workflow=workflow, lease_s=30, undo_s=0, due_hours=8_760)
    workflow.refresh_from_db()
    assert (workflow.lease_s, workflow.undo_s, workflow.due_hours) == (30, 0, 8_760)


def test_limits_out_of_bounds_are_named_and_nothing_changes(workflow: Workflow) -> None:
    with pytest.raises(InvalidInput) as refused:
        update_limits(workflow=workflow, lease_s=29, undo_s=3_601, due_hours=0)
    assert {problem.path for problem in refused.value.problems} == {"lease_s", "undo_s", "due_hours"}
    workflow.refresh_from_db()
    assert workflow.lease_s == 300


@pytest.mark.django_db(transaction=True)
def test_two_managers_cannot_remove_each_other_at_once() -> None:
    workflow, both = make_workflow(), [make_user("ann"), make_user("bob")]
    for user in both:
        join(user, workflow, Role.MANAGER)
    together, outcomes = threading.Barrier(2), []

    def remove(user: User) -> None:
        together.wait()
        try:
            outcomes.append(remove_member(workflow=workflow, user=user, now=NOW))
        except Conflict:
            outcomes.append(False)
        finally:
            connection.close()

    threads = [threading.Thread(target=remove, args=[user]) for user in both]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(outcomes) == [False, True]
