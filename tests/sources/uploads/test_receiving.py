from __future__ import annotations

import hashlib
import tracemalloc
from copy import copy

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.test.client import BOUNDARY, MULTIPART_CONTENT

from apps.accounts.models import User
from apps.pipeline import limits
from apps.sources.models import Upload, UploadChunk
from apps.sources.uploads.receiving import CHUNK_BYTES
from apps.workflows.models import Workflow
from tests.conftest import SignIn
from tests.factories import NOW
from tests.sources.uploads.doors import NEW, send

HEAD = (
    f'--{BOUNDARY}\r\nContent-Disposition: form-data; name="file"; filename="%s"\r\n'
    "Content-Type: text/csv\r\n\r\n"
)
END = f"\r\n--{BOUNDARY}--\r\n".encode()


@pytest.fixture
def browser(mara: User, signed_in: SignIn) -> Client:
    return signed_in(mara)


def post(browser: Client, body: bytes) -> int:
    return browser.generic("POST", NEW, body, content_type=MULTIPART_CONTENT).status_code


def test_it_works(browser: Client) -> None:
    content = b"id,text\n" + b"1,two\n" * 400_000
    upload = send(browser, content)
    assert (upload.size, upload.sha256) == (len(content), hashlib.sha256(content).hexdigest())
    pieces = [bytes(each.content) for each in UploadChunk.objects.order_by("position")]
    assert b"".join(pieces) == content
    assert {len(each) for each in pieces[:-1]} == {CHUNK_BYTES}


def test_memory_does_not_grow_with_the_file(browser: Client) -> None:
    body = (HEAD % "big.csv").encode() + b"id,text\n" + b"1,two\n" * 2_000_000 + END
    post(
        browser, (HEAD % "small.csv").encode() + b"id,text\n1,two\n" + END
    )  # the first of a process loads every view
    tracemalloc.start()
    try:
        post(browser, body)
        assert tracemalloc.get_traced_memory()[1] < 12 * 1024 * 1024 + len(body)
    finally:
        tracemalloc.stop()


def test_one_that_was_cut_off_is_told(browser: Client) -> None:
    post(browser, (HEAD % "half.csv").encode() + b"id,text\n1,tw")
    upload = Upload.objects.get()
    assert (upload.status, upload.file_name) == ("failed", "half.csv")
    assert "cut off" in upload.error
    assert not UploadChunk.objects.exists()


def test_without_its_token_nothing_stays(mara: User) -> None:
    browser = Client(enforce_csrf_checks=True)
    browser.force_login(mara)
    assert post(browser, (HEAD % "a.csv").encode() + b"id,text\n1,a\n" + END) == 403
    assert not Upload.objects.exists()


def test_with_its_token_it_is_taken(mara: User) -> None:
    browser = Client(enforce_csrf_checks=True)
    browser.force_login(mara)
    browser.get(NEW)
    token = browser.cookies["fermata_csrf"].value
    field = f'--{BOUNDARY}\r\nContent-Disposition: form-data; name="csrfmiddlewaretoken"\r\n\r\n{token}\r\n'
    assert post(browser, (field + HEAD % "a.csv").encode() + b"id,text\n1,a\n" + END) == 302


def test_too_large_is_said_before_it_is_read(browser: Client) -> None:
    headers = {"Content-Length": str(2 * limits.MAX_IMPORT_FILE_BYTES + 1)}
    response = browser.generic("POST", NEW, b"", content_type=MULTIPART_CONTENT, headers=headers)
    assert (response.status_code, "200 MB" in response.content.decode()) == (413, True)


def test_no_file(browser: Client) -> None:
    response = browser.post(NEW, {"file": ""})
    assert (response.status_code, "Choose a file first" in response.content.decode()) == (422, True)


def test_a_reviewer_may_not(rosa: User, signed_in: SignIn) -> None:
    assert post(signed_in(rosa), (HEAD % "a.csv").encode() + b"id\n1\n" + END) == 403
    assert not Upload.objects.exists()


def test_a_hostile_name(browser: Client) -> None:
    name = "../../etc/\u202egnp.exe" + "x" * 400 + "<b>.csv"
    post(browser, (HEAD % name).encode() + b"id,text\n1,a\n" + END)
    upload = Upload.objects.get()
    assert ("/" in upload.file_name, len(upload.file_name)) == (False, 255)
    assert b"<b>.csv" not in browser.get(f"/w/leads/sources/uploads/{upload.pk}/").content


def test_too_many_that_nobody_decided_about(browser: Client, workflow: Workflow, mara: User) -> None:
    lying = Upload(workflow=workflow, created_by=mara, file_name="a.csv", status="checked", created_at=NOW)
    Upload.objects.bulk_create(copy(lying) for _ in range(limits.MAX_OPEN_UPLOADS))
    assert post(browser, (HEAD % "b.csv").encode() + b"id,text\n1,a\n" + END) == 409
    assert not Upload.objects.filter(file_name="b.csv").exists()


def test_more_files_than_go_at_once(browser: Client) -> None:
    files = [SimpleUploadedFile(f"{number}.csv", b"id,text\n1,a\n") for number in range(25)]
    page = browser.post(NEW, {"file": files}, follow=True).content.decode()
    assert Upload.objects.filter(status="waiting").count() == limits.MAX_UPLOADS_AT_ONCE
    assert "Only the first 20 files were taken" in page
