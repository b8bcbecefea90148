from __future__ import annotations

import json

import pytest

from apps.reviews.exports import export_labels, parse_label_query
from apps.workflows.models import Workflow
from tests.api.conftest import Caller
from tests.api.test_labels import make_label

GET = "/workflows/leads/labels/export"


def test_it_works(workflow: Workflow, ivan: Caller) -> None:
    label = make_label(workflow)
    response = ivan.get(GET)
    row = json.loads(response.getvalue())
    assert (row["label_id"], row["value"]) == (label.pk, "spam")
    assert response.headers["Content-Type"] == "application/x-ndjson; charset=utf-8"
    assert response.headers["Content-Disposition"] == 'attachment; filename="leads-labels.jsonl"'


@pytest.mark.parametrize(
    "query", ["format=csv&bom=1", "format=jsonl&value=spam", "format=systemone", "format=csv"]
)
def test_the_bytes_of_the_one_writer(workflow: Workflow, ivan: Caller, query: str) -> None:
    make_label(workflow, "spam")
    make_label(workflow, "lead")
    params = dict(part.split("=") for part in query.split("&"))
    expected = export_labels(workflow=workflow, query=parse_label_query(params), format=params["format"])
    assert ivan.get(GET, **params).getvalue() == b"".join(expected)


@pytest.mark.parametrize(
    "params", [{"format": "parquet"}, {"format": "x"}, {"since": "x"}, {"colour": "red"}, {"bom": "1"}]
)
def test_a_wrong_parameter_is_named(ivan: Caller, params: dict[str, str]) -> None:
    response = ivan.get(GET, **params)
    assert response.status_code == 422
    assert [each["path"] for each in response.json()["error"]["fields"]] == list(params)
