from __future__ import annotations

import re
from datetime import timedelta

import pytest
from django.utils import timezone

from apps.accounts.models import User
from apps.reviews.leases import take_next_task
from apps.reviews.models import Lease, ReviewTask, TaskEvent
from apps.reviews.queue import EVERYTHING, Seeker
from apps.reviews.queue_page import PAGE, QueuePage, queue_page
from apps.workflows.models import Workflow
from tests.conftest import SignIn
from tests.factories import NOW, make_task
from tests.reviews.queue_people import hand_to

QUEUE = "/w/leads/review/queue/"


def shown(signed_in: SignIn, user: User, address: str = QUEUE) -> str:
    return " ".join(signed_in(user).get(address).content.decode().split())


def test_it_works(signed_in: SignIn, rosa: User, workflow: Workflow) -> None:
    task = make_task(workflow, label="spam")
    page = shown(signed_in, rosa)
    assert task.item.external_id in page
    assert "<bdi>Low confidence</bdi>" in page
    assert '<td data-label="Suggested"><bdi>Spam</bdi>' in page


def test_what_a_colleague_has_is_seen_and_not_taken(
    signed_in: SignIn, rosa: User, ravi: User, workflow: Workflow
) -> None:
    task = make_task(workflow)
    take_next_task(user=ravi, workflow=workflow)
    page = shown(signed_in, rosa)
    assert "<bdi>ravi</bdi> has it open" in page
    assert f'id="take-{task.pk}"' not in page
    answer = signed_in(rosa).post(f"{QUEUE}{task.pk}/take/", follow=True)
    assert "ravi has this item open" in answer.content.decode()
    assert Lease.objects.get().user == ravi


def test_taking_puts_it_on_the_desk(signed_in: SignIn, rosa: User, workflow: Workflow) -> None:
    make_task(workflow, priority=9)
    second = make_task(workflow)
    answer = signed_in(rosa).post(f"{QUEUE}{second.pk}/take/", follow=True)
    assert f"Item <bdi>{second.item.external_id}</bdi>" in answer.content.decode()


@pytest.mark.parametrize("kind", ["audit", "shadow"])
def test_of_a_blind_task_nothing_is_told(
    signed_in: SignIn, rosa: User, workflow: Workflow, kind: str
) -> None:
    task = make_task(workflow, kind=kind, label="spam")
    for address in (QUEUE, f"{QUEUE}{task.pk}/"):
        page = shown(signed_in, rosa, address)
        assert "Quality check" in page
        assert re.search(rf"<td[^>]*>[^<]*<bdi>(Spam|{kind})", page, re.IGNORECASE) is None
        assert 'badge is-plain"><bdi>' not in page


def test_for_whom_and_for_which_rank(signed_in: SignIn, rosa: User, ravi: User, workflow: Workflow) -> None:
    hand_to(ravi, make_task(workflow))
    make_task(workflow, stage="escalated")
    page = shown(signed_in, rosa)
    assert "For <bdi>ravi</bdi>" in page
    assert "Escalated" in page
    assert "For a senior" in page


def test_what_people_keep_leaving_is_flagged(signed_in: SignIn, rosa: User, workflow: Workflow) -> None:
    make_task(workflow, times_opened=2)
    assert "left 2 times" not in shown(signed_in, rosa)
    ReviewTask.objects.update(times_opened=3)
    assert "left 3 times" in shown(signed_in, rosa)


def test_overdue_is_said(signed_in: SignIn, rosa: User, workflow: Workflow) -> None:
    make_task(workflow)
    ReviewTask.objects.update(due_at=timezone.now() - timedelta(minutes=1))
    assert "overdue" in shown(signed_in, rosa)


def pages_of(workflow: Workflow, user: User) -> list[QueuePage]:
    """One after the other, of three tasks each."""
    seeker = Seeker.of(user, workflow)
    assert seeker is not None
    pages = [queue_page(seeker, EVERYTHING, now=NOW, size=3)]
    while pages[-1].next_after is not None:
        pages.append(queue_page(seeker, EVERYTHING, after=pages[-1].next_after, now=NOW, size=3))
    return pages


def ids_of(page: QueuePage) -> list[int]:
    return [row.task.pk for row in page.rows]


def test_every_task_is_on_one_page_alone(workflow: Workflow, rosa: User) -> None:
    for number in range(7):
        make_task(workflow, priority=number % 3)
    seen = [task for page in pages_of(workflow, rosa) for task in ids_of(page)]
    wanted = ReviewTask.objects.order_by("-priority", "place_at", "item").values_list("pk", flat=True)
    assert seen == list(wanted)


