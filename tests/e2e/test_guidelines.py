"""Guidelines beside the desk, a chat, and a text so long that its rest comes later, as somebody meets them."""

from __future__ import annotations

import json

import pytest
from playwright.sync_api import expect

from tests.e2e.conftest import Visitors
from tests.e2e.desk import NEXT, Desk
from tests.e2e.looks import problems_of
from tests.e2e.running import Demo

pytestmark = pytest.mark.e2e
LONG = "\n".join(f"Line {number}: سطر" for number in range(5_000))
CHAT = [
    {"role": "customer", "text": "Hello\nمرحبا", "at": "2026-11-30T08:00:00Z"},
    {"role": "agent", "text": "Yes?", "id": 7},
]


def give_state(demo: Demo, item_id: int, state: object) -> None:
    demo.query("UPDATE items_itemcontent SET state = %s WHERE item_id = %s", json.dumps(state), item_id)


def test_it_works(demo: Demo, visitors: Visitors) -> None:
    demo.post_held("leads", 2)
    desk = Desk(visitors("rosa"))
    panel = desk.page.get_by_role("complementary", name="Guidelines")
    desk.press("g")
    expect(panel.get_by_role("heading", name="Qualified lead")).to_be_visible()
    desk.press("1")
    desk.page.wait_for_function("text => window.heard.includes(text)", arg=NEXT)
    expect(panel).to_be_visible()
    expect(desk.page.get_by_role("button", name="Guidelines", expanded=True)).to_be_visible()
    desk.press("g")
    expect(panel).to_be_hidden()
    assert desk.loads == 0


def test_escape_takes_them_away_where_they_lie_over_the_answer(demo: Demo, visitors: Visitors) -> None:
    demo.post_held("leads", 1)
    page = Desk(visitors("rosa", viewport={"width": 1100, "height": 800})).page
    page.keyboard.press("g")
    panel = page.get_by_role("complementary", name="Guidelines")
    expect(panel).to_be_visible()
    page.keyboard.press("Escape")
    expect(panel).to_be_hidden()


def test_they_are_written_with_a_preview(visitors: Visitors) -> None:
    page = visitors("mara")
    page.goto("/w/leads/settings/guidelines/text/?question=intent&option=spam")
    page.get_by_label("What people should know").fill("# One\n\n- عقد")
    expect(page.locator("#guidelines-preview").get_by_role("heading", name="One")).to_be_visible()
    assert problems_of(page) == []


def test_the_rest_of_a_long_text_comes_for_who_scrolls_or_searches(demo: Demo, visitors: Visitors) -> None:
    ((item_id, _),) = demo.post_held("leads", 1)
    give_state(demo, item_id, LONG)
    page = Desk(visitors("rosa")).page
    expect(page.get_by_text("Line 10:")).to_be_visible()
    assert page.get_by_text("Line 4999").count() == 0
    page.keyboard.press("Control+f")
    expect(page.get_by_text("Line 4999")).to_be_attached()
    page.reload()
    page.get_by_text("Show the rest").scroll_into_view_if_needed()
    expect(page.get_by_text("Line 4999")).to_be_attached()


def test_a_chat_is_told_by_sides(demo: Demo, visitors: Visitors) -> None:
    ((item_id, _),) = demo.post_held("leads", 1)
    give_state(demo, item_id, CHAT)
    page = Desk(visitors("rosa")).page
    asks, answers = (page.locator(".chat-message").nth(n).bounding_box() for n in (0, 1))
    assert asks is not None
    assert answers is not None
    assert asks["x"] + asks["width"] < answers["x"] + answers["width"]
    page.keyboard.press("g")
    expect(page.get_by_role("heading", name="Qualified lead")).to_be_visible()
    assert problems_of(page) == []
