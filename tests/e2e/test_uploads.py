"""A manager hands a file over in a real browser: seen, decided about, imported by the demo's own worker."""

from __future__ import annotations

import signal
import socket
import uuid
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import FilePayload, Page, expect

from tests.e2e.conftest import Visitors
from tests.e2e.looks import problems_of
from tests.e2e.running import ROOT, Demo, wait_for
from tests.e2e.test_chaos import workers

pytestmark = pytest.mark.e2e
NEW = "/w/messages-ar/sources/uploads/new/"


def a_file(
    *, columns: str = "رقم التذكرة;النص;التاريخ", name: str = "رسائل.csv", more: str = ""
) -> FilePayload:
    run = uuid.uuid4().hex[:8]
    rows = "".join(
        f"{run}-{number};متى يصل طلبي رقم {number}؟;30.11.2026 09:{number:02}\r\n" for number in range(40)
    )
    return {
        "name": name,
        "mimeType": "text/csv",
        "buffer": f"{columns}\r\n{rows}{more}".encode("cp1256", "replace"),
    }


def send(page: Page, file: FilePayload, slug: str = "messages-ar") -> None:
    page.goto(NEW.replace("messages-ar", slug))
    page.locator("#file").set_input_files([file])
    page.get_by_role("button", name="Upload and check").click()
    page.wait_for_url("**/uploads/*/")


def test_it_works(visitors: Visitors) -> None:
    page = visitors("mara")
    send(page, a_file(more="bad;;\r\n"))
    importing = page.get_by_role("button", name="Import 40 new")
    expect(importing).to_be_visible()
    expect(page.get_by_label("Encoding")).to_contain_text("Arabic (Windows-1256)")
    assert problems_of(page) == []
    importing.click()
    expect(page.get_by_text("Imported", exact=True)).to_be_visible()
    expect(page.locator("#upload-live")).to_contain_text("40brought in")
    assert problems_of(page) == []


def test_a_question_is_asked_before_anything_is_read(visitors: Visitors) -> None:
    page = visitors("mara")
    send(page, a_file(columns="a;b;c"))
    expect(page.get_by_text("Needs an answer")).to_be_visible()
    assert problems_of(page) == []
    page.get_by_role("button", name="Check the file").click()
    expect(page.get_by_role("alert")).to_contain_text("Say which column is the text")
    assert problems_of(page) == []
    page.get_by_label("What the column a is").select_option("Id")
    page.get_by_label("What the column b is").select_option("Text to decide about")
    page.get_by_role("button", name="Check the file").click()
    expect(page.get_by_role("button", name="Import 40 new")).to_be_visible()
    page.get_by_role("button", name="Discard this file").click()
    expect(page.get_by_text("Cancelled", exact=True)).to_be_visible()


def test_without_scripts(visitors: Visitors) -> None:
    page = visitors("mara", java_script_enabled=False)
    send(page, a_file())
    for _ in range(20):
        if page.get_by_role("button", name="Import 40 new").is_visible():
            break
        page.wait_for_timeout(500)
        page.reload()
    page.get_by_role("button", name="Import 40 new").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("رسائل.csv")


def test_too_large_is_told_before_it_is_sent(visitors: Visitors) -> None:
    page = visitors("mara")
    page.goto(NEW)
    page.evaluate("document.querySelector('[data-upload]').dataset.mostBytes = 100")
    page.locator("#file").set_input_files([a_file()])
    page.get_by_role("button", name="Upload and check").click()
    expect(page.get_by_role("alert")).to_contain_text("a file may have")
    assert problems_of(page) == []


def test_a_line_that_breaks_is_told(visitors: Visitors) -> None:
    page = visitors("mara")
    page.route(
        "**/uploads/new/",
        lambda route: route.abort() if route.request.method == "POST" else route.continue_(),
    )
    page.goto(NEW)
    page.locator("#file").set_input_files([a_file()])
    page.get_by_role("button", name="Upload and check").click()
    expect(page.get_by_role("alert")).to_contain_text("The connection broke off")


