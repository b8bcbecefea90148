"""A label that acts, or would, without a certificate is named where managers decide; no alarm is undone unseen."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.test import Client

from apps.accounts.models import User
from apps.calibration.models import CalibrationRun, CalibrationSettings
from apps.calibration.running import run_calibration
from apps.calibration.uncertified import uncertified
from apps.calibration.watching.watching import watch_alarms
from apps.policies.models import Policy
from apps.policies.services import activate, create_draft, go_back
from apps.workflows.models import Workflow
from tests.calibration.streams import REVIEWED, insert_past
from tests.calibration.watching.watched import mixed
from tests.conftest import SignIn
from tests.factories import NOW, RULES

pytestmark = pytest.mark.django_db


@pytest.fixture
def client(mara: User, signed_in: SignIn) -> Client:
    return signed_in(mara)


@pytest.fixture
def put_back(workflow: Workflow) -> None:
    """Spam acted, and an alarm took that away."""
    insert_past(workflow, mixed(80, 20))
    assert watch_alarms(workflow=workflow, now=NOW)


def certified(workflow: Workflow) -> None:
    insert_past(workflow, [REVIEWED] * 600, prefix="certified")
    run_calibration(workflow=workflow, trigger=CalibrationRun.Trigger.ASKED, user=None, now=NOW)


def policy(workflow: Workflow, status: str = "active") -> Policy:
    return workflow.policies.get(status=status)


def test_it_works(workflow: Workflow) -> None:
    (spam,) = uncertified(workflow, policy(workflow))
    assert (spam.name, spam.threshold, spam.why, spam.put_back) == (
        "Spam",
        "80 %",
        "without a certificate",
        None,
    )


def test_a_certificate_that_covers_it_is_enough(workflow: Workflow) -> None:
    certified(workflow)
    assert uncertified(workflow, policy(workflow)) == []
    CalibrationSettings.objects.create(workflow=workflow, confidence=0.999)
    (spam,) = uncertified(workflow, policy(workflow))
    assert spam.why == "with a certificate for less than its target of 5 % asks"


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"threshold": 0.97}, "where its certificate does not reach"),
        ({"target_error": 0.01}, "with a certificate for less than its target of 1 % asks"),
    ],
)
def test_a_draft_beyond_it_says_so(workflow: Workflow, change: dict[str, float], why: str) -> None:
    certified(workflow)
    spam = RULES["labels"]["spam"] | change
    draft = create_draft(
        workflow=workflow,
        rules=RULES | {"labels": RULES["labels"] | {"spam": spam}},
        based_on=policy(workflow),
        user=None,
    )
    assert [each.why for each in uncertified(workflow, draft)] == [why]


def test_other_gates_have_no_certificate_yet(workflow: Workflow) -> None:
    certified(workflow)
    draft = create_draft(
        workflow=workflow, rules=RULES | {"margin": 0.3}, based_on=policy(workflow), user=None
    )
    assert [each.why for each in uncertified(workflow, draft)] == ["without a certificate"]
    activate(policy=draft, user=None, now=NOW + timedelta(hours=1))
    assert len(uncertified(workflow, policy(workflow))) == 1


@pytest.mark.usefixtures("put_back")
def test_the_way_back_over_an_alarm_is_told(workflow: Workflow, client: Client) -> None:
    assert uncertified(workflow, policy(workflow)) == []
    page = client.get("/w/leads/policy/").content.decode()
    assert "would act by itself from 80 % without a certificate" in page
    assert "An alarm took that away" in page


@pytest.mark.usefixtures("put_back")
def test_once_gone_back_it_stands_on_the_policy(workflow: Workflow, client: Client) -> None:
    go_back(workflow=workflow, user=None, now=NOW)
    page = client.get("/w/leads/policy/").content.decode()
    assert "<bdi>Spam</bdi> acts by itself from 80 % without a certificate" in page
    assert "An alarm took that away" in page


@pytest.mark.usefixtures("put_back")
def test_a_draft_over_an_alarm_is_told(workflow: Workflow, client: Client) -> None:
    draft = create_draft(workflow=workflow, rules=RULES, based_on=policy(workflow), user=None)
    page = client.get(f"/w/leads/policy/{draft.version}/").content.decode()
    assert "An alarm took that away" in page
