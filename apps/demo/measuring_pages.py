"""How long the server needs for each page of numbers, over a million routed decisions with all that belongs to them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from django.db import connection
from django.test import Client
from django.utils import timezone

from apps.accounts.models import User
from apps.calibration.counting.days import refresh
from apps.calibration.looking import look
from apps.demo.measuring import TookTooLong, timed
from apps.demo.million import fill
from apps.insights.metrics import workflow_metrics
from apps.workflows.models import Workflow

ROUNDS = 5
PAGES = {
    "calibration": "calibration/",
    "quality": "calibration/quality/",
    "overview": "insights/",
    "overview_of_all_time": "insights/?days=all",
    "labels": "labels/",
    "items": "items/",
    "items_in_review": "items/?status=in_review",
    "policy": "policy/",
    "planner": "policy/planner/",
}


def measure_pages(workflow: Workflow, people: Mapping[str, User], *, size: int) -> dict[str, Any]:
    """In milliseconds, the best of five rounds: what else the machine does meanwhile is no part of a page."""
    with timed() as filled:
        fill(workflow=workflow, user=people["rosa"], size=size, now=timezone.now())
    with timed() as counted:
        refresh(workflow)
    with connection.cursor() as cursor:
        # As autovacuum does within a minute or two: what is read from indexes alone needs it.
        cursor.execute("VACUUM ANALYZE")
    browser = Client()
    browser.force_login(people["mara"])
    figures = {name: _page(browser, f"/w/{workflow.slug}/{path}") for name, path in PAGES.items()}
    figures["metrics"] = _best(lambda: _metrics(workflow, None))
    figures["metrics_by_question"] = _best(lambda: _metrics(workflow, "question"))
    figures["certificates"] = _best(lambda: look(workflow=workflow, now=timezone.now()))
    return {
        "pages_at_1m_ms": figures,
        "decisions": size,
        "filled_s": round(filled(), 1),
        "counted_s": round(counted(), 1),
        "measured": f"whole pages by Django's client without a network, best of {ROUNDS}; counts made once before",
    }


def _metrics(workflow: Workflow, group: str | None) -> None:
    workflow_metrics(workflow=workflow, start=None, end=None, group=group, now=timezone.now())


def _page(browser: Client, url: str) -> float:
    def load() -> None:
        response = browser.get(url)
        if response.status_code != 200:
            raise TookTooLong(f"{url} answered {response.status_code} in a measurement")

    return _best(load)


def _best(do: Callable[[], object]) -> float:
    times = []
    for _ in range(ROUNDS):
        with timed() as took:
            do()
        times.append(took())
    return round(min(times) * 1000, 1)
