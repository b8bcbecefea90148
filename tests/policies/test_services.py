from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from apps.accounts.models import User
from apps.core.errors import InvalidInput
from apps.policies.errors import BasedOnAnother, ChangedMeanwhile, NotADraft, NothingToGoBackTo
from apps.policies.models import Policy
from apps.policies.selectors import active_policy, open_drafts, policy_versions, stamp_of
from apps.policies.services import activate, create_draft, discard_draft, go_back, propose, update_draft
from apps.workflows.models import Workflow
from tests.factories import NOW, RULES

pytestmark = pytest.mark.django_db
LATER = NOW + timedelta(hours=1)


def rules(**changed: Any) -> dict[str, Any]:
    return RULES | changed


@pytest.fixture
def draft(workflow: Workflow, mara: User) -> Policy:
    return create_draft(
        workflow=workflow, rules=rules(margin=0.2), based_on=active_policy(workflow), user=mara, note="Wider"
    )


def statuses(workflow: Workflow) -> dict[int, str]:
    return dict(Policy.objects.filter(workflow=workflow).values_list("version", "status"))


def test_it_works(draft: Policy, mara: User) -> None:
    active = activate(policy=draft, user=mara, now=LATER)

    assert (active.activated_by, active.activated_at) == (mara, LATER)
    assert statuses(draft.workflow) == {1: "retired", 2: "active"}
    assert active_policy(draft.workflow) == draft


def test_a_draft_changes_nothing(draft: Policy) -> None:
    assert statuses(draft.workflow) == {1: "active", 2: "draft"}
    assert list(open_drafts(draft.workflow)) == [draft]


def test_rules_that_do_not_fit_make_no_draft(workflow: Workflow, mara: User) -> None:
    with pytest.raises(InvalidInput, match=r"labels\.nope"):
        create_draft(workflow=workflow, rules=rules(labels={"nope": {}}), based_on=None, user=mara)


def test_a_note_has_an_end(workflow: Workflow, mara: User) -> None:
    with pytest.raises(InvalidInput, match="note"):
        create_draft(workflow=workflow, rules=rules(), based_on=None, user=mara, note="n" * 301)


def test_a_draft_can_be_edited(draft: Policy, ravi: User) -> None:
    changed = update_draft(policy=draft, rules=rules(margin=0.3), user=ravi, seen=stamp_of(draft))

    assert (changed.rules["margin"], changed.created_by, changed.version) == (0.3, ravi, 2)


def test_the_second_of_two_editors_is_told(draft: Policy, mara: User, ravi: User) -> None:
    seen = stamp_of(draft)
    update_draft(policy=draft, rules=rules(margin=0.3), user=ravi, seen=seen)

    with pytest.raises(ChangedMeanwhile, match="changed by ravi"):
        update_draft(policy=draft, rules=rules(margin=0.4), user=mara, seen=seen)


def test_what_was_not_looked_at_is_not_activated(draft: Policy, mara: User, ravi: User) -> None:
    seen = stamp_of(draft)
    update_draft(policy=draft, rules=rules(margin=0.3), user=ravi)

    with pytest.raises(ChangedMeanwhile):
        activate(policy=draft, user=mara, now=LATER, seen=seen)


def test_a_proposal_can_be_activated(draft: Policy, mara: User) -> None:
    proposed = propose(policy=draft)

    assert proposed.status == Policy.Status.PROPOSED
    assert activate(policy=proposed, user=mara, now=LATER).status == Policy.Status.ACTIVE


def test_an_edited_proposal_is_a_draft_again(draft: Policy, mara: User) -> None:
    propose(policy=draft)

    assert update_draft(policy=draft, rules=rules(), user=mara).status == Policy.Status.DRAFT


def test_a_draft_of_a_former_version_waits(draft: Policy, workflow: Workflow, mara: User) -> None:
    other = create_draft(
        workflow=workflow, rules=rules(margin=0.5), based_on=active_policy(workflow), user=mara
    )
    activate(policy=other, user=mara, now=LATER)

    with pytest.raises(BasedOnAnother, match="Version 3 is active now"):
        activate(policy=draft, user=mara, now=LATER)


def test_saving_it_again_compares_with_the_active(draft: Policy, workflow: Workflow, mara: User) -> None:
    other = create_draft(workflow=workflow, rules=rules(), based_on=active_policy(workflow), user=mara)
    activate(policy=other, user=mara, now=LATER)
    update_draft(policy=draft, rules=draft.rules, user=mara)

    assert activate(policy=draft, user=mara, now=LATER).status == Policy.Status.ACTIVE


def test_activated_versions_are_no_drafts(draft: Policy, mara: User) -> None:
    activate(policy=draft, user=mara, now=LATER)

    for change in (lambda: discard_draft(policy=draft), lambda: activate(policy=draft, user=mara, now=LATER)):
        with pytest.raises(NotADraft):
            change()


def test_a_discarded_draft_is_gone(draft: Policy, mara: User) -> None:
    copy = Policy.objects.get(pk=draft.pk)
    discard_draft(policy=draft)

    assert statuses(copy.workflow) == {1: "active"}
    with pytest.raises(NotADraft, match="discarded"):
        activate(policy=copy, user=mara, now=LATER)


def test_questions_may_have_changed_meanwhile(draft: Policy, mara: User) -> None:
    question = draft.workflow.question_sets.get().questions.get(is_routing=True)
    question.options = question.options[:1]
    question.save()

    with pytest.raises(InvalidInput, match=r"labels\.spam"):
        activate(policy=draft, user=mara, now=LATER)


def test_one_step_back_and_forth(draft: Policy, workflow: Workflow, mara: User) -> None:
    activate(policy=draft, user=mara, now=LATER)

    assert go_back(workflow=workflow, user=mara, now=LATER + timedelta(hours=1)).version == 1
    assert statuses(workflow) == {1: "active", 2: "retired"}
    assert go_back(workflow=workflow, user=mara, now=LATER + timedelta(hours=2)).version == 2


def test_a_double_click_goes_back_once(draft: Policy, workflow: Workflow, mara: User) -> None:
    activate(policy=draft, user=mara, now=LATER)
    go_back(workflow=workflow, user=mara, now=LATER, seen_version=2)

    with pytest.raises(ChangedMeanwhile, match="Version 1 has become active"):
        go_back(workflow=workflow, user=mara, now=LATER, seen_version=2)


def test_the_first_version_has_nothing_behind(workflow: Workflow, mara: User) -> None:
    with pytest.raises(NothingToGoBackTo):
        go_back(workflow=workflow, user=mara, now=LATER)


def test_versions_are_newest_first(draft: Policy) -> None:
    assert [policy.version for policy in policy_versions(draft.workflow)] == [2, 1]