def test_the_way_back_is_the_way_there(workflow: Workflow, rosa: User) -> None:
    for number in range(10):
        make_task(workflow, priority=number % 3)
    *there, last = pages_of(workflow, rosa)
    seeker, page, back = Seeker.of(rosa, workflow), last, list[list[int]]()
    assert seeker is not None
    while page.previous_before is not None:
        page = queue_page(seeker, EVERYTHING, before=page.previous_before, now=NOW, size=3)
        back.append(ids_of(page))
    assert back == [ids_of(each) for each in reversed(there)]


def test_a_way_back_that_reaches_the_front_shows_all_that_is_there(workflow: Workflow, rosa: User) -> None:
    tasks = [make_task(workflow) for _ in range(4)]
    seeker = Seeker.of(rosa, workflow)
    assert seeker is not None
    page = queue_page(seeker, EVERYTHING, before=tasks[1].pk, now=NOW, size=3)
    assert (ids_of(page), page.previous_before) == ([task.pk for task in tasks[:3]], None)


def test_pages_lead_to_each_other(signed_in: SignIn, rosa: User, workflow: Workflow) -> None:
    tasks = [make_task(workflow) for _ in range(PAGE + 1)]
    assert "Nearer the front" not in shown(signed_in, rosa)
    page = shown(signed_in, rosa, f"{QUEUE}?label=spam&after={tasks[0].pk}")
    assert f'href="{QUEUE}?label=spam&amp;before={tasks[1].pk}" rel="prev"' in page


def test_a_place_that_is_gone_begins_at_the_front(signed_in: SignIn, rosa: User, workflow: Workflow) -> None:
    task = make_task(workflow)
    for gone in ("0", "9" * 30, "x", "-1", str(task.pk + 1)):
        assert task.item.external_id in shown(signed_in, rosa, f"{QUEUE}?after={gone}")
        assert task.item.external_id in shown(signed_in, rosa, f"{QUEUE}?before={gone}")


def test_a_manager_hands_over_and_sets_priority(
    signed_in: SignIn, mara: User, rosa: User, workflow: Workflow
) -> None:
    task = make_task(workflow)
    client = signed_in(mara)
    sent = {"to": "rosa", "why": "Yours"}
    assert client.post(f"{QUEUE}{task.pk}/hand-over/", sent).status_code == 302
    assert client.post(f"{QUEUE}{task.pk}/priority/", {"priority": "7"}).status_code == 302
    task.refresh_from_db()
    assert (task.assigned_to, task.priority, TaskEvent.objects.count()) == (rosa, 7, 2)
    assert "0 → 7." in client.get(f"{QUEUE}{task.pk}/").content.decode()


def test_what_is_wrong_is_said_and_kept(signed_in: SignIn, mara: User, workflow: Workflow) -> None:
    task = make_task(workflow)
    answer = signed_in(mara).post(f"{QUEUE}{task.pk}/priority/", {"priority": "9" * 12, "why": "Kept"})
    assert answer.status_code == 422
    assert "Kept" in answer.content.decode()


def test_a_wrong_filter_is_named_as_its_field_is(signed_in: SignIn, rosa: User, workflow: Workflow) -> None:
    answer = signed_in(rosa).get(QUEUE, {"label": "nowhere"})
    assert answer.status_code == 422
    assert "<p>Suggested: Select a valid choice." in answer.content.decode()


def test_a_settled_one_leads_to_its_item(signed_in: SignIn, rosa: User, workflow: Workflow) -> None:
    task = make_task(workflow)
    ReviewTask.objects.update(status="done", closed_at=NOW)
    answer = signed_in(rosa).get(f"{QUEUE}{task.pk}/")
    assert answer.headers["Location"] == f"/w/leads/items/{task.item_id}/"


def test_another_workflows_is_not_there(
    signed_in: SignIn, rosa: User, mara: User, other_workflow: Workflow
) -> None:
    task = make_task(other_workflow)
    assert signed_in(rosa).get(f"{QUEUE}{task.pk}/").status_code == 404
    assert signed_in(mara).post(f"{QUEUE}{task.pk}/hand-over/", {"to": "rosa"}).status_code == 404
    signed_in(mara).post(f"{QUEUE}{task.pk}/priority/", {"priority": "7"})
    task.refresh_from_db()
    assert task.priority == 0
