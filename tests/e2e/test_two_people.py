"""Two browsers on one queue: nobody ever works on what a colleague has open."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import expect

from tests.e2e.conftest import Visitors
from tests.e2e.desk import NEXT, Desk
from tests.e2e.running import Demo

pytestmark = pytest.mark.e2e
EACH = 10


def test_it_works(demo: Demo, visitors: Visitors) -> None:
    items = dict(demo.post_held("leads", 2 * EACH))
    desks = {name: Desk(visitors(name)) for name in ("rosa", "ravi")}
    seen: dict[str, list[str]] = {name: [] for name in desks}
    for turn in range(EACH):
        for name, desk in desks.items():
            seen[name].append(desk.title.inner_text().removeprefix("Item ").strip())
        for desk in desks.values():
            desk.press("1")
        for desk in desks.values():
            desk.expect_heard(*[NEXT] * (turn + 1))

    assert sorted(seen["rosa"] + seen["ravi"]) == sorted(items.values())
    reviewed = demo.reviews(list(items))
    assert {name: [items[item_id] for item_id, who in reviewed if who == name] for name in desks} == seen


def test_a_second_tab_shows_the_same_item(demo: Demo, visitors: Visitors) -> None:
    ((_, name), _) = demo.post_held("leads", 2)
    first = Desk(visitors("rosa"))
    second = Desk(visitors("rosa"))
    first.expect_item(name)
    second.expect_item(name)


def test_who_goes_elsewhere_gives_the_item_back(demo: Demo, visitors: Visitors) -> None:
    ((_, name),) = demo.post_held("leads", 1)
    rosa = Desk(visitors("rosa"))
    rosa.expect_item(name)
    rosa.page.get_by_role("link", name="Items").click()
    expect(rosa.page).to_have_url(re.compile("/items/"))

    Desk(visitors("ravi")).expect_item(name)


def test_a_lost_hold_says_who_has_it_and_keeps_the_note(demo: Demo, visitors: Visitors) -> None:
    (first_id, first), (_, second) = demo.post_held("leads", 2)
    rosa = Desk(visitors("rosa"))
    rosa.press("c")
    rosa.page.keyboard.type("They asked for 12 seats.")
    demo.query("UPDATE reviews_lease SET expires_at = clock_timestamp() - interval '1 second'")
    Desk(visitors("ravi")).expect_item(first)
    rosa.press("Shift+Tab")
    rosa.press("2")

    expect(rosa.title).to_have_text("Not counted")
    expect(rosa.page.locator("#desk")).to_contain_text("ravi has it now")
    expect(rosa.page.get_by_label("The note you typed")).to_have_value("They asked for 12 seats.")
    rosa.press("Enter")
    rosa.expect_item(second)
    assert demo.reviews([first_id]) == []


def test_a_hold_that_ran_out_still_counts_while_nobody_took_it(demo: Demo, visitors: Visitors) -> None:
    (first_id, first), (_, second) = demo.post_held("leads", 2)
    rosa = Desk(visitors("rosa"))
    rosa.expect_item(first)
    demo.query("UPDATE reviews_lease SET expires_at = clock_timestamp() - interval '1 second'")
    rosa.press("1")
    rosa.expect_item(second)
    assert demo.reviews([first_id]) == [(first_id, "rosa")]


def test_who_answers_after_a_colleague_is_told(demo: Demo, visitors: Visitors) -> None:
    (first_id, first), _ = demo.post_held("leads", 2)
    rosa = Desk(visitors("rosa"))
    rosa.expect_item(first)
    demo.query("UPDATE reviews_lease SET expires_at = clock_timestamp() - interval '1 second'")
    ravi = Desk(visitors("ravi"))
    ravi.expect_item(first)
    ravi.press("1")
    ravi.expect_heard(NEXT)
    rosa.press("3")

    expect(rosa.page.locator("#desk")).to_contain_text("ravi has answered this item")
    assert demo.reviews([first_id]) == [(first_id, "ravi")]
