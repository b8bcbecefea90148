"""The preview page: plain words, the four cells, and the items behind them."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest
from django.test import Client
from django.utils import timezone

from apps.accounts.models import User
from apps.calibration.models import CalibrationRun
from apps.calibration.replay.previewing import PAGE, items_of_cell
from apps.policies.models import Policy
from apps.policies.selectors import active_policy
from apps.policies.services import create_draft
from apps.workflows.models import Workflow
from tests.calibration.replay.replays import insert_replayable
from tests.calibration.replay.test_replaying import UNSURE, with_threshold
from tests.calibration.streams import AUDITED, REVIEWED
from tests.conftest import SignIn
from tests.factories import NOW

pytestmark = pytest.mark.django_db
PAGE_OF_DRAFT = "/w/leads/policy/2/preview/"
LATELY = timezone.now() - timedelta(days=28)
UNSURE_LATELY = replace(UNSURE, at=LATELY)


@pytest.fixture
def client(mara: User, signed_in: SignIn) -> Client:
    return signed_in(mara)


@pytest.fixture
def draft(workflow: Workflow, mara: User) -> Policy:
    rules = with_threshold(0.7)
    return create_draft(workflow=workflow, rules=rules, based_on=active_policy(workflow), user=mara)


def shown(client: Client, address: str) -> str:
    response = client.get(address)
    assert response.status_code == 200
    return " ".join(response.content.decode().split())


def test_it_works(client: Client, workflow: Workflow, draft: Policy) -> None:
    insert_replayable(workflow, [UNSURE_LATELY] * 40 + [replace(AUDITED, at=LATELY)])

    page = shown(client, PAGE_OF_DRAFT)

    assert "more items a week through by themselves. Of 40 of them that people answered 0 were" in page
    assert "with 95 % confidence at most 7.2 % are." in page
    assert "All 41 items." in page


def test_with_nothing_to_replay_it_says_so(client: Client, draft: Policy) -> None:
    assert "Nothing to replay" in shown(client, PAGE_OF_DRAFT)


def test_a_version_that_changes_nothing_says_so(client: Client, workflow: Workflow) -> None:
    insert_replayable(workflow, [replace(REVIEWED, at=LATELY)])

    assert "where the policy in force sends it" in shown(client, "/w/leads/policy/1/preview/")


def test_the_draft_leads_to_its_preview(client: Client, draft: Policy) -> None:
    assert f'href="{PAGE_OF_DRAFT}"' in shown(client, "/w/leads/policy/2/")


def test_a_cell_leads_to_its_items(client: Client, workflow: Workflow, draft: Policy) -> None:
    past = [replace(UNSURE, answer=None), AUDITED, replace(REVIEWED, p=0.5)]
    insert_replayable(workflow, [replace(each, at=LATELY) for each in past])

    assert f'href="{PAGE_OF_DRAFT}newly-automatic/"' in shown(client, PAGE_OF_DRAFT)
    page = shown(client, f"{PAGE_OF_DRAFT}newly-automatic/")
    assert "item-0" in page
    assert "None of these" in page
    assert "item-1" not in page


def test_pages_of_a_cell_hold_every_item_once(workflow: Workflow) -> None:
    insert_replayable(workflow, [replace(UNSURE, at=NOW - timedelta(hours=n // 7)) for n in range(PAGE + 20)])
    rules = with_threshold(0.7)

    first = items_of_cell(workflow=workflow, rules=rules, cell="newly-automatic", now=NOW)
    rest = items_of_cell(workflow=workflow, rules=rules, cell="newly-automatic", now=NOW, before=first.next)

    assert (len(first.items), len(rest.items), rest.next) == (PAGE, 20, None)
    assert len({each.item.pk for each in (*first.items, *rest.items)}) == PAGE + 20
    assert min(each.item.created_at for each in first.items) >= max(
        each.item.created_at for each in rest.items
    )


@pytest.mark.parametrize(
    "path", ["nowhere/", "newly-automatic/?before=x", "newly-automatic/?before=9" + "9" * 17 + "_1"]
)
def test_what_is_no_cell_or_place_is_not_found(client: Client, draft: Policy, path: str) -> None:
    assert client.get(PAGE_OF_DRAFT + path).status_code == 404


@pytest.mark.parametrize("path", ["", "newly-automatic/"])
def test_only_managers_look(draft: Policy, rosa: User, signed_in: SignIn, path: str) -> None:
    assert signed_in(rosa).get(PAGE_OF_DRAFT + path).status_code == 403


def test_figures_that_chose_the_thresholds_are_marked(
    client: Client, workflow: Workflow, draft: Policy
) -> None:
    insert_replayable(workflow, [UNSURE_LATELY] * 5)
    assert "In-sample." not in shown(client, PAGE_OF_DRAFT)
    CalibrationRun.objects.create(
        workflow=workflow,
        question_set=workflow.question_sets.get(),
        policy=workflow.policies.get(version=1),
        proposal=draft,
        model="standin-ngram-1",
        trigger=CalibrationRun.Trigger.ASKED,
        formula="two-stratum-exact/1",
        inputs={},
        results=[],
        seconds=0.1,
        created_at=timezone.now(),
    )
    assert "<strong>In-sample.</strong>" in shown(client, PAGE_OF_DRAFT)


@pytest.mark.parametrize(("unsure", "says"), [(40, True), (5, False)])
def test_another_load_is_told(
    client: Client, workflow: Workflow, draft: Policy, unsure: int, says: bool
) -> None:
    # What the draft lets through people no longer see: of 60 they saw.
    low = [replace(REVIEWED, p=0.5, at=LATELY)] * (60 - unsure)
    insert_replayable(workflow, [UNSURE_LATELY] * unsure + low)
    assert ("What people see a day would change by" in shown(client, PAGE_OF_DRAFT)) is says
