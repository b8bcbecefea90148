"""The queue's page, and items passed on by keys alone."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from tests.e2e.conftest import Visitors
from tests.e2e.desk import NEXT, Desk
from tests.e2e.looks import problems_of
from tests.e2e.running import Demo

pytestmark = pytest.mark.e2e
QUEUE = "/w/leads/review/queue/"


def test_it_works(demo: Demo, visitors: Visitors) -> None:
    (_, first), (_, second) = demo.post_held("leads", 2)
    rosa = Desk(visitors("rosa"))
    rosa.expect_item(first)
    rosa.press("h")
    to = rosa.page.get_by_label("To", exact=True)
    expect(to).to_be_focused()
    to.select_option("ravi")
    rosa.press("Tab")
    rosa.page.keyboard.type("You know them; h e z are only letters here.")
    rosa.press("Tab")
    rosa.press("Enter")

    rosa.expect_item(second)
    ravi = Desk(visitors("ravi"))
    ravi.expect_item(first)
    expect(ravi.page.get_by_label("What colleagues say")).to_contain_text("You know them")
    ravi.press("1")
    ravi.expect_heard(NEXT)
    assert rosa.loads == 0


def test_escalated_by_keys(demo: Demo, visitors: Visitors) -> None:
    (_, first), (_, second) = demo.post_held("leads", 2)
    rosa = Desk(visitors("rosa"))
    rosa.expect_item(first)
    rosa.press("e")
    rosa.page.keyboard.type("A threat?")
    rosa.press("Tab")
    rosa.press("Enter")

    rosa.expect_item(second)
    mara = Desk(visitors("mara"))
    mara.expect_item(first)
    expect(mara.page.get_by_label("What colleagues say")).to_contain_text("A threat?")
    mara.press("1")
    mara.expect_heard(NEXT)


def test_an_item_is_taken_from_the_list(demo: Demo, visitors: Visitors) -> None:
    page = visitors("rosa")  # first: who signs in is led to the desk, and has an item open
    (_, first), (_, second) = demo.post_held("leads", 2)
    Desk(visitors("ravi")).expect_item(first)
    page.goto(QUEUE)
    expect(page.get_by_role("row", name=first)).to_contain_text("ravi has it open")
    page.get_by_role("button", name=f"Take {second}").click()
    expect(page.locator("#desk h1")).to_have_text(f"Item {second}")


@pytest.mark.parametrize("who", ["rosa", "mara"])
def test_how_it_looks(demo: Demo, visitors: Visitors, who: str) -> None:
    demo.post_held("leads", 1, blind=True)
    (_, first), _ = demo.post_held("leads", 2)
    Desk(visitors("ravi")).expect_item(first)
    page = visitors(who)
    page.goto(QUEUE)
    assert problems_of(page) == []
    page.get_by_role("row", name=first).get_by_role("link").click()
    expect(page.get_by_role("heading", level=1)).to_contain_text(first)
    assert problems_of(page) == []


def test_how_passing_on_looks(demo: Demo, visitors: Visitors) -> None:
    demo.post_held("leads", 1)
    desk = Desk(visitors("rosa"))
    desk.press("h")
    expect(desk.page.get_by_label("To", exact=True)).to_be_focused()
    assert problems_of(desk.page) == []
