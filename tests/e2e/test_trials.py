"""A manager tries models on labelled examples, one of them labelled blind by keys; the demo's own worker asks."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import FilePayload, Page, expect

from tests.e2e.conftest import Visitors
from tests.e2e.looks import problems_of

pytestmark = pytest.mark.e2e
NEW = "/w/messages-ar/calibration/trials/new/"
ROWS = "id,text,present\n1,متى يصل طلبي؟,\n2,اربح جائزة الآن,spam\n"


def send(page: Page, rows: str = ROWS) -> None:
    page.goto(NEW)
    file: FilePayload = {"name": "a.csv", "mimeType": "text/csv", "buffer": rows.encode()}
    page.locator("#id_file").set_input_files([file])
    page.get_by_role("button", name="Put it together").click()
    page.wait_for_url(re.compile(r"/trials/\d+/$"))


def label(page: Page, *keys: str) -> None:
    """One key a question."""
    for number, key in enumerate(keys, start=1):
        expect(page.get_by_text(f"Question {number} of {len(keys)}", exact=True)).to_be_visible()
        page.keyboard.press(key)


def test_it_works(visitors: Visitors) -> None:
    page = visitors("mara")
    send(page)
    assert problems_of(page) == []
    page.get_by_role("link", name="Label 2 examples").click()
    expect(page.get_by_role("heading", name="Example 1")).to_be_visible()
    assert problems_of(page) == []
    label(page, "1", "1")
    expect(page.get_by_role("heading", name="Example 2")).to_be_visible()
    label(page, "n", "s")
    page.get_by_role("link", name="Back to the trial").click()
    page.get_by_role("button", name="Start", exact=True).click()
    expect(page.get_by_role("heading", name="Time and cost of asking")).to_be_visible()
    expect(page.locator("#trial-live")).to_contain_text("the true error could still be up to")
    assert problems_of(page) == []


def test_the_last_label_is_taken_back_by_its_key(visitors: Visitors) -> None:
    page = visitors("mara")
    send(page)
    page.get_by_role("link", name="Label 2 examples").click()
    label(page, "1", "2")
    expect(page.get_by_role("heading", name="Example 2")).to_be_visible()
    page.keyboard.press("z")
    expect(page.get_by_role("heading", name="Example 1")).to_be_visible()


def test_it_reads_on_a_phone(visitors: Visitors) -> None:
    page = visitors("mara", viewport={"width": 390, "height": 844})
    page.goto(NEW)
    assert problems_of(page) == []
