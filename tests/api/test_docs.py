from __future__ import annotations

import re
from typing import Any

import pytest
from django.test import Client

from apps.api.api import openapi
from apps.api.shapes import ItemIn
from apps.pipeline import limits
from apps.sources.posted import FIELDS

CALLS = [(path, method, call) for path, calls in openapi()["paths"].items() for method, call in calls.items()]


def references(value: Any) -> list[str]:
    if isinstance(value, dict):
        own = [value["$ref"]] if isinstance(value.get("$ref"), str) else []
        return own + [ref for inner in value.values() for ref in references(inner)]
    return [ref for inner in value for ref in references(inner)] if isinstance(value, list) else []


def test_it_works(client: Client) -> None:
    document = client.get("/api/v1/openapi.json").json()
    assert document["openapi"].startswith("3.")
    assert {path.removeprefix("/api/v1") for path in document["paths"]} == {
        "/workflows/{slug}/items",
        "/items/{item_id}",
        "/workflows/{slug}/labels",
        "/workflows/{slug}/labels/export",
        "/workflows/{slug}/exports",
        "/exports/{export_id}",
        "/exports/{export_id}/file",
        "/workflows/{slug}/metrics",
    }


@pytest.mark.parametrize(("path", "method", "call"), CALLS)
def test_each_call_says_what_it_answers(path: str, method: str, call: dict[str, Any]) -> None:
    statuses = set(map(int, call["responses"]))
    assert {401, 403, 404, 429, 503} <= statuses
    assert statuses & {200, 201, 202}
    assert call["security"]
    assert call["x-scope"] in {"ingest", "read", "export"}
    assert {each["name"] for each in call["parameters"] if each["in"] == "path"} == set(
        re.findall(r"{(\w+)}", path)
    )


def test_every_reference_leads_somewhere() -> None:
    document = openapi()
    known = {f"#/components/schemas/{name}" for name in document["components"]["schemas"]}
    assert set(references(document)) <= known


def test_the_documented_fields_of_an_item_are_those_that_are_read() -> None:
    assert tuple(ItemIn.model_fields) == FIELDS


def test_the_page_tells_every_call_and_limit(client: Client) -> None:
    page = client.get("/api/v1/docs").content.decode()
    for path, _, call in CALLS:
        assert path in page
        assert call["summary"].replace("'", "&#x27;") in page
    assert f"{limits.MAX_BATCH:,}" in page
    assert f"{limits.MAX_API_BODY_BYTES:,}" in page


def test_the_page_loads_nothing_from_outside(client: Client) -> None:
    response = client.get("/api/v1/docs")
    addresses = re.findall(r'(?:src|href)="([^"]+)"', response.content.decode())
    assert all(address.startswith(("/", "#", "data:")) for address in addresses)
    assert b" style=" not in response.content
