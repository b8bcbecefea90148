from __future__ import annotations

from datetime import timedelta

import pytest

from apps.demo.watch import MOST_LINES, Watch, watch_from_now
from apps.workflows.models import Endpoint, Workflow
from tests.factories import NOW, make_item, make_route

pytestmark = pytest.mark.django_db


def pause(seconds: int) -> None:
    reason = "The model cannot be reached (refused)"
    Endpoint.objects.update(
        failures_in_a_row=1, paused_until=NOW + timedelta(seconds=seconds), pause_reason=reason
    )


def test_it_works(workflow: Workflow) -> None:
    watch = watch_from_now()
    make_route(make_item(workflow, "mail-1"))
    (line,) = watch.news()
    assert line.startswith("mail-1: ")
    assert watch.news() == []


def test_many_decisions_are_one_line(workflow: Workflow) -> None:
    for n in range(MOST_LINES + 1):
        make_route(make_item(workflow, f"mail-{n}"))
    (line,) = Watch(0).news()
    assert line.startswith(f"{MOST_LINES + 1} items decided")


def test_a_pause_is_told_once_with_reason_and_end(workflow: Workflow) -> None:
    watch = Watch(0)
    pause(5)
    expected = "The model cannot be reached (refused): stand-in is asked again at 09:00:05"
    assert [watch.news(), watch.news()] == [[expected], []]
    pause(6)
    assert watch.news() == []
    pause(15)
    assert "09:00:15" in watch.news()[0]


def test_the_end_of_a_pause_is_told(workflow: Workflow) -> None:
    watch = Watch(0)
    pause(5)
    watch.news()
    Endpoint.objects.update(failures_in_a_row=0, paused_until=None, pause_reason="")
    assert [watch.news(), watch.news()] == [["stand-in answers again"], []]