@pytest.mark.parametrize("address", [NEW, "/w/messages-ar/sources/uploads/"])
def test_looks(visitors: Visitors, address: str) -> None:
    page = visitors("mara")
    page.goto(address)
    assert problems_of(page) == []


def test_a_browser_that_goes_away_in_the_middle(demo: Demo, visitors: Visitors) -> None:
    page = visitors("mara")
    page.goto(NEW)
    cookies = "; ".join(f"{each['name']}={each['value']}" for each in page.context.cookies())
    token = page.locator("form[data-upload] [name=csrfmiddlewaretoken]").input_value()
    name = f"half-{uuid.uuid4().hex[:8]}.csv"
    body = (
        f'--x\r\nContent-Disposition: form-data; name="csrfmiddlewaretoken"\r\n\r\n{token}\r\n'
        f'--x\r\nContent-Disposition: form-data; name="file"; filename="{name}"\r\n\r\nid,text\r\n1,on'
    )
    place = urlsplit(demo.url)
    head = (
        f"POST {NEW} HTTP/1.1\r\nHost: {place.netloc}\r\nOrigin: {demo.url}\r\nCookie: {cookies}\r\n"
        f"Content-Type: multipart/form-data; boundary=x\r\nContent-Length: {len(body) + 1000}\r\n\r\n"
    )
    with socket.create_connection((place.hostname, place.port or 80)) as line:
        line.sendall((head + body).encode())
    told = "SELECT error FROM sources_upload WHERE file_name = %s AND status = 'failed'"
    wait_for(lambda: demo.query(told, name), 30, "the upload to be told as cut off")
    assert "cut off" in demo.query(told, name)[0][0]


@pytest.mark.chaos
def test_a_worker_killed_in_the_middle(demo: Demo, visitors: Visitors, tmp_path: Path) -> None:
    """Another one goes on behind what is in: every row once, and the count says so."""
    slug, rows = f"kill-{uuid.uuid4().hex[:6]}", 20_000
    file = tmp_path / "kill.toml"
    leads = (ROOT / "apps/demo/samples/leads.toml").read_text(encoding="utf-8")
    file.write_text(leads.replace('slug = "leads"', f'slug = "{slug}"'), encoding="utf-8")
    demo.install(slug, file)
    of_it = "workflow_id = (SELECT id FROM workflows_workflow WHERE slug = %s)"
    # Nothing is decided here: the demo's other tests need its model.
    demo.query(f"UPDATE workflows_questionset SET is_current = false WHERE {of_it}", slug)  # noqa: S608 - a constant
    page = visitors("mara")
    content = "id,text\n" + "".join(f"{number},text of {number}\n" for number in range(rows))
    send(page, {"name": "many.csv", "mimeType": "text/csv", "buffer": content.encode()}, slug)
    page.get_by_role("button", name="Import").click()
    state = f"SELECT status, stage, read, new FROM sources_upload WHERE {of_it}"  # noqa: S608 - a constant

    def is_in_the_middle() -> bool:
        status, stage, read, _ = demo.query(state, slug)[0]
        return bool((status, stage) == ("running", "import") and 0 < read < rows)

    wait_for(is_in_the_middle, 30, "the import to be in the middle")
    for process in workers(demo):
        process.send_signal(signal.SIGKILL)
    assert demo.query(state, slug)[0][2] < rows
    demo.query(f"UPDATE sources_upload SET claimed_until = clock_timestamp() WHERE {of_it}", slug)  # noqa: S608 - a constant
    wait_for(
        lambda: demo.query(state, slug) == [("done", "import", rows, rows)], 90, "another worker to end it"
    )
    assert demo.query(f"SELECT count(*) FROM items_item WHERE {of_it}", slug) == [(rows,)]  # noqa: S608 - a constant
    expect(page.get_by_text("Imported", exact=True)).to_be_visible()
