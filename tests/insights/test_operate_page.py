from __future__ import annotations

from datetime import timedelta

import pytest
from django.core.cache import cache
from django.test import override_settings
from django.utils import timezone

from apps.accounts.models import User
from apps.actions.models import ActionRun
from apps.actions.services import begin_run
from apps.insights.operate import database_address, health, last_worker, without_secrets
from apps.items.models import Item
from apps.pipeline.tasks import WORKER_SEEN
from apps.reviews.leases import take_next_task
from apps.workflows.models import Endpoint, Role, Workflow
from tests.conftest import SignIn
from tests.factories import NOW, join, make_item, make_task

OPERATE = "/operate/"


def test_it_works(workflow: Workflow, olga: User, signed_in: SignIn) -> None:
    cache.set(WORKER_SEEN, timezone.now().isoformat())
    page = signed_in(olga).get(OPERATE)
    assert page.status_code == 200
    for shown in ("leads", "PostgreSQL", "alive", "standin-ngram-1", "a stand-in — not Clef", "every 10s"):
        assert shown in page.content.decode(), shown


def test_only_operators(workflow: Workflow, rosa: User, mara: User, signed_in: SignIn) -> None:
    assert [signed_in(person).get(OPERATE).status_code for person in (rosa, mara)] == [403, 403]


def test_it_refreshes_itself(workflow: Workflow, olga: User, signed_in: SignIn) -> None:
    headers = {"HX-Request": "true", "HX-Target": "operate-live"}
    page = signed_in(olga).get(OPERATE, headers=headers).content.decode()
    assert page.startswith('<div id="operate-live"')


def test_it_never_shows_content(workflow: Workflow, olga: User, signed_in: SignIn) -> None:
    task = make_task(workflow)
    Item.objects.filter(pk=task.item_id).update(external_id="secret-id", title="secret title")
    make_item(workflow, "secret-2", text="secret text", wait_reason="busy: said secret words")
    page = signed_in(olga).get(OPERATE).content.decode()
    assert "secret" not in page
    assert "<bdi>busy</bdi>" in page


def test_operators_do_not_see_items(workflow: Workflow, olga: User, signed_in: SignIn) -> None:
    item = make_item(workflow)
    assert signed_in(olga).get(f"/w/leads/items/{item.pk}/").status_code == 404


def test_queue_depth(workflow: Workflow) -> None:
    make_item(workflow)
    for late in (False, True):
        until = timezone.now() + timedelta(hours=-1 if late else 1)
        make_item(workflow, status="deciding", claim_token="0" * 32, claimed_until=until)
    make_task(workflow)
    (queue,) = health(now=timezone.now()).queues
    assert (queue.received, queue.deciding, queue.overdue_claims, queue.in_review) == (1, 2, 1, 1)
    assert (queue.oldest_received_at, queue.blocked_by) == (NOW, "")


def test_a_workflow_that_nothing_works_on_says_why(workflow: Workflow) -> None:
    workflow.policies.update(status="retired")
    (queue,) = health(now=NOW).queues
    assert queue.blocked_by == "It has no policy in force."


def test_stuck_items_by_reason(workflow: Workflow) -> None:
    for _ in range(2):
        make_item(workflow, wait_reason="busy: try later", next_try_at=NOW)
    (stuck,) = health(now=NOW).stuck
    assert (stuck.workflow, stuck.why, stuck.items, stuck.next_try_at) == ("leads", "busy", 2, NOW)


def test_items_without_a_decision_by_reason(workflow: Workflow) -> None:
    route = make_task(workflow).route
    type(route).objects.filter(pk=route.pk).update(superseded_at=NOW)
    error = {"code": "model_error", "numbers": {"code": "too_long", "message": "secret"}}
    route.pk, route.decision, route.label, route.p, route.reasons = None, None, None, None, [error]
    route.save()
    (unanswered,) = health(now=NOW).unanswered
    assert (unanswered.why, unanswered.items) == ("too_long", 1)


def test_action_runs_and_leases(workflow: Workflow, rosa: User) -> None:
    task = make_task(workflow)
    take_next_task(user=rosa, workflow=workflow)
    begin_run(route=task.route, label="spam", now=NOW, not_before=NOW - timedelta(days=365))
    found = health(now=NOW)
    assert (found.runs.waiting, found.runs.late, found.live_leases) == (1, 1, 1)
    ActionRun.objects.update(status="failed")
    runs = health(now=NOW).runs
    assert (runs.failed, runs.waiting) == (1, 0)


def test_a_paused_endpoint_says_why(workflow: Workflow, olga: User, signed_in: SignIn) -> None:
    soon = timezone.now() + timedelta(minutes=1)
    Endpoint.objects.update(
        paused_until=soon, pause_reason="quota: used up", secret_variable="NO_SUCH_VARIABLE"
    )
    page = signed_in(olga).get(OPERATE).content.decode()
    for shown in ("Paused", "quota: used up", "Not set for the web process: NO_SUCH_VARIABLE"):
        assert shown in page, shown


@pytest.mark.parametrize(("age_s", "is_alive"), [(29, True), (31, False)])
def test_a_worker_is_gone_after_half_a_minute(age_s: int, is_alive: bool) -> None:
    cache.set(WORKER_SEEN, (NOW - timedelta(seconds=age_s)).isoformat())
    assert last_worker(NOW).is_alive is is_alive


def test_no_worker_was_ever_seen() -> None:
    cache.delete(WORKER_SEEN)
    assert last_worker(NOW).problem == "No worker was ever seen here."


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("redis://:pass@10.0.0.1:6379/0", "redis://10.0.0.1:6379/0"),
        ("redis://u:p%40ss@[::1]:6379/0?password=x", "redis://[::1]:6379/0"),
        ("unix://:pass@/run/valkey.sock", "unix:///run/valkey.sock"),
    ],
)
def test_addresses_lose_their_secrets(url: str, shown: str) -> None:
    assert without_secrets(url) == shown


@pytest.mark.parametrize(
    "url", ["postgresql://u:pass@db:5433/fermata", "host=db port=5433 dbname=fermata password=pass"]
)
def test_the_database_address_is_put_together_without_the_password(url: str) -> None:
    assert database_address(url) == "db:5433, database fermata"


def test_a_member_who_operates_sees_both(workflow: Workflow, olga: User, signed_in: SignIn) -> None:
    join(olga, workflow, Role.REVIEWER)
    assert signed_in(olga).get(OPERATE).status_code == 200
    assert signed_in(olga).get("/w/leads/items/").status_code == 200


def test_the_page_stands_when_the_broker_is_away(olga: User, signed_in: SignIn) -> None:
    backend = "django.core.cache.backends.redis.RedisCache"
    away = {"default": {"BACKEND": backend, "LOCATION": "redis://:secret@127.0.0.1:1/0"}}
    with override_settings(CACHES=away):
        page = signed_in(olga).get(OPERATE).content.decode()
    assert "The broker cannot be reached" in page
    assert "secret" not in page
