"""Who may call what: every call of the API, for every kind of token and for a browser. A call without a line fails."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from apps.accounts.models import User
from apps.api.exporting import request_export
from apps.items.models import Item
from apps.workflows.models import Role, Scope, Workflow
from apps.workflows.services import create_token
from tests.architecture.test_access import URLS
from tests.factories import join, make_task, make_user

# The scope that opens a call; "public" asks for nothing.
EXPECTED = {
    "api:items_add": Scope.INGEST,
    "api:items_list": Scope.READ,
    "api:item_story": Scope.READ,
    "api:labels_list": Scope.READ,
    "api:labels_export": Scope.EXPORT,
    "api:exports_add": Scope.EXPORT,
    "api:export_show": Scope.EXPORT,
    "api:export_file": Scope.EXPORT,
    "api:metrics_show": Scope.READ,
    "api:openapi": "public",
    "api:docs": "public",
    "api:nothing_here": "public",
    "api:healthz": "public",
    "api:readyz": "public",
    "api:metrics": "public",  # from loopback only, or with METRICS_TOKEN: tests/api/test_gauges.py
}
POSTED = {"api:items_add", "api:exports_add"}
CALLS = sorted(name for name, scope in EXPECTED.items() if scope != "public")


def test_every_call_has_an_expectation() -> None:
    assert {name for name in URLS if name.startswith("api:")} == set(EXPECTED)


@pytest.fixture
def item(workflow: Workflow) -> Item:
    return make_task(workflow).item


def ask(
    name: str, workflow: Workflow, item: Item, headers: dict[str, str], client: Client | None = None
) -> Any:
    owner = make_user("owner")
    export = request_export(workflow=workflow, user=owner, query={}, format="jsonl", now=timezone.now())
    values = {"slug": workflow.slug, "item_id": item.pk, "export_id": export.pk}
    url = reverse(name, kwargs={key: values[key] for key in URLS[name].pattern.converters})
    client = client or Client()
    if name in POSTED:
        return client.post(url, {"format": "jsonl"}, content_type="application/json", headers=headers)
    return client.get(url, headers=headers)


def bearer(workflow: Workflow, user: User, *scopes: str) -> dict[str, str]:
    _, secret = create_token(workflow=workflow, user=user, name="test", scopes=scopes)
    return {"Authorization": f"Bearer {secret}"}


@pytest.mark.parametrize("name", CALLS)
def test_a_token_with_the_scope_opens_it(name: str, workflow: Workflow, item: Item, mara: User) -> None:
    response = ask(name, workflow, item, bearer(workflow, mara, EXPECTED[name]))
    # 404 and 409: an export that is not made yet; 422: this body is nobody's item.
    assert response.status_code in (200, 202, 404, 409, 422)
    assert response.status_code != 404 or name == "api:export_file"


@pytest.mark.parametrize("name", CALLS)
def test_a_token_with_the_other_scopes_does_not(
    name: str, workflow: Workflow, item: Item, mara: User
) -> None:
    others = [scope for scope in Scope.values if scope != EXPECTED[name]]
    assert ask(name, workflow, item, bearer(workflow, mara, *others)).status_code == 403


@pytest.mark.parametrize("name", CALLS)
def test_a_token_of_another_workflow_finds_nothing(
    name: str, workflow: Workflow, other_workflow: Workflow, item: Item, mara: User
) -> None:
    foreign = make_user("foreign")
    join(foreign, other_workflow, Role.MANAGER)
    headers = bearer(other_workflow, foreign, *Scope.values)
    assert ask(name, workflow, item, headers).status_code == 404


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.parametrize(
    "headers", [{}, {"Authorization": "Bearer nonsense"}, {"Authorization": "Basic eDp5"}]
)
def test_without_a_valid_token_nothing_opens(
    name: str, headers: dict[str, str], workflow: Workflow, item: Item, mara: User
) -> None:
    signed_in = Client()
    signed_in.force_login(mara)
    assert ask(name, workflow, item, headers, signed_in).status_code == 401
