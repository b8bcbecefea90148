from __future__ import annotations

from typing import Any

import pytest
from django.test import Client

from apps.accounts.models import User
from apps.policies.models import Policy
from apps.policies.readable import policy_diff
from apps.policies.selectors import active_policy
from apps.policies.services import activate, create_draft, discard_draft, update_draft
from apps.workflows.models import Workflow
from tests.calibration.pages import shown_fields
from tests.conftest import SignIn
from tests.factories import NOW, RULES
from tests.workflows.files import policy

pytestmark = [pytest.mark.django_db, pytest.mark.slow]
NEW, EDIT = "/w/leads/policy/new/", "/w/leads/policy/2/edit/"
FULL = RULES | {"overrides": policy()["overrides"], "holds": policy()["holds"], "critical": {"lead": 0.3}}


@pytest.fixture
def client(mara: User, signed_in: SignIn) -> Client:
    return signed_in(mara)


@pytest.fixture
def draft(workflow: Workflow, mara: User) -> Policy:
    return create_draft(workflow=workflow, rules=FULL, based_on=active_policy(workflow), user=mara)


def saved(client: Client, address: str, **typed: str) -> dict[str, Any]:
    """The rules of version 2 after the form was sent as shown, but for what was typed."""
    answer = client.post(address, shown_fields(client, address) | typed)
    assert answer.status_code == 302, answer.content.decode()
    rules: dict[str, Any] = Policy.objects.get(version=2).rules
    return rules


def refused(client: Client, draft: Policy, **typed: str) -> str:
    answer = client.post(EDIT, shown_fields(client, EDIT) | typed)
    draft.refresh_from_db()
    assert (answer.status_code, draft.rules) == (422, FULL | {"overrides": draft.rules["overrides"]})
    return answer.content.decode()


def test_it_works(client: Client, workflow: Workflow) -> None:
    rules = saved(client, NEW, **{"label-2-threshold": "0.93", "label-2-autonomy": "automatic"})

    assert rules["labels"]["spam"] == {"threshold": 0.93, "autonomy": "automatic", "target_error": 0.05}
    assert Policy.objects.get(version=2).based_on == active_policy(workflow)


def test_sent_as_shown_it_says_the_same(client: Client, draft: Policy) -> None:
    before = draft.rules
    questions = list(draft.workflow.question_sets.get().questions.all())

    assert policy_diff(before, saved(client, EDIT), questions) == []


def test_numbers_and_the_reason(client: Client, draft: Policy) -> None:
    rules = saved(
        client, EDIT, **{"numbers-margin": "0.25", "numbers-audit_rate": "0.2", "numbers-note": "Busy"}
    )

    assert (rules["margin"], rules["audit_rate"]) == (0.25, 0.2)
    assert Policy.objects.get(version=2).note == "Busy"


def test_costs_blank_or_not(client: Client, draft: Policy) -> None:
    rules = saved(client, EDIT, **{"costs-cost-2-0": "40", "costs-cost-2-1": ""})

    assert rules["costs"] == {"spam": {"lead": 40.0, "other": 1.0}}


def test_a_blank_row_becomes_a_text_rule(client: Client, draft: Policy) -> None:
    typed = {"text-1-name": "عقد (Contract)", "text-1-words": "عقد\ncontract*\n\n"}
    rule = saved(client, EDIT, **typed)["overrides"][1]

    assert rule == {"id": "contract", "kind": "text", "name": "عقد (Contract)", "words": ["عقد", "contract*"]}


@pytest.mark.parametrize(
    ("op", "typed", "value"),
    [
        (">", "10000", 10_000),
        (">=", "0.5", 0.5),
        ("=", "true", True),
        ("=", "gold", "gold"),
        ("=", '"10000"', "10000"),
        ("in", "a.example, b.example", ["a.example", "b.example"]),
        ("in", "1, x", [1, "x"]),
        ("in", '["a, b"]', ["a, b"]),
        ("missing", "", None),
    ],
)
def test_metadata_values(client: Client, draft: Policy, op: str, typed: str, value: object) -> None:
    row = {"metadata-1-name": "M", "metadata-1-field": "a.b", "metadata-1-op": op, "metadata-1-value": typed}
    rule = saved(client, EDIT, **row)["overrides"][2]

    assert rule.get("value") == value
    # Shown again it is typed the same way.
    assert saved(client, EDIT)["overrides"][2] == rule


def test_an_answer_rule(client: Client, draft: Policy) -> None:
    row = {"answer-1-name": "C", "answer-1-answer": '["intent", "customer"]', "answer-1-at_least": "0.3"}
    rule = saved(client, EDIT, **row)["overrides"][3]

    assert (rule["question"], rule["option"], rule["at_least"]) == ("intent", "customer", 0.3)


def test_rules_can_go(client: Client, draft: Policy) -> None:
    rules = saved(client, EDIT, **{"text-0-DELETE": "on", "metadata-0-DELETE": "on"})

    assert [rule["id"] for rule in rules["overrides"]] == ["paid"]


def test_a_hold_can_go(client: Client, draft: Policy) -> None:
    assert saved(client, EDIT, **{"hold-1-low": "", "hold-1-high": ""})["holds"] == []


def test_two_new_rules_of_one_name_are_told_apart(client: Client, draft: Policy) -> None:
    rows = {f"text-{row}-name": "!!!" for row in (1, 2)} | {f"text-{row}-words": "w" for row in (1, 2)}

    assert [rule["id"] for rule in saved(client, EDIT, **rows)["overrides"]][1:3] == ["rule", "rule-2"]


