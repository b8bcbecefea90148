from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from re import sub

import pytest
from django.http import HttpResponse
from django.test import Client
from django.utils import timezone

from apps.accounts.models import User
from apps.calibration.models import CalibrationRun, Certificate
from apps.policies.models import Policy
from apps.workflows.models import Workflow
from tests.calibration.streams import REVIEWED, insert_past
from tests.conftest import SignIn

pytestmark = pytest.mark.django_db
PAGE = "/w/leads/calibration/"
ASK = f"{PAGE}recalibrate/"


@pytest.fixture
def client(mara: User, signed_in: SignIn) -> Client:
    return signed_in(mara)


def insert(workflow: Workflow, count: int, prefix: str = "item") -> None:
    past = replace(REVIEWED, p=0.8, at=timezone.now() - timedelta(days=3))
    insert_past(workflow, [past] * count, prefix=prefix)


def words(response: object) -> str:
    assert isinstance(response, HttpResponse)
    return sub(r"\s+", " ", sub(r"<[^>]+>", " ", response.content.decode()))


def test_it_works(client: Client, workflow: Workflow) -> None:
    insert(workflow, 600)
    asked = words(client.get(ASK))
    assert "Spam 1 3.04 % Would be tried" in asked
    assert asked.count("Too few answers: not tried, nothing spent") == 2
    done = words(client.post(ASK, follow=True))
    assert "1 label was tried, 1 certified. This is what is proposed" in done
    assert CalibrationRun.objects.get().started_by is not None


def test_looking_spends_nothing(client: Client, workflow: Workflow) -> None:
    insert(workflow, 600)
    for address in (PAGE, ASK, PAGE):
        client.get(address)
    assert CalibrationRun.objects.count() == Certificate.objects.count() == 0


def test_the_page_shows_what_is_in_force(client: Client, workflow: Workflow) -> None:
    insert(workflow, 600)
    client.post(ASK)
    page = words(client.get(PAGE))
    assert "Certificates and attempts (1)" in page
    assert "Certified 50 % to 80 %" in page
    assert "In force" in page
    assert "number 2, due on" in page
    assert "mara standin-ngram-1 1 1 Version 2 proposed" in page


def test_nothing_due_spends_nothing(client: Client, workflow: Workflow) -> None:
    insert(workflow, 5)
    assert "Nothing was tried, so nothing is spent" in words(client.post(ASK, follow=True))
    assert Certificate.objects.count() == 0


def test_a_label_before_its_time_is_tried_knowingly(client: Client, workflow: Workflow) -> None:
    insert(workflow, 600)
    client.post(ASK)
    assert "Try all the same: this spends attempt 2" in words(client.get(ASK))
    client.post(ASK, {"forced": ["spam", "no such label"]})
    assert list(Certificate.objects.order_by("id").values_list("attempt", flat=True)) == [1, 2]
    assert CalibrationRun.objects.latest("id").inputs["forced"] == ["spam"]


def test_without_a_policy_there_is_nothing_to_run(client: Client, workflow: Workflow) -> None:
    Policy.objects.filter(workflow=workflow).update(status="retired")
    for ask in (client.get, client.post):
        assert "has no policy in force that names a label" in words(ask(ASK, follow=True))


def test_a_label_that_acts_without_a_certificate_is_told(client: Client) -> None:
    page = words(client.get(PAGE))
    assert page.count("This label acts by itself without a certificate") == 1


def test_only_managers_run(rosa: User, signed_in: SignIn) -> None:
    assert signed_in(rosa).post(ASK).status_code == 403
    assert CalibrationRun.objects.count() == 0
