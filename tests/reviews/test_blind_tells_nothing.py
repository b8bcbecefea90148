"""Of a blind item every page and every answer of the API is the same, whatever the model said of it."""

from __future__ import annotations

import re
from typing import Any

import pytest
from django.db import connection, transaction
from django.test import Client

from apps.accounts.models import User
from apps.reviews.models import Lease, ReviewTask
from apps.workflows.models import Role, Scope, Workflow
from apps.workflows.services import create_token
from tests.conftest import SignIn
from tests.factories import join, make_task

PAGES = (
    "review/",
    "review/?label=spam",
    "review/?reason=low_confidence",
    "review/queue/",
    "review/queue/?label=spam",
    "review/queue/?label=lead",
    "review/queue/?reason=low_confidence",
    "review/queue/{task}/",
    "items/",
    "items/?label=spam",
    "items/{item}/",
    "items/{item}/?whole=1",
    "items/{item}/rest/?from=0",
)
API = (
    "workflows/leads/items",
    "workflows/leads/items?label=spam",
    "items/{item}",
    "workflows/leads/labels",
    "workflows/leads/labels/export?format=jsonl",
)
# What differs from one request to the next.
_FRESH = re.compile(
    r'nonce[^>]*|csrf[^>]*|hx-headers[^>]*|content="[^"]{40,}"|[0-9a-f]{8}-[0-9a-f-]{27}|\d\d:\d\d(:[\d.]+)?|\d+ times?'
)


def told(client: Client, secret: str, workflow: Workflow, label: str, **more: Any) -> dict[str, str]:
    """What is read while such a task is all there is."""
    with transaction.atomic():
        # Then the ids are the same each time.
        for table in ("items_item", "items_decision", "items_route", "reviews_reviewtask", "reviews_lease"):
            with connection.cursor() as cursor:
                cursor.execute("SELECT setval(pg_get_serial_sequence(%s, 'id'), 5000, false)", [table])
        task = make_task(workflow, label=label, p=0.7 if label == "spam" else 0.6, **more)
        found = _read(client, secret, task)
        transaction.set_rollback(True)
    return found


def _read(client: Client, secret: str, task: ReviewTask) -> dict[str, str]:
    found = {}
    names = {"task": task.pk, "item": task.item_id}
    for page in PAGES:
        found[page] = client.get("/w/leads/" + page.format(**names))
        Lease.objects.all().delete()
    key = {"Authorization": f"Bearer {secret}"}
    for path in API:
        found[path] = Client().get("/api/v1/" + path.format(**names), headers=key)
    assert {name: each.status_code for name, each in found.items() if each.status_code != 200} == {}
    return {name: _FRESH.sub("", _text(each)) for name, each in found.items()}


def _text(answer: object) -> str:
    body = b"".join(answer.streaming_content) if getattr(answer, "streaming", False) else answer.content  # type: ignore[attr-defined]  # both kinds of answers
    return str(body, "utf-8")


@pytest.mark.parametrize("role", [Role.REVIEWER, Role.MANAGER])
@pytest.mark.parametrize(
    "more", [{"reviews_wanted": 2}, {"kind": "audit"}, {"kind": "shadow"}, {"blind": True}]
)
def test_it_works(
    workflow: Workflow, nora: User, signed_in: SignIn, role: Role, more: dict[str, Any]
) -> None:
    join(nora, workflow, role)
    _, secret = create_token(workflow=workflow, user=nora, name="x", scopes=[Scope.READ, Scope.EXPORT])
    before = told(signed_in(nora), secret, workflow, "spam", **more)
    after = told(signed_in(nora), secret, workflow, "lead", **more)
    assert [name for name in before if before[name] != after[name]] == []


def test_what_is_not_blind_is_told(workflow: Workflow, rosa: User, signed_in: SignIn) -> None:
    _, secret = create_token(workflow=workflow, user=rosa, name="x", scopes=[Scope.READ, Scope.EXPORT])
    before = told(signed_in(rosa), secret, workflow, "spam")
    after = told(signed_in(rosa), secret, workflow, "lead")
    assert {"review/", "review/queue/", "items/{item}/"} <= {
        name for name in before if before[name] != after[name]
    }
