from __future__ import annotations

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client

from apps.accounts.models import User
from apps.items.models import Item, Mail
from apps.sources.models import ColumnMapping, Upload, UploadChunk
from apps.workflows.models import Role, Workflow
from tests.conftest import SignIn
from tests.factories import join
from tests.sources.uploads.doors import NEW, ROWS, checked, press, send, work

TWO_DATES = b"Nr;Betreff;Datum\r\n7;Hallo;03.04.2026\r\n"
MAIL = (
    b"From: Ann <ann@example.org>\r\nTo: us@example.org\r\nSubject: Hello\r\nMessage-ID: <a1@example.org>\r\n"
    b"Date: Mon, 30 Nov 2026 08:00:00 +0000\r\n\r\nCan I order ten?\r\n"
)
MBOX = b"".join(
    b"From ann@example.org Mon Nov 30 08:00:00 2026\r\n" + MAIL.replace(b"a1@", b"a%d@" % number) + b"\r\n"
    for number in range(6)
)


@pytest.fixture
def browser(mara: User, signed_in: SignIn) -> Client:
    return signed_in(mara)


def test_it_works(workflow: Workflow, mara: User, browser: Client) -> None:
    upload = checked(browser)
    assert (upload.status, upload.new, upload.refused, Item.objects.count()) == ("checked", 2, 1, 0)
    assert press(browser, upload, "import").status_code == 302
    work()
    upload.refresh_from_db()
    assert (upload.status, upload.new, upload.refused, upload.read) == ("done", 2, 1, 3)
    assert set(Item.objects.values_list("external_id", flat=True)) == {"1", "2"}
    assert not UploadChunk.objects.exists()
    assert ColumnMapping.objects.get().saved_by == mara


def test_the_same_file_again_has_nothing_new(browser: Client) -> None:
    press(browser, checked(browser), "import")
    work()
    again = checked(browser, ROWS.replace(b"Hello", b"Bye"))
    assert (again.new, again.same, again.changed) == (0, 1, 1)
    assert press(browser, again, "import").status_code == 409
    page = browser.get(f"/w/leads/sources/uploads/{again.pk}/").content.decode()
    assert "There is nothing new in it" in page
    assert "Columns as <bdi>mara</bdi> decided" in page


def test_a_second_press_is_no_second_import(browser: Client) -> None:
    upload = checked(browser)
    assert [press(browser, upload, "import").status_code for _ in range(2)] == [302, 302]
    work()
    assert press(browser, upload, "import").status_code == 302
    assert (upload.status, Item.objects.count()) == ("done", 2)


def test_what_was_changed_meanwhile_is_not_imported(browser: Client) -> None:
    upload = checked(browser)
    response = press(browser, upload, "import", seen="0" * 16)
    assert (response.status_code, upload.status) == (409, "checked")
    assert "Somebody changed" in response.content.decode()


def test_no_id_is_asked_and_may_be_the_content(browser: Client) -> None:
    upload = send(browser, b"text,colour\nHello,red\n")
    assert (upload.status, upload.started_at) == ("checked", None)
    said = {"column-0": "text", "column-1": "metadata"}
    refused = press(browser, upload, "decide", **said)
    assert (refused.status_code, "let the content be it" in refused.content.decode()) == (422, True)
    assert press(browser, upload, "decide", is_id_of_content="on", **said).status_code == 302
    work()
    upload.refresh_from_db()
    assert (upload.status, upload.new) == ("checked", 1)


def test_dates_that_can_be_read_in_two_ways_are_asked(browser: Client) -> None:
    upload = send(browser, TWO_DATES)
    said = {"column-0": "external_id", "column-1": "text", "column-2": "received_at"}
    assert press(browser, upload, "decide", **said).status_code == 422
    press(browser, upload, "decide", time_format="dmy", **said)
    work()
    press(browser, upload, "import")
    work()
    assert Item.objects.get().received_at.date().isoformat() == "2026-04-03"


def test_another_encoding_is_read_anew(browser: Client) -> None:
    upload = checked(browser, "id,text\n1,Привет мир\n".encode("cp866"), "old.csv")
    press(browser, upload, "decide", encoding="cp1251", **{"column-0": "external_id", "column-1": "text"})
    assert upload.understood["found"]["encoding"] == "cp1251"
    assert (upload.status, upload.stage, upload.new) == ("waiting", "check", 0)


def test_two_columns_cannot_be_the_id(browser: Client) -> None:
    said = {"column-0": "external_id", "column-1": "text", "column-2": "external_id"}
    response = press(browser, checked(browser), "decide", **said)
    assert (response.status_code, "Id is id already" in response.content.decode()) == (422, True)


