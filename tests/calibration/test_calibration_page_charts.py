from __future__ import annotations

import csv
import io
import json
import re
from dataclasses import replace
from datetime import timedelta
from xml.etree import ElementTree as ET

import pytest
from django.test import Client
from django.utils import timezone

from apps.accounts.models import User
from apps.calibration.overview import MOST_CARDS
from apps.reviews.models import ReviewTask
from apps.workflows.models import Question, Workflow
from tests.calibration.streams import REVIEWED, insert_past
from tests.conftest import SignIn
from tests.factories import RULES, make_item, make_policy, make_route, option
from tests.insights.answered import answer

pytestmark = pytest.mark.django_db
PAGE = "/w/leads/calibration/"


@pytest.fixture
def client(mara: User, signed_in: SignIn) -> Client:
    return signed_in(mara)


@pytest.fixture
def counted(workflow: Workflow) -> None:
    at = timezone.now() - timedelta(days=3)
    right, wrong = replace(REVIEWED, at=at, p=0.93), replace(REVIEWED, at=at, p=0.81, answer="lead")
    insert_past(workflow, [*[right] * 170, *[wrong] * 10, *[replace(right, p=0.3)] * 20])


@pytest.fixture
def answered(workflow: Workflow, rosa: User) -> None:
    """As people do it, so that the model's whole answer is there."""
    at = timezone.now() - timedelta(days=1)
    for value in ("spam", "spam", "lead"):
        item = make_item(workflow, status="in_review")
        route = make_route(item, created_at=at)
        task = ReviewTask.objects.create(
            workflow=workflow,
            item=item,
            route=route,
            question_set=route.question_set,
            kind="routine",
            asked=["intent"],
            blind=False,
            due_at=at,
            place_at=at,
            created_at=at,
        )
        answer(rosa, task, value, at=timezone.now())


def rows(client: Client, address: str) -> list[dict[str, str]]:
    response = client.get(address)
    assert response["Content-Type"] == "text/csv; charset=utf-8"
    return list(csv.DictReader(io.StringIO(response.content.decode())))


@pytest.mark.usefixtures("counted")
def test_it_works(client: Client) -> None:
    page = client.get(PAGE).content.decode()
    assert "Automation and error: Spam" in page
    assert "Reliability: Spam" in page
    assert page.count('<svg xmlns="http://www.w3.org/2000/svg" class="chart"') == 6


@pytest.mark.usefixtures("counted")
def test_the_slider_has_every_number_with_it(client: Client) -> None:
    page = client.get(PAGE).content.decode()
    found = re.search(r'<script id="slider-3" type="application/json">(.*?)</script>', page)
    assert found
    slider = json.loads(found[1])
    shown = slider["steps"][slider["start"]]
    assert (len(slider["steps"]), shown["from"]) == (52, "80 %")
    assert (shown["items"], shown["of"], shown["wrong"], shown["labelled"]) == (180, 200, 10, 180)
    assert shown["share"] == 0.9
    assert shown["standing"] == ""


@pytest.mark.usefixtures("counted")
def test_a_chart_is_a_file(client: Client) -> None:
    response = client.get(f"{PAGE}charts/label.svg?label=spam")
    assert response["Content-Type"] == "image/svg+xml"
    assert response["Content-Disposition"] == 'attachment; filename="leads-label.svg"'
    assert ET.fromstring(response.content).get("viewBox")  # noqa: S314 - the product's own drawing


@pytest.mark.usefixtures("counted")
def test_its_numbers_are_a_file(client: Client) -> None:
    found = {row["from_probability"]: row for row in rows(client, f"{PAGE}charts/label.csv?label=spam")}
    assert (
        found["0.9"]["items"],
        found["0.9"]["reviewed_otherwise"],
        found["0.8"]["reviewed_otherwise"],
    ) == (
        "170",
        "0",
        "10",
    )
    bands = rows(client, f"{PAGE}charts/bands.csv?label=spam")
    assert [row["items"] for row in bands] == ["20", "10", "170"]


@pytest.mark.parametrize(
    "address",
    [
        "charts/label.svg",
        "charts/label.svg?label=nothing",
        "charts/label.png?label=spam",
        "charts/others.svg?label=spam",
        "charts/reliability.svg",
        "charts/reliability.svg?question=nothing",
        "quality/?question=nothing",
        "?question=nothing",
    ],
)
def test_what_there_is_not_is_not_found(client: Client, address: str) -> None:
    assert client.get(f"{PAGE}{address}").status_code == 404


def test_many_labels_are_shown_one_at_a_time(client: Client, workflow: Workflow) -> None:
    labels = [f"label {place}" for place in range(MOST_CARDS + 1)]
    options = [option(label, label.title()) for label in labels]
    Question.objects.filter(question_set__workflow=workflow, key="intent").update(
        options=options, none_of_these=""
    )
    workflow.policies.update(status="retired")
    rule = {"threshold": 0.9, "autonomy": "suggest", "target_error": 0.05}
    make_policy(workflow, RULES | {"labels": dict.fromkeys(labels, rule), "costs": {}}, version=2)
    page = client.get(f"{PAGE}?label=label+7").content.decode()
    assert page.count('class="chart"') == 2
    assert "Automation and error: Label 7" in page
    assert 'href="?label=label%208#label-9"' in page


@pytest.mark.usefixtures("answered")
def test_probabilities_come_as_a_part_of_the_page(client: Client) -> None:
    part = client.get(
        f"{PAGE}quality/", headers={"HX-Request": "true", "HX-Target": "quality-part"}
    ).content.decode()
    assert part.lstrip().startswith('<section class="card stack" id="quality-part"')
    assert "fewer than 100 answered items: 3" in part
    assert "Risk and coverage: intent" in part
    assert "<h1>" in client.get(f"{PAGE}quality/").content.decode()


@pytest.mark.usefixtures("answered")
def test_coverage_is_a_file(client: Client) -> None:
    found = rows(client, f"{PAGE}charts/coverage.csv")
    assert [(row["share_of_all_items"], row["effective_answers"]) for row in found] == [("1.0", "3.0")]
    assert float(found[0]["error"]) == pytest.approx(1 / 3)


def test_other_questions_have_figures_and_no_labels(client: Client) -> None:
    page = client.get(f"{PAGE}?question=money").content.decode()
    assert "quality/?question=money" in page
    assert "Automation and error" not in page
    assert "Nobody's answers count yet." in client.get(f"{PAGE}quality/?question=money").content.decode()
