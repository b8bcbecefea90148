from __future__ import annotations

from collections.abc import Iterable

import pytest
from django.http import HttpResponseBase, StreamingHttpResponse
from django.test import Client

from apps.accounts.models import User
from apps.items.models import Item
from apps.reviews.exports import export_labels, parse_label_query
from apps.reviews.models import ReviewTask
from apps.workflows.models import Role, Workflow
from tests.conftest import SignIn
from tests.factories import join
from tests.insights.answered import make_label, make_labels
from tests.insights.test_exports_command import run

PAGE = "/w/leads/labels/"
FILE = "/w/leads/labels/export/"


@pytest.fixture
def browser(mara: User, signed_in: SignIn) -> Client:
    return signed_in(mara)


def body(response: HttpResponseBase) -> bytes:
    assert isinstance(response, StreamingHttpResponse)
    content = response.streaming_content
    assert isinstance(content, Iterable)
    return b"".join(content)


def test_it_works(workflow: Workflow, rosa: User, browser: Client) -> None:
    make_labels(workflow, rosa, "spam", "lead")
    page = browser.get(PAGE)
    assert page.status_code == 200
    for words in ("Qualified lead", "Overridden", "rosa", "model visible", "format=csv&amp;bom=1"):
        assert words in page.content.decode(), words


@pytest.mark.parametrize("address", [PAGE, FILE])
@pytest.mark.parametrize(("name", "status"), [("rosa", 403), ("nora", 404), ("mara", 200)])
def test_it_is_for_managers(
    workflow: Workflow,
    request: pytest.FixtureRequest,
    signed_in: SignIn,
    address: str,
    name: str,
    status: int,
) -> None:
    assert signed_in(request.getfixturevalue(name)).get(address).status_code == status


@pytest.mark.parametrize("format", ["jsonl", "csv", "systemone"])
def test_page_shell_and_writer_give_the_same_bytes(
    workflow: Workflow, rosa: User, browser: Client, format: str
) -> None:
    make_labels(workflow, rosa, "spam", "lead", None, "lead")
    query = {"value": "lead", "since": "2026-11-30", "blind": "false"}
    file = body(browser.get(FILE, query | {"format": format}))
    options = [part for name, text in query.items() for part in (f"--{name}", text)]
    shell, _ = run("--workflow", "leads", "--format", format, *options)
    written = export_labels(workflow=workflow, query=parse_label_query(query), format=format)
    assert file == shell == b"".join(written) != b""


def test_a_file_has_a_name(workflow: Workflow, browser: Client) -> None:
    response = browser.get(FILE, {"format": "csv"})
    assert response["Content-Disposition"] == 'attachment; filename="leads-labels.csv"'
    assert response["Content-Type"].startswith("text/csv")


@pytest.mark.parametrize(
    ("query", "told"),
    [
        ({"since": "soon"}, "must be a day"),
        ({"sinse": "2026-11-30"}, "sinse is not a filter"),
        ({"blind": "<b>"}, "must be true or false"),
        ({"source": "model"}, "must be one of review"),
    ],
)
@pytest.mark.parametrize("address", [PAGE, FILE])
def test_a_wrong_filter_is_told(
    workflow: Workflow, browser: Client, address: str, query: dict[str, str], told: str
) -> None:
    page = browser.get(address, query)
    assert page.status_code == 422
    assert told in page.content.decode()


@pytest.mark.parametrize("query", [{"format": "parquet"}, {"format": "jsonl", "bom": "1"}])
def test_a_file_that_cannot_be_made_is_told(
    workflow: Workflow, browser: Client, query: dict[str, str]
) -> None:
    page = browser.get(FILE, query)
    assert page.status_code == 422
    assert "is not built yet" in page.content.decode() or "is for csv only" in page.content.decode()


def test_nothing_found_says_which_filter(workflow: Workflow, rosa: User, browser: Client) -> None:
    make_labels(workflow, rosa, "spam", "lead")
    shown = browser.get(PAGE, {"value": "customer"}).content.decode()
    assert "Of 2 settled labels, value = customer removed 2 and left 0." in shown
    assert "format=jsonl" not in shown


def test_pages_follow_each_other(workflow: Workflow, rosa: User, browser: Client) -> None:
    ids = [label.pk for label in make_labels(workflow, rosa, *["lead"] * 51)][::-1]
    first = browser.get(PAGE, {"value": "lead"}).context["page"]
    older = browser.get(PAGE, {"value": "lead", "before": first.older}).context["page"]
    newer = browser.get(PAGE, {"value": "lead", "after": older.newer}).context["page"]
    assert [row.label.pk for row in (*first.rows, *older.rows)] == ids
    assert (first.newer, older.older, newer.rows) == (None, None, first.rows)


def test_a_label_whose_item_is_asked_again_blind_stays_hidden(
    workflow: Workflow, rosa: User, browser: Client
) -> None:
    label = make_label(workflow, rosa, "customer")
    first = ReviewTask.objects.get(item=label.item_id)
    ReviewTask.objects.create(
        workflow=workflow,
        item_id=label.item_id,
        route=first.route,
        question_set=first.question_set,
        kind="shadow",
        asked=["intent"],
        blind=True,
        due_at=first.due_at,
        place_at=first.due_at,
        created_at=first.created_at,
    )
    shown = browser.get(PAGE, headers={"HX-Request": "true", "HX-Target": "labels-found"}).content.decode()
    assert "Existing customer" not in shown
    assert "Spam" not in shown
    assert browser.get(PAGE, {"value": "customer"}).context["page"].rows == ()


def test_hostile_text_is_inert(workflow: Workflow, rosa: User, browser: Client) -> None:
    label = make_label(workflow, rosa)
    Item.objects.filter(pk=label.item_id).update(title="<script>alert(1)</script>\u202e", external_id="<img>")
    shown = browser.get(PAGE).content.decode()
    assert "<script>alert" not in shown
    assert "<bdi>&lt;script&gt;" in shown
    assert "<bdi>&lt;img&gt;</bdi>" in shown


def test_labels_of_another_workflow_stay_there(
    workflow: Workflow, other_workflow: Workflow, rosa: User, mara: User, browser: Client
) -> None:
    join(mara, other_workflow, Role.REVIEWER)
    make_label(other_workflow, rosa)
    assert body(browser.get(FILE)) == b""
    assert browser.get("/w/elsewhere/labels/export/").status_code == 403


def test_filters_offer_names_instead_of_ids(workflow: Workflow, browser: Client) -> None:
    page = browser.get(PAGE).content.decode()
    assert '<option value="lead">Qualified lead</option>' in page
    assert '<optgroup label="Intent">' in page
    assert "optional" not in page


def test_a_filter_that_no_question_offers_stays_in_sight(workflow: Workflow, browser: Client) -> None:
    page = browser.get(PAGE, {"value": "gone"}).content.decode()
    assert '<option value="gone" selected>gone</option>' in page
