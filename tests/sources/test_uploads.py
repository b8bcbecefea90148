from __future__ import annotations

from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client

from apps.accounts.models import User
from apps.items.models import Item
from apps.sources.models import ColumnMapping, Upload, UploadChunk
from apps.sources.selectors_uploads import seen_of
from apps.sources.uploading import work_on_next_upload
from apps.workflows.models import Workflow
from tests.conftest import SignIn
from tests.factories import NOW

ROWS = b"id,text,amount\r\n1,Hello,5\r\n2,\xd9\x85\xd8\xb1\xd8\xad\xd8\xa8\xd8\xa7,7\r\n3,,9\r\n"


def send(browser: Client, content: bytes = ROWS, name: str = "rows.csv") -> Upload:
    browser.post("/w/leads/sources/uploads/new/", {"file": SimpleUploadedFile(name, content)})
    return Upload.objects.latest("pk")


def work() -> None:
    while work_on_next_upload(now=lambda: NOW):
        pass


def press(browser: Client, upload: Upload, button: str, **said: str) -> int:
    upload.refresh_from_db()
    said.setdefault("seen", seen_of(upload))
    return browser.post(f"/w/leads/sources/uploads/{upload.pk}/{button}/", said).status_code


def test_it_works(workflow: Workflow, mara: User, signed_in: SignIn) -> None:
    browser = signed_in(mara)
    upload = send(browser)
    work()
    upload.refresh_from_db()
    assert (upload.status, upload.new, upload.refused, Item.objects.count()) == ("checked", 2, 1, 0)
    assert press(browser, upload, "import") == 302
    work()
    upload.refresh_from_db()
    assert (upload.status, upload.new, upload.refused, upload.read) == ("done", 2, 1, 3)
    assert set(Item.objects.values_list("external_id", flat=True)) == {"1", "2"}
    assert not UploadChunk.objects.exists()
    assert ColumnMapping.objects.get().saved_by == mara
    page = browser.get(f"/w/leads/sources/uploads/{upload.pk}/")
    assert page.status_code == 200
