from __future__ import annotations

from datetime import timedelta

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from apps.accounts.models import User
from apps.actions.models import Action, ActionRun
from apps.insights.metrics import workflow_metrics
from apps.insights.metrics_values import last_days
from apps.insights.selectors import Overview
from apps.workflows.models import Endpoint, Workflow
from tests.conftest import SignIn
from tests.factories import NOW, make_item, make_route, make_task
from tests.insights.answered import make_label, make_labels

PAGE = "/w/leads/insights/"
LIVE = {"HX-Request": "true", "HX-Target": "overview-live"}


def test_it_works(workflow: Workflow, rosa: User, mara: User, signed_in: SignIn) -> None:
    make_labels(workflow, rosa, "spam", "lead", at=timezone.now())
    make_task(workflow)
    page = signed_in(mara).get(PAGE, {"days": "all"})
    shown = page.content.decode()
    assert page.status_code == 200
    for words in ("50.0 %", "1 of 2", "9.5 % to 90.5 %", "Qualified lead", "rosa", "stand-in — not Clef"):
        assert words in shown, words


@pytest.mark.parametrize(("name", "status"), [("rosa", 403), ("nora", 404), ("mara", 200)])
def test_it_is_for_managers(
    workflow: Workflow, request: pytest.FixtureRequest, signed_in: SignIn, name: str, status: int
) -> None:
    assert signed_in(request.getfixturevalue(name)).get(PAGE).status_code == status


def test_an_empty_workflow_shows_unknown_with_its_reason(
    workflow: Workflow, mara: User, signed_in: SignIn
) -> None:
    shown = signed_in(mara).get(PAGE).content.decode()
    assert shown.count("no data") > 5
    assert "0.0 %" not in shown


def test_an_unknown_window_is_told(workflow: Workflow, mara: User, signed_in: SignIn) -> None:
    page = signed_in(mara).get(PAGE, {"days": "<b>9</b>"})
    assert page.status_code == 422
    assert "&lt;b&gt;9&lt;/b&gt;" in page.content.decode()
    assert "<b>9</b>" not in page.content.decode()


def test_the_live_part_asks_for_itself_and_nothing_else(
    workflow: Workflow, mara: User, signed_in: SignIn
) -> None:
    browser = signed_in(mara)
    with CaptureQueriesContext(connection) as whole:
        browser.get(PAGE, {"days": "7"})
    with CaptureQueriesContext(connection) as part:
        live = browser.get(PAGE, {"days": "7"}, headers=LIVE).content.decode()
    assert live.startswith('<section id="overview-live"')
    assert 'hx-get="/w/leads/insights/?days=7" hx-trigger="every 10s"' in live
    assert "data-announce" not in live
    assert len(part) < len(whole) - 10


def test_a_failed_action_raises_an_alarm(workflow: Workflow, mara: User, signed_in: SignIn) -> None:
    now = timezone.now()
    route = make_route(make_item(workflow, "mail-7<script>"), created_at=now)
    ActionRun.objects.create(
        item=route.item,
        action=Action.objects.get(workflow=workflow, label="spam"),
        route=route,
        started_by="policy",
        status="failed",
        settings={},
        not_before=now,
        idempotency_key="0" * 32,
        created_at=now,
        finished_at=now,
    )
    shown = signed_in(mara).get(PAGE, headers=LIVE).content.decode()
    assert "1 action failed and 0 are unknown" in shown
    assert f'href="/w/leads/items/{route.item_id}/"><bdi>mail-7&lt;script&gt;</bdi>' in shown


def test_a_paused_endpoint_and_what_waits_are_told(workflow: Workflow, mara: User, signed_in: SignIn) -> None:
    until = timezone.now() + timedelta(minutes=5)
    Endpoint.objects.update(paused_until=until, pause_reason="quota: out of allowance")
    make_item(workflow, wait_reason="quota: out of allowance", next_try_at=until)
    shown = signed_in(mara).get(PAGE, headers=LIVE).content.decode()
    assert "The model is not asked until" in shown
    assert "1 item waits for the model: <bdi>quota: out of allowance</bdi>" in shown


def test_overdue_checks_are_told(workflow: Workflow, mara: User, signed_in: SignIn) -> None:
    task = make_task(workflow, kind="audit")
    type(task).objects.filter(pk=task.pk).update(created_at=timezone.now() - timedelta(days=8))
    assert "1 quality check unanswered" in signed_in(mara).get(PAGE, headers=LIVE).content.decode()


def test_page_and_api_show_the_same_numbers(workflow: Workflow, rosa: User) -> None:
    now = timezone.now()
    make_labels(workflow, rosa, "spam", "lead", at=now)
    make_label(workflow, rosa, "spam", kind="audit", at=now)
    window = last_days(workflow, 28, now)
    api = workflow_metrics(workflow=workflow, start=window.start, end=window.end, group="label", now=now)
    page = Overview(workflow, 28, now)
    assert page.figures.items() <= api.figures.items()
    assert page.by_label == api.groups


def test_days_are_listed_newest_first(workflow: Workflow, rosa: User) -> None:
    for days in (0, 2, 200):
        make_label(workflow, rosa, at=NOW - timedelta(days=days))
    listed = [group.key for group in Overview(workflow, None, NOW).by_day]
    assert listed == ["2026-11-30", "2026-11-28"]


def test_names_are_inert(workflow: Workflow, rosa: User, mara: User, signed_in: SignIn) -> None:
    workflow.name = '"><script>alert(1)</script>'
    workflow.save()
    assert "<script>alert" not in signed_in(mara).get(PAGE).content.decode()
