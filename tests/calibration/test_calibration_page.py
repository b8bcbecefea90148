from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from re import sub

import pytest
from django.test import Client
from django.utils import timezone
from pytest_django import DjangoAssertNumQueries

from apps.accounts.models import User
from apps.policies.models import Policy
from apps.workflows.models import Question, Workflow
from tests.calibration.streams import AUDITED, REVIEWED, Past, insert_past
from tests.conftest import SignIn
from tests.factories import INTENT, RULES, make_policy

pytestmark = pytest.mark.django_db
PAGE = "/w/leads/calibration/"


@pytest.fixture
def client(mara: User, signed_in: SignIn) -> Client:
    return signed_in(mara)


def insert(workflow: Workflow, *past: Past) -> None:
    """Three days before the clock's now, which is the page's."""
    insert_past(workflow, [replace(each, at=timezone.now() - timedelta(days=3)) for each in past])


def read(client: Client) -> str:
    """What the page says, white space evened out."""
    response = client.get(PAGE)
    assert response.status_code == 200
    return sub(r"\s+", " ", sub(r"<[^>]+>", " ", response.content.decode()))


def test_it_works(client: Client, workflow: Workflow) -> None:
    insert(workflow, *[replace(REVIEWED, p=0.8)] * 149, replace(REVIEWED, p=0.8, answer="lead"))
    page = read(client)
    assert "With 95% confidence at most 5% of the items accepted by itself" in page
    assert "50 % to 80 %" in page
    assert "1 of 150 · 95 % interval 0.1 % to 3.7 %" in page
    assert "Decisions here come from standin-ngram-1 , a stand-in" in page


def test_it_reads_without_data(client: Client) -> None:
    page = read(client)
    assert page.count("Not enough checks yet: 0 of about 140.") == 3
    assert "140 more draws before any threshold is tested" in page
    assert "no data" in page


def test_a_workflow_without_a_policy_says_so(client: Client, workflow: Workflow) -> None:
    Policy.objects.filter(workflow=workflow).update(status="retired")
    assert "There is no policy in force" in read(client)


def test_the_walk_shows_its_failure(client: Client, workflow: Workflow) -> None:
    good, bad = replace(REVIEWED, p=0.9), replace(REVIEWED, p=0.7, answer="lead")
    insert(workflow, *[good] * 150, *[bad] * 30)
    page = read(client)
    assert "Thresholds looked at (21)" in page
    assert "71 % to 90 %" in page
    assert "30 of 180" in page


def test_how_many_more_is_said(client: Client, workflow: Workflow) -> None:
    insert(workflow, *[REVIEWED] * 147, *[replace(REVIEWED, answer="lead")] * 5)
    page = read(client)
    assert "Not enough checks yet: 152 of about 224." in page
    assert "72 more at 95 % or above, if none of them is decided otherwise" in page


def test_a_threshold_that_is_not_certified_is_told(client: Client, workflow: Workflow) -> None:
    Policy.objects.filter(workflow=workflow).update(status="retired")
    rule = {"threshold": 0.95, "autonomy": "audited", "target_error": 0.05}
    make_policy(workflow, RULES | {"labels": {"spam": rule}}, version=2)
    insert(workflow, *[replace(REVIEWED, p=0.8)] * 600)
    client.post(f"{PAGE}recalibrate/")
    assert "The threshold in force, 95 %, is none of the certified ones" in read(client)


def test_unequal_audit_rates_are_not_pooled(client: Client, workflow: Workflow) -> None:
    insert(workflow, *[AUDITED] * 40, *[replace(AUDITED, pi=0.2)] * 40)
    page = read(client)
    assert "audit rates differed: see each band" in page
    assert "checks thinned to 10.0 %" in page


def test_names_are_escaped(client: Client, workflow: Workflow) -> None:
    name = "<script>alert(1)</script>"
    options = [option | {"name": name} for option in INTENT]
    Question.objects.filter(question_set__workflow=workflow, key="intent").update(options=options)
    insert(workflow, *[REVIEWED] * 150)
    page = client.get(PAGE).content.decode()
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in page
    assert name not in page


def test_only_managers_look(rosa: User, nora: User, signed_in: SignIn) -> None:
    assert signed_in(rosa).get(PAGE).status_code == 403
    assert signed_in(nora).get(PAGE).status_code == 404


def test_it_is_only_read(client: Client) -> None:
    assert client.post(PAGE).status_code == 405


def test_its_queries_do_not_grow_with_the_data(
    client: Client, workflow: Workflow, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    insert(
        workflow, *[replace(REVIEWED, label=label, answer=label) for label in ("spam", "lead", "customer")]
    )
    with django_assert_max_num_queries(47):
        client.get(PAGE)


def test_answers_that_do_not_count_yet_are_told(client: Client, workflow: Workflow) -> None:
    insert(workflow, *[REVIEWED] * 3, *[replace(REVIEWED, answer="")] * 7)
    page = read(client)
    assert "3 answered: counted once 95 % of what was asked up to their day is answered" in page
    assert "Of all 10 asked 3 are." in page