def test_what_cannot_be_taken_says_why(browser: Client) -> None:
    upload = send(browser, b"PK\x03\x04 zipped", "sheet.xlsx")
    assert (upload.status, upload.error.startswith("The file is a spreadsheet")) == ("failed", True)
    assert browser.get(f"/w/leads/sources/uploads/{upload.pk}/").status_code == 200


@pytest.mark.parametrize(("content", "name", "new"), [(MAIL, "one.eml", 1), (MBOX, "all.mbox", 6)])
def test_mail(browser: Client, content: bytes, name: str, new: int) -> None:
    upload = checked(browser, content, name)
    assert (upload.status, upload.new, Mail.objects.count()) == ("checked", new, 0)
    press(browser, upload, "import")
    work()
    upload.refresh_from_db()
    assert (upload.status, upload.new, Mail.objects.count()) == ("done", new, new)


def test_a_picture_that_is_none(browser: Client) -> None:
    upload = checked(browser, b"\x89PNG\r\n\x1a\n broken", "scan.png")
    assert (upload.status, upload.new, upload.refused) == ("checked", 0, 1)
    assert upload.refusals.get().path == "file"


def test_several_files_are_an_upload_each(browser: Client) -> None:
    files = [SimpleUploadedFile(f"{number}.csv", ROWS) for number in range(3)]
    response = browser.post(NEW, {"file": files})
    assert (response["Location"], Upload.objects.count()) == ("/w/leads/sources/uploads/", 3)
    assert browser.get(response["Location"]).content.count(b"Waits for a worker") == 3


def test_another_workflows_upload_is_not_there(browser: Client, mara: User, other_workflow: Workflow) -> None:
    upload = checked(browser)
    join(mara, other_workflow, Role.MANAGER)
    elsewhere = f"/w/elsewhere/sources/uploads/{upload.pk}/"
    assert browser.get(elsewhere).status_code == 404
    assert {browser.post(f"{elsewhere}{each}/").status_code for each in ("decide", "import", "cancel")} == {
        404
    }
    assert browser.get(f"{elsewhere}refused.csv").status_code == 404


def test_the_report_runs_no_formula(browser: Client) -> None:
    upload = checked(browser, b'id,text\n=HYPERLINK("x"),\n')
    report = b"".join(browser.get(f"/w/leads/sources/uploads/{upload.pk}/refused.csv").streaming_content)  # type: ignore[attr-defined]  # the answer streams
    assert report.decode("utf-8-sig").splitlines()[0] == "row,place,field,reason,is_changed"
    assert b"\n=" not in report
    assert b"2," in report


def test_polling_ends_with_the_work(browser: Client) -> None:
    upload = send(browser)
    headers = {"HX-Request": "true", "HX-Target": "upload-live"}
    address = f"/w/leads/sources/uploads/{upload.pk}/"
    assert b"every 1s" in browser.get(address, headers=headers).content
    work()
    after = browser.get(address, headers=headers).content
    assert (b"every 1s" in after, b"<html" in after, b"Import 2 new" in after) == (False, False, True)


HOSTILE = {
    "empty.csv": b"",
    "nul.jsonl": b'{"id": "a\\u0000b", "text": "\\ud800 \\u0000", "k\\u0000": 1}\n',
    "deep.jsonl": b'{"id": 1, "text": "a", "x": ' + b"[" * 900 + b"]" * 900 + b"}\n",
    "deeper.jsonl": b'{"id": 1, "text": ' + b"[" * 100_000 + b"\n",
    "wide.csv": b",".join(b"c%d" % number for number in range(10_000)) + b"\n1,2\n",
    "twins.csv": b"id,id,text\n1,2,a\n",
    "header.csv": b"id,text\n",
    "lines.csv": b"\n" * 100_000,
    "binary.csv": bytes(range(256)) * 100,
    "quote.csv": b'id,text\n1,"never closed\n2,b\n',
    "half.csv": "id,text\n1,a".encode("utf-16")[:-1],
    "array.json": b'[{"id": 1}]',
    "no.mbox": b"From nobody\nSubject: x\n\nhello\n",
    "zip.eml": b"PK\x03\x04" + b"x" * 100,
    "broken.pdf": b"%PDF-1.4 nothing",
}


@pytest.mark.parametrize("name", HOSTILE)
def test_whatever_comes_is_told(browser: Client, name: str) -> None:
    """Looked at, or refused with a sentence; never a server error, never an item."""
    upload = send(browser, HOSTILE[name], name)
    work()
    upload.refresh_from_db()
    assert upload.status in ("checked", "failed")
    assert upload.error or upload.understood
    assert browser.get(f"/w/leads/sources/uploads/{upload.pk}/").status_code == 200
    assert not Item.objects.exists()
