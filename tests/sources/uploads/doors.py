"""Uploads for tests, through the product's own doors: the page takes them, a worker's one function works on them."""

from __future__ import annotations

from django.core.files.uploadedfile import SimpleUploadedFile
from django.http import HttpResponse
from django.test import Client

from apps.sources.models import Upload
from apps.sources.uploads.selectors import seen_of
from apps.sources.uploads.working import work_on_next_upload
from tests.factories import NOW

NEW = "/w/leads/sources/uploads/new/"
ROWS = "id,text,amount\r\n1,Hello,5\r\n2,مرحبا,7\r\n3,,9\r\n".encode()


def send(browser: Client, content: bytes = ROWS, name: str = "rows.csv") -> Upload:
    browser.post(NEW, {"file": SimpleUploadedFile(name, content)})
    return Upload.objects.latest("pk")


def work(slice_s: float = 60) -> None:
    while work_on_next_upload(now=lambda: NOW, slice_s=slice_s):
        pass


def checked(browser: Client, content: bytes = ROWS, name: str = "rows.csv") -> Upload:
    upload = send(browser, content, name)
    work()
    upload.refresh_from_db()
    return upload


def press(browser: Client, upload: Upload, button: str, **said: str) -> HttpResponse:
    """As a person who sees the upload as it is now, unless `seen` is said."""
    upload.refresh_from_db()
    form = {"seen": seen_of(upload)} | said
    response = browser.post(f"/w/leads/sources/uploads/{upload.pk}/{button}/", form)
    upload.refresh_from_db()
    return response  # type: ignore[return-value]  # the test client's own class of answers


def many(rows: int) -> bytes:
    return b"id,text\n" + b"".join(b"%d,text of %d\n" % (number, number) for number in range(rows))
