"""A hundred callers with the same item, over HTTP and real connections."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from http.client import HTTPConnection

import pytest
from pytest_django.live_server_helper import LiveServer

from apps.items.models import Item, ItemContent
from apps.workflows.models import Role
from apps.workflows.services import create_token
from tests.factories import join, make_user, make_workflow

CALLERS = 100


@pytest.mark.slow
@pytest.mark.django_db(transaction=True)
def test_it_works(live_server: LiveServer) -> None:
    workflow = make_workflow()
    ivan = make_user("ivan")
    join(ivan, workflow, Role.REVIEWER)
    _, secret = create_token(workflow=workflow, user=ivan, name="t", scopes=["ingest"])

    def post(_: int) -> tuple[int, bool, int]:
        connection = HTTPConnection(live_server.thread.host, live_server.thread.port, timeout=60)
        headers = {"Authorization": f"Bearer {secret}", "Content-Type": "application/json"}
        body = json.dumps({"external_id": "same", "state": {"body": "the same"}})
        connection.request("POST", "/api/v1/workflows/leads/items", body, headers)
        response = connection.getresponse()
        answer = json.loads(response.read())
        connection.close()
        return response.status, answer["created"], answer["id"]

    # Twenty at once: as many connections as a shared test server may be asked for.
    with ThreadPoolExecutor(20) as pool:
        answers = list(pool.map(post, range(CALLERS)))
    assert sorted(status for status, _, _ in answers) == [200] * (CALLERS - 1) + [201]
    assert sum(created for _, created, _ in answers) == 1
    assert len({item_id for _, _, item_id in answers}) == 1
    assert (Item.objects.count(), ItemContent.objects.count()) == (1, 1)
