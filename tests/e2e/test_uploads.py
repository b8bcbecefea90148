"""A manager hands a file over in a real browser: seen, decided about, imported by the demo's own worker."""

from __future__ import annotations

import uuid

import pytest
from playwright.sync_api import FilePayload, Page, expect

from tests.e2e.conftest import Visitors
from tests.e2e.looks import problems_of

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


def send(page: Page, file: FilePayload) -> None:
    page.goto(NEW)
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
