from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest
from django.test import Client
from django.utils import timezone

from apps.accounts.models import User
from apps.policies.models import Policy
from apps.policies.selectors import active_policy, stamp_of
from apps.policies.services import activate, create_draft, discard_draft, update_draft
from apps.workflows.models import Workflow
from tests.calibration.streams import REVIEWED, insert_past
from tests.conftest import SignIn
from tests.factories import NOW, RULES

pytestmark = pytest.mark.django_db
PAGE = "/w/leads/policy/"
HOSTILE = "<script>alert(1)</script>"


@pytest.fixture
def client(mara: User, signed_in: SignIn) -> Client:
    return signed_in(mara)


@pytest.fixture
def draft(workflow: Workflow, mara: User) -> Policy:
    return create_draft(
        workflow=workflow,
        rules=RULES | {"margin": 0.2},
        based_on=active_policy(workflow),
        user=mara,
        note=HOSTILE,
    )


def statuses(workflow: Workflow) -> dict[int, str]:
    return dict(Policy.objects.filter(workflow=workflow).values_list("version", "status"))


def test_it_works(client: Client) -> None:
    page = client.get(PAGE)

    assert page.status_code == 200
    for words in ("Version 1", "Spam", "80 %", "Audited", "Margin between the top two", "5 %"):
        assert words in page.content.decode()


def test_a_workflow_without_a_policy_says_so(client: Client, workflow: Workflow) -> None:
    Policy.objects.filter(workflow=workflow).update(status=Policy.Status.RETIRED)

    assert "No policy yet" in client.get(PAGE).content.decode()


@pytest.mark.parametrize("path", ["", "new/", "1/", "1/edit/"])
def test_only_managers_look(path: str, rosa: User, nora: User, signed_in: SignIn) -> None:
    assert signed_in(rosa).get(PAGE + path).status_code == 403
    assert signed_in(nora).get(PAGE + path).status_code == 404


@pytest.mark.parametrize("path", ["new/", "back/", "2/edit/", "2/activate/", "2/discard/"])
def test_only_managers_act(path: str, draft: Policy, rosa: User, nora: User, signed_in: SignIn) -> None:
    assert signed_in(rosa).post(PAGE + path).status_code == 403
    assert signed_in(nora).post(PAGE + path).status_code == 404
    assert statuses(draft.workflow) == {1: "active", 2: "draft"}


@pytest.mark.parametrize("path", ["back/", "2/activate/", "2/discard/"])
def test_looking_changes_nothing(path: str, draft: Policy, client: Client) -> None:
    assert client.get(PAGE + path).status_code == 405


def test_a_foreign_version_is_nobodys(client: Client, draft: Policy, other_workflow: Workflow) -> None:
    create_draft(workflow=other_workflow, rules=RULES, based_on=active_policy(other_workflow), user=None)
    create_draft(workflow=other_workflow, rules=RULES, based_on=active_policy(other_workflow), user=None)

    assert client.post(f"{PAGE}3/activate/").status_code == 404
    assert client.get(f"{PAGE}{10**30}/").status_code == 404


def test_a_version_shows_the_difference(client: Client, draft: Policy) -> None:
    page = client.get(f"{PAGE}2/").content.decode()

    assert "Activate version 2" in page
    assert '<del dir="ltr">5 %</del>' in page
    assert '<ins dir="ltr">20 %</ins>' in page


def test_what_people_wrote_is_inert(client: Client, draft: Policy) -> None:
    for path in ("", "2/", "2/edit/"):
        page = client.get(PAGE + path).content.decode()
        assert HOSTILE not in page
        assert "&lt;script&gt;alert(1)" in page


def test_activate(client: Client, draft: Policy, mara: User) -> None:
    answer = client.post(f"{PAGE}2/activate/", {"seen": stamp_of(draft)})

    assert (answer.status_code, answer.headers["Location"]) == (302, PAGE)
    assert statuses(draft.workflow) == {1: "retired", 2: "active"}
    assert "Version 2 is in force" in client.get(PAGE).content.decode()


@pytest.mark.parametrize("seen", ["", "something else"])
def test_what_was_not_seen_is_not_activated(client: Client, draft: Policy, seen: str) -> None:
    answer = client.post(f"{PAGE}2/activate/", {"seen": seen})

    assert answer.status_code == 409
    assert statuses(draft.workflow) == {1: "active", 2: "draft"}