@pytest.mark.parametrize(
    ("field", "typed", "said"),
    [
        ("label-0-threshold", "1.5", "less than or equal to 1"),
        ("label-0-threshold", "nan", "Enter a number"),
        ("label-0-threshold", "0,9", "Enter a number"),
        ("label-0-autonomy", "boss", "Select a valid choice"),
        ("numbers-audit_rate", "0", "greater than or equal to 0.01"),
        ("numbers-review_cost", "1e308", "less than or equal to 1000000000"),
        ("numbers-note", "n" * 10_000, "at most 300 characters"),
        ("costs-cost-2-0", "-1", "greater than or equal to 0"),
        ("costs-cost-2-0", "1e10", "less than or equal to 1000000000"),
        ("text-0-words", "a*b", "only at its end"),
        ("text-0-words", "w" * 201, "more than 200"),
        ("text-0-name", "n" * 10_000, "at most 120 characters"),
        ("metadata-0-value", "a lot", "must be a number"),
        ("metadata-0-value", "NaN", "Must be a text, true"),
        ("metadata-0-op", "=~", "Select a valid choice"),
        ("answer-0-answer", '["nope", null]', "Select a valid choice"),
        ("answer-0-at_least", "", "This field is required"),
        ("hold-1-high", "", "Must be given for a noul"),
        ("hold-1-high", "0.1", "Must be between"),
    ],
)
def test_refusals_stand_beside_what_was_typed(
    client: Client, draft: Policy, field: str, typed: str, said: str
) -> None:
    page = refused(client, draft, **{field: typed})

    assert said.lower() in page.lower()
    assert 'aria-invalid="true"' in page
    assert typed.replace('"', "&quot;") in page


def test_hostile_names_come_back_inert(client: Client, draft: Policy) -> None:
    page = refused(client, draft, **{"text-0-name": "<img src=x onerror=alert(1)>", "numbers-margin": "x"})

    assert "<img src=x" not in page
    assert "&lt;img src=x" in page


def test_a_tampered_row_count_is_refused(client: Client, draft: Policy) -> None:
    answer = client.post(EDIT, shown_fields(client, EDIT) | {"text-TOTAL_FORMS": "lots"})

    assert answer.status_code == 422
    assert "ManagementForm data is missing" in answer.content.decode()


def test_two_editors(client: Client, draft: Policy, ravi: User) -> None:
    fields = shown_fields(client, EDIT)
    update_draft(policy=draft, rules=FULL | {"margin": 0.4}, user=ravi)

    answer = client.post(EDIT, fields | {"label-0-threshold": "0.77"})

    page = answer.content.decode()
    assert answer.status_code == 409
    assert "changed by ravi" in page
    assert 'value="0.77"' in page
    assert Policy.objects.get(version=2).rules["margin"] == 0.4


def test_sending_it_again_is_still_refused(client: Client, draft: Policy, ravi: User) -> None:
    fields = shown_fields(client, EDIT)
    update_draft(policy=draft, rules=FULL | {"margin": 0.4}, user=ravi)

    assert f'value="{fields["seen"]}"' in client.post(EDIT, fields).content.decode()


def test_what_was_typed_can_be_a_draft_of_its_own(client: Client, draft: Policy, ravi: User) -> None:
    fields = shown_fields(client, EDIT)
    update_draft(policy=draft, rules=FULL | {"margin": 0.4}, user=ravi)

    client.post(NEW, fields | {"label-0-threshold": "0.77"})

    assert Policy.objects.get(version=3).rules["labels"]["lead"]["threshold"] == 0.77


@pytest.mark.parametrize("how", ["discarded", "activated"])
def test_a_draft_that_is_none_any_more(client: Client, draft: Policy, mara: User, how: str) -> None:
    fields = shown_fields(client, EDIT)
    if how == "discarded":
        discard_draft(policy=draft)
    else:
        activate(policy=draft, user=mara, now=NOW)

    answer = client.post(EDIT, fields | {"label-0-threshold": "0.77"})

    assert answer.status_code == 409
    assert how in answer.content.decode()
    assert 'value="0.77"' in answer.content.decode()


def test_an_activated_version_has_no_form(client: Client) -> None:
    assert client.get("/w/leads/policy/1/edit/").headers["Location"] == "/w/leads/policy/1/"


def test_questions_that_changed_meanwhile_move_no_value(client: Client, draft: Policy) -> None:
    fields = shown_fields(client, EDIT)
    old = draft.workflow.question_sets.get()
    new = draft.workflow.question_sets.create(version=2)
    for question in old.questions.all():
        question.pk, question.question_set = None, new
        question.options = question.options[::-1]
        question.save()
    draft.workflow.question_sets.filter(pk=old.pk).update(is_current=False)
    draft.workflow.question_sets.filter(pk=new.pk).update(is_current=True)

    client.post(EDIT, fields | {"label-0-threshold": "0.77"})

    assert Policy.objects.get(version=2).rules["labels"]["lead"]["threshold"] == 0.77


def test_many_labels_keep_their_costs(client: Client, workflow: Workflow) -> None:
    question = workflow.question_sets.get().questions.get(is_routing=True)
    question.options += [question.options[0] | {"id": f"o{n}", "name": f"O{n}"} for n in range(251)]
    question.save()

    rules = saved(client, NEW)

    assert len(rules["labels"]) == 255
    assert rules["costs"] == RULES["costs"]
