"""Two managers at the same moment, each on a connection of their own."""

from __future__ import annotations

import threading
from collections.abc import Callable

import pytest
from django.db import connection

from apps.accounts.models import User
from apps.core.errors import Conflict
from apps.policies.errors import BasedOnAnother, ChangedMeanwhile
from apps.policies.models import Policy
from apps.policies.selectors import active_policy
from apps.policies.services import activate, create_draft, go_back
from apps.workflows.models import Workflow
from tests.factories import NOW, RULES

pytestmark = pytest.mark.django_db(transaction=True)


def at_once(*acts: Callable[[], object]) -> list[object]:
    """What each returned or was refused with."""
    results: list[object] = []
    start = threading.Barrier(len(acts), timeout=10)

    def run(act: Callable[[], object]) -> None:
        try:
            start.wait()
            results.append(act())
        except Conflict as refusal:
            results.append(refusal)
        finally:
            connection.close()

    threads = [threading.Thread(target=run, args=(act,)) for act in acts]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=20)
    return results


def drafts(workflow: Workflow, count: int) -> list[Policy]:
    active = active_policy(workflow)
    return [create_draft(workflow=workflow, rules=RULES, based_on=active, user=None) for _ in range(count)]


def test_it_works(workflow: Workflow, mara: User) -> None:
    first, second = drafts(workflow, 2)

    results = at_once(
        lambda: activate(policy=first, user=mara, now=NOW),
        lambda: activate(policy=second, user=mara, now=NOW),
    )

    assert sorted(type(result).__name__ for result in results) == [BasedOnAnother.__name__, Policy.__name__]
    assert Policy.objects.filter(workflow=workflow, status=Policy.Status.ACTIVE).count() == 1


def test_drafts_made_at_once_get_versions_of_their_own(workflow: Workflow) -> None:
    at_once(*[lambda: drafts(workflow, 1)] * 4)

    assert list(Policy.objects.order_by("version").values_list("version", flat=True)) == [1, 2, 3, 4, 5]


def test_two_go_back_once(workflow: Workflow, mara: User) -> None:
    activate(policy=drafts(workflow, 1)[0], user=mara, now=NOW)

    results = at_once(*[lambda: go_back(workflow=workflow, user=mara, now=NOW, seen_version=2)] * 2)

    assert sorted(type(result).__name__ for result in results) == [ChangedMeanwhile.__name__, Policy.__name__]
    active = active_policy(workflow)
    assert active is not None
    assert active.version == 1