def test_a_change_meanwhile_is_shown(client: Client, draft: Policy, ravi: User) -> None:
    seen = stamp_of(draft)
    update_draft(policy=draft, rules=RULES | {"margin": 0.4}, user=ravi)

    answer = client.post(f"{PAGE}2/activate/", {"seen": seen})

    assert answer.status_code == 409
    assert "changed by ravi" in answer.content.decode()
    assert "40 %" in answer.content.decode()


def test_another_version_was_faster(client: Client, draft: Policy, workflow: Workflow, ravi: User) -> None:
    other = create_draft(workflow=workflow, rules=RULES, based_on=active_policy(workflow), user=ravi)
    activate(policy=other, user=ravi, now=NOW)

    answer = client.post(f"{PAGE}2/activate/", {"seen": stamp_of(draft)})

    assert answer.status_code == 409
    assert "Version 3 is active now" in answer.content.decode()


def test_rules_that_no_longer_fit_are_not_activated(client: Client, draft: Policy) -> None:
    question = draft.workflow.question_sets.get().questions.get(is_routing=True)
    question.options = [option for option in question.options if option["id"] != "spam"]
    question.save()

    answer = client.post(f"{PAGE}2/activate/", {"seen": stamp_of(draft)})

    assert answer.status_code == 422
    assert "labels.spam" in answer.content.decode()


def test_discard(client: Client, draft: Policy) -> None:
    assert client.post(f"{PAGE}2/discard/", {"seen": stamp_of(draft)}).status_code == 302
    assert statuses(draft.workflow) == {1: "active"}


def test_a_changed_draft_is_not_discarded(client: Client, draft: Policy) -> None:
    assert client.post(f"{PAGE}2/discard/", {"seen": "old"}).status_code == 409
    assert statuses(draft.workflow) == {1: "active", 2: "draft"}


def test_a_discarded_draft_cannot_be_activated(client: Client, draft: Policy) -> None:
    seen = stamp_of(draft)
    discard_draft(policy=draft)

    assert client.post(f"{PAGE}2/activate/", {"seen": seen}).status_code == 404


def test_one_step_back(client: Client, draft: Policy, mara: User) -> None:
    activate(policy=draft, user=mara, now=NOW)
    assert "Go back to version 1" in client.get(PAGE).content.decode()

    client.post(f"{PAGE}back/", {"seen_version": "2"})

    assert statuses(draft.workflow) == {1: "active", 2: "retired"}


@pytest.mark.parametrize("seen", ["", "x", "1", "9" * 40, "٢"])
def test_back_from_another_version_is_refused(client: Client, draft: Policy, mara: User, seen: str) -> None:
    activate(policy=draft, user=mara, now=NOW)

    assert client.post(f"{PAGE}back/", {"seen_version": seen}).status_code == 409
    assert statuses(draft.workflow) == {1: "retired", 2: "active"}


def test_nothing_to_go_back_to(client: Client) -> None:
    answer = client.post(f"{PAGE}back/", {"seen_version": "1"})

    assert answer.status_code == 409
    assert "No other version was active" in answer.content.decode()


def test_a_changed_gate_warns_that_evidence_starts_over(
    client: Client, workflow: Workflow, draft: Policy
) -> None:
    recent = timezone.now() - timedelta(days=3)
    insert_past(workflow, [replace(REVIEWED, at=recent)] * 4)
    page = client.get(f"{PAGE}{draft.version}/").content.decode()
    assert "The evidence starts over." in page
    assert "It changes the margin between the top two," in page
    assert "<bdi>Spam</bdi> 4." in page


def test_a_changed_threshold_keeps_the_evidence(client: Client, workflow: Workflow, mara: User) -> None:
    labels = {label: rule | {"threshold": 0.99} for label, rule in RULES["labels"].items()}
    rules = RULES | {"labels": labels}
    draft = create_draft(workflow=workflow, rules=rules, based_on=active_policy(workflow), user=mara, note="")
    assert "starts over" not in client.get(f"{PAGE}{draft.version}/").content.decode()
