"""A workflow that is recalibrated, or whose policy is changed, keeps its reviewers working."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from threading import Event
from typing import Any

import pytest
from django.db import connection, transaction

from apps.accounts.models import User
from apps.reviews.models import Label
from apps.workflows.locking import lock_workflow
from apps.workflows.models import Workflow
from tests.factories import make_item, make_task
from tests.insights.answered import answer

pytestmark = pytest.mark.django_db(transaction=True)
LONG_S = 30
"""Never waited for: who waits for the lock fails sooner, by the database's own limit."""


def beside_a_run(workflow: Workflow, call: Callable[[], Any]) -> Any:
    locked, done = Event(), Event()

    def run() -> None:
        try:
            with transaction.atomic():
                lock_workflow(workflow)
                locked.set()
                done.wait(LONG_S)
        finally:
            connection.close()

    with ThreadPoolExecutor(1) as pool:
        running = pool.submit(run)
        try:
            assert locked.wait(LONG_S)
            with transaction.atomic():
                with connection.cursor() as cursor:
                    cursor.execute("SET LOCAL lock_timeout = '2s'")
                return call()
        finally:
            done.set()
            running.result()


def test_it_works(workflow: Workflow, rosa: User) -> None:
    task = make_task(workflow)
    beside_a_run(workflow, lambda: answer(rosa, task, "spam"))
    assert Label.objects.get().value == "spam"


def test_items_come_in_meanwhile(workflow: Workflow) -> None:
    assert beside_a_run(workflow, lambda: make_item(workflow)).pk
