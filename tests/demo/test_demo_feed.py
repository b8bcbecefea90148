from __future__ import annotations

import json
from datetime import timedelta
from pathlib import Path

import pytest

from apps.demo.feed import (
    BACKLOG,
    MOST_WAITING,
    Feeder,
    Stream,
    add_backlog,
    open_stream,
    waiting_for_people_or_model,
)
from apps.demo.installation import SAMPLES
from apps.items.models import Item, ItemContent
from apps.reviews.models import ReviewTask
from apps.workflows.models import Workflow
from tests.factories import NOW, make_item, make_task


@pytest.fixture
def samples(tmp_path: Path) -> Path:
    rows = [{"external_id": f"leads-{n:03}", "state": f"mail {n}", "gold": "spam"} for n in range(1, 101)]
    (tmp_path / "leads.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return tmp_path


@pytest.fixture
def stream(workflow: Workflow, samples: Path) -> Stream:
    return open_stream(workflow, samples)


def test_it_works(stream: Stream) -> None:
    feeder = Feeder([stream], lambda: 3.0)
    assert feeder.tick(now=NOW) == []
    assert list(Item.objects.values_list("external_id", "source")) == [("leads-001", "demo")]


def test_nothing_comes_before_its_time(stream: Stream) -> None:
    feeder = Feeder([stream], lambda: 3.0)
    for seconds in (0, 1, 2, 3):
        feeder.tick(now=NOW + timedelta(seconds=seconds))
    assert Item.objects.count() == 2


def test_the_backlog_is_added_once(stream: Stream, workflow: Workflow, samples: Path) -> None:
    assert add_backlog(stream, now=NOW) == BACKLOG
    again = open_stream(workflow, samples)
    assert (again.position, add_backlog(again, now=NOW)) == (BACKLOG, 0)


def test_the_backlog_came_in_before_now_oldest_first(stream: Stream) -> None:
    add_backlog(stream, now=NOW)
    times = list(Item.objects.order_by("external_id").values_list("received_at", flat=True))
    assert times == sorted(times)
    assert NOW - timedelta(hours=12) <= times[0] < times[-1] < NOW


def test_after_the_last_sample_the_first_comes_as_a_new_item(stream: Stream) -> None:
    assert stream.incoming(0, NOW).external_id == "leads-001"
    assert stream.incoming(99, NOW).external_id == "leads-100"
    assert stream.incoming(100, NOW).external_id == "leads-001-r2"
    assert stream.incoming(250, NOW).external_id == "leads-051-r3"


def test_what_is_known_about_a_sample_is_not_handed_in(stream: Stream) -> None:
    Feeder([stream], lambda: 3.0).tick(now=NOW)
    assert ItemContent.objects.get().state == "mail 1"
    assert Item.objects.get().metadata == {}


def test_it_stops_while_too_much_waits_and_starts_again(stream: Stream, workflow: Workflow) -> None:
    for _ in range(MOST_WAITING):
        make_item(workflow)
    feeder = Feeder([stream], lambda: 0.0)
    assert "no new ones come" in feeder.tick(now=NOW)[0]
    assert feeder.tick(now=NOW) == []
    Item.objects.update(status="in_review")
    assert feeder.tick(now=NOW) == ["New items come to leads again."]
    assert Item.objects.filter(source="demo").count() == 1


def test_open_tasks_count_as_waiting_and_answered_ones_do_not(workflow: Workflow) -> None:
    make_task(workflow)
    done = make_task(workflow)
    ReviewTask.objects.filter(pk=done.pk).update(status="done", closed_at=NOW)
    make_item(workflow)
    assert waiting_for_people_or_model(workflow) == 2


def test_streams_take_turns(stream: Stream, other_workflow: Workflow) -> None:
    second = Stream(other_workflow, stream.samples, 0)
    feeder = Feeder([stream, second], lambda: 0.0)
    for _ in range(4):
        feeder.tick(now=NOW)
    assert (stream.position, second.position) == (2, 2)


def test_mails_and_pages_come_from_their_folders(workflow: Workflow) -> None:
    workflow.slug = "support"
    mails = open_stream(workflow, SAMPLES)
    first, again = mails.incoming(1, NOW), mails.incoming(1 + len(mails.samples), NOW)
    assert (again.external_id, again.group) == (f"{first.external_id}-r2", f"{first.group}-r2")
    workflow.slug = "documents"
    pages = open_stream(workflow, SAMPLES)
    assert all(page.is_for_model for page in pages.incoming(0, NOW).attachments)
