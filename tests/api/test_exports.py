from __future__ import annotations

import hashlib
import uuid
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from apps.api.exporting import CHUNK_BYTES, MOST_ATTEMPTS, claim_export, in_chunks, make_waiting_exports
from apps.api.models import Export, ExportChunk
from apps.api.tasks import make_exports
from apps.core.db import ClockTimestamp
from apps.workflows.models import Workflow
from tests.api.conftest import Caller
from tests.api.test_labels import make_label
from tests.factories import NOW

POST = "/workflows/leads/exports"


def now() -> datetime:
    return NOW


def ask(ivan: Caller, **body: Any) -> dict[str, Any]:
    response = ivan.post(POST, body)
    assert response.status_code == 202
    answer: dict[str, Any] = response.json()
    return answer


def test_it_works(workflow: Workflow, ivan: Caller) -> None:
    make_label(workflow, "spam")
    make_label(workflow, "lead")
    asked = ask(ivan, format="csv", query={"value": "spam"})
    assert (asked["status"], asked["file_url"]) == ("pending", None)
    make_exports()
    done = ivan.client.get(asked["url"]).json()
    file = ivan.client.get(done["file_url"])
    content = file.getvalue()
    assert (done["status"], done["row_count"], done["bytes"]) == ("done", 1, len(content))
    assert done["sha256"] == hashlib.sha256(content).hexdigest()
    assert done["manifest"]["question_set_versions"] == [1]
    direct = ivan.get("/workflows/leads/labels/export", format="csv", value="spam")
    assert content == direct.getvalue()
    assert file.headers["Content-Length"] == str(len(content))


def test_nothing_to_export_is_an_empty_file(ivan: Caller) -> None:
    asked = ask(ivan)
    make_waiting_exports(now=now)
    done = ivan.get(f"/exports/{asked['id']}").json()
    assert (done["status"], done["row_count"], done["manifest"]["policy_versions"]) == ("done", 0, [])
    assert done["manifest"]["why_empty"].startswith("There are no settled labels yet")
    assert ivan.get(f"/exports/{asked['id']}/file").getvalue() == b""


def test_a_file_that_is_not_made_yet(ivan: Caller) -> None:
    response = ivan.get(f"/exports/{ask(ivan)['id']}/file")
    assert (response.status_code, response.json()["error"]["code"]) == (409, "not_ready")
    assert response.headers["Retry-After"] == "2"


@pytest.mark.parametrize(
    ("body", "path"),
    [
        ({"format": "parquet"}, "format"),
        ({"format": 7}, "format"),
        ({"query": {"since": "x"}}, "query.since"),
        ({"query": {"colour": "red"}}, "query.colour"),
        ({"query": {"blind": True}}, "query.blind"),
        ({"query": []}, "query"),
        ({"query": {"value": "a\x00"}}, "query.value"),
        ({"colour": "red"}, "colour"),
    ],
)
def test_what_is_wrong_is_named(ivan: Caller, body: dict[str, Any], path: str) -> None:
    response = ivan.post(POST, body)
    assert response.status_code == 422
    assert [each["path"] for each in response.json()["error"]["fields"]] == [path]
    assert not Export.objects.exists()


@pytest.mark.parametrize("body", ["[]", "null", "7"])
def test_a_body_that_is_no_object(ivan: Caller, body: str) -> None:
    assert ivan.post(POST, body).status_code == 422


def test_a_dead_workers_export_is_made_by_another(ivan: Caller) -> None:
    ask(ivan)
    assert claim_export(now=NOW) is not None
    assert claim_export(now=NOW) is None
    Export.objects.update(claimed_until=ClockTimestamp() - timedelta(seconds=1))
    assert make_waiting_exports(now=now) == 1
    assert Export.objects.get().status == "done"


def test_after_enough_attempts_it_is_given_up(ivan: Caller) -> None:
    asked = ask(ivan)
    Export.objects.update(attempts=MOST_ATTEMPTS)
    assert make_waiting_exports(now=now) == 0
    answer = ivan.get(f"/exports/{asked['id']}/file")
    assert (answer.status_code, answer.json()["error"]["code"]) == (409, "export_failed")


def test_a_worker_that_wakes_up_late_writes_nothing(workflow: Workflow, ivan: Caller) -> None:
    make_label(workflow)
    ask(ivan)

    def taken_over_meanwhile() -> datetime:
        Export.objects.filter(status="running").update(claim_token=uuid.uuid4())
        return NOW

    make_waiting_exports(now=taken_over_meanwhile)
    assert Export.objects.get().status == "running"
    assert not ExportChunk.objects.exists()


def test_another_workflows_export_is_not_there(ivan: Caller, stranger: Caller) -> None:
    asked = ask(ivan)
    assert stranger.get(f"/exports/{asked['id']}").status_code == 404
    assert stranger.get(f"/exports/{asked['id']}/file").status_code == 404


def test_chunks_are_bounded_and_the_same_bytes() -> None:
    pieces = [b"a" * 3, b"", b"b" * (2 * CHUNK_BYTES), b"c"]
    chunks = list(in_chunks(pieces))
    assert [len(chunk) for chunk in chunks] == [CHUNK_BYTES, CHUNK_BYTES, 4]
    assert b"".join(chunks) == b"".join(pieces)


@pytest.mark.usefixtures("workflow")
def test_the_manifest_says_when(ivan: Caller) -> None:
    ask(ivan)
    make_waiting_exports(now=lambda: datetime(2026, 12, 1, tzinfo=UTC))
    manifest = Export.objects.get().manifest
    assert manifest is not None
    assert manifest["made_at"] == "2026-12-01T00:00:00Z"
