from __future__ import annotations

import uuid
from datetime import datetime, timedelta

import pytest

from apps.accounts.models import User
from apps.core.db import ClockTimestamp
from apps.items.models import Item
from apps.sources.models import Upload, UploadChunk
from apps.sources.tables.importing import BATCH_ROWS
from apps.sources.uploads.selectors import seen_of, understanding_of
from apps.sources.uploads.services import ask_cancel, ask_import, sweep_uploads
from apps.sources.uploads.working import MOST_ATTEMPTS, claim_upload, work_on_next_upload
from apps.workflows.models import Workflow
from tests.conftest import SignIn
from tests.factories import NOW
from tests.sources.uploads.doors import checked, many, press, send, work

pytestmark = pytest.mark.slow

ROWS = 2 * BATCH_ROWS + 500


@pytest.fixture
def asked(workflow: Workflow, mara: User, signed_in: SignIn) -> Upload:
    """Looked at, and now to be imported: three batches."""
    upload = checked(signed_in(mara), many(ROWS))
    ask_import(workflow=workflow, upload_id=upload.pk, seen=seen_of(upload), user=mara, now=NOW)
    return upload


class Worker:
    """Calls `then` when it asks for the time after so many batches: what happens in the middle of its work."""

    def __init__(self, batches: int) -> None:
        self.left = batches + 1

    def now(self) -> datetime:
        self.left -= 1
        if self.left < 0:
            raise SystemExit("killed")
        return NOW


def test_it_works(asked: Upload) -> None:
    assert work_on_next_upload(now=lambda: NOW)
    asked.refresh_from_db()
    assert (asked.status, asked.new, asked.read, Item.objects.count()) == ("done", ROWS, ROWS, ROWS)
    assert asked.read_bytes == asked.size
    assert not work_on_next_upload(now=lambda: NOW)


def test_a_killed_worker_costs_nothing_and_doubles_nothing(asked: Upload) -> None:
    with pytest.raises(SystemExit):
        work_on_next_upload(now=Worker(batches=2).now)
    asked.refresh_from_db()
    assert (asked.status, asked.new, Item.objects.count()) == ("running", 2 * BATCH_ROWS, 2 * BATCH_ROWS)
    assert not work_on_next_upload(now=lambda: NOW)
    Upload.objects.update(claimed_until=ClockTimestamp() - timedelta(seconds=1))
    work()
    asked.refresh_from_db()
    assert (asked.status, asked.new, asked.same, Item.objects.count()) == ("done", ROWS, 0, ROWS)


def test_a_worker_that_wakes_up_late_writes_nothing(asked: Upload) -> None:
    moments = iter([NOW])

    def taken_over_meanwhile() -> datetime:
        if next(moments, None) is None:
            Upload.objects.update(claim_token=uuid.uuid4())
        return NOW

    assert work_on_next_upload(now=taken_over_meanwhile)
    asked.refresh_from_db()
    assert (asked.status, asked.new, Item.objects.count()) == ("running", 0, 0)


def test_what_kills_every_worker_is_given_up(asked: Upload) -> None:
    for _ in range(MOST_ATTEMPTS):
        assert claim_upload(now=NOW)
        Upload.objects.update(claimed_until=ClockTimestamp() - timedelta(seconds=1))
    assert claim_upload(now=NOW) is None
    asked.refresh_from_db()
    assert (asked.status, asked.error.startswith("Given up")) == ("failed", True)


def test_a_long_import_gives_way_and_goes_on(asked: Upload) -> None:
    seen = set()
    while work_on_next_upload(now=lambda: NOW, slice_s=-1):
        asked.refresh_from_db()
        seen.add((asked.status, asked.read, asked.attempts))
    slices = {("waiting", read, 0) for read in (BATCH_ROWS, 2 * BATCH_ROWS, ROWS)}
    assert seen == slices | {("done", ROWS, 1)}
    assert Item.objects.count() == ROWS


def test_stopped_in_the_middle_keeps_what_is_in(workflow: Workflow, asked: Upload) -> None:
    moments = iter([NOW])

    def stopped_meanwhile() -> datetime:
        if next(moments, None) is None:
            ask_cancel(workflow=workflow, upload_id=asked.pk, now=NOW)
        return NOW

    work_on_next_upload(now=stopped_meanwhile)
    asked.refresh_from_db()
    assert (asked.status, asked.new, Item.objects.count()) == ("cancelled", BATCH_ROWS, BATCH_ROWS)
    assert not UploadChunk.objects.exists()


def test_an_accent_on_the_last_line_tells_the_encoding(mara: User, signed_in: SignIn) -> None:
    last = "20000,Für die Größe der Öfen fehlen Maße\n".encode("cp1252")
    upload = checked(signed_in(mara), many(20_000) + last)
    assert (upload.status, upload.read, upload.repaired) == ("checked", 20_001, 0)
    assert understanding_of(upload).encoding == "cp1252"


def test_discarded_before_a_worker_came(mara: User, signed_in: SignIn) -> None:
    browser = signed_in(mara)
    upload = send(browser)
    assert press(browser, upload, "cancel").status_code == 302
    assert (upload.status, UploadChunk.objects.count()) == ("cancelled", 0)
    assert not work_on_next_upload(now=lambda: NOW)


def test_a_person_takes_the_file_from_the_worker(mara: User, signed_in: SignIn) -> None:
    browser = signed_in(mara)
    upload = send(browser)
    claim = claim_upload(now=NOW)
    assert claim is not None
    said = {"column-0": "external_id", "column-1": "text", "column-2": "ignored"}
    assert press(browser, upload, "decide", **said).status_code == 302
    assert (upload.status, upload.claim_token) == ("waiting", None)
    work()
    upload.refresh_from_db()
    assert (upload.status, upload.read) == ("checked", 3)


def test_the_oldest_goes_first(mara: User, signed_in: SignIn) -> None:
    first, second = (send(signed_in(mara)) for _ in range(2))
    claims = [claim_upload(now=NOW) for _ in range(3)]
    assert [claim and claim.upload.pk for claim in claims] == [first.pk, second.pk, None]


def test_what_is_of_no_more_use_is_swept(mara: User, signed_in: SignIn) -> None:
    browser = signed_in(mara)
    undecided, arriving = checked(browser), send(browser)
    Upload.objects.filter(pk=arriving.pk).update(status="uploading")
    sweep_uploads(now=undecided.created_at + timedelta(days=6))
    assert set(Upload.objects.values_list("status", flat=True)) == {"checked", "failed"}
    sweep_uploads(now=undecided.created_at + timedelta(days=8))
    assert set(Upload.objects.values_list("status", flat=True)) == {"cancelled", "failed"}
    assert not UploadChunk.objects.exists()
