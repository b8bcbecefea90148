from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from re import sub

import pytest
from django.test import Client
from django.utils import timezone

from apps.accounts.models import User
from apps.policies.models import Policy
from apps.workflows.models import Role, Workflow
from tests.calibration.test_sides import CHECKED, HOLD, insert
from tests.conftest import SignIn
from tests.factories import RULES, join, make_user, make_workflow

pytestmark = pytest.mark.django_db
PAGE = "/w/leads/calibration/"


@pytest.fixture
def workflow(db: None) -> Workflow:
    return make_workflow(rules=RULES | {"holds": [HOLD]})


@pytest.fixture
def client(workflow: Workflow, signed_in: SignIn) -> Client:
    person: User = make_user("mara")
    join(person, workflow, Role.MANAGER)
    return signed_in(person)


def past(workflow: Workflow, count: int) -> None:
    insert(workflow, [replace(CHECKED, p=0.97, pi=0.5, at=timezone.now() - timedelta(days=3))] * count)


def words(client: Client, address: str) -> str:
    return sub(r"\s+", " ", sub(r"<[^>]+>", " ", client.get(address).content.decode()))


def test_it_works(client: Client, workflow: Workflow) -> None:
    past(workflow, 600)
    assert "Nothing was read of it yet under these rules" in words(client, f"{PAGE}?question=money")
    client.post(f"{PAGE}recalibrate/")
    page = words(client, f"{PAGE}?question=money")
    assert "the probability of a yes lies between 10 % and 90 %" in page
    assert "Automation and error: Money, yes" in page
    assert "Automation and error: Money, no" in page
    assert "Newest reading 50 % to 97 %" in page


def test_a_run_says_what_it_spends_on_sides(client: Client, workflow: Workflow) -> None:
    past(workflow, 600)
    tried = "3.04 % Due: tried where its answers give a fair chance"
    assert f"Money , yes 1 {tried}" in words(client, f"{PAGE}recalibrate/")
    client.post(f"{PAGE}recalibrate/")
    page = words(client, f"{PAGE}recalibrate/")
    assert "Money , yes 2 0.76 % Due on" in page
    assert f"Money , no 1 {tried}" in page


def test_certified_limits_are_proposed(client: Client, workflow: Workflow) -> None:
    past(workflow, 600)
    client.post(f"{PAGE}recalibrate/")
    assert "The certificates in force allow 10 % and 50 %" in words(client, f"{PAGE}?question=money")
    client.post(f"{PAGE}holds/propose/", {"question": "money"})
    proposed = Policy.objects.latest("id")
    assert (proposed.status, proposed.rules["holds"]) == ("proposed", [HOLD | {"high": 0.5}])


def test_nothing_certified_is_not_proposed(client: Client) -> None:
    client.post(f"{PAGE}holds/propose/", {"question": "money"})
    assert Policy.objects.count() == 1
    assert "no hold on that question" in words(client, PAGE)


def test_a_side_is_a_file(client: Client, workflow: Workflow) -> None:
    past(workflow, 5)
    assert client.get(f"{PAGE}charts/side.csv?question=money&label=true").status_code == 404
    client.post(f"{PAGE}recalibrate/")
    response = client.get(f"{PAGE}charts/side.csv?question=money&label=true")
    assert response.content.decode().splitlines()[-1].startswith("0.5,5,5,")
    assert client.get(f"{PAGE}charts/side.csv?question=intent&label=true").status_code == 404
