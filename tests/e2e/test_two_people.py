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
    items = demo.post_held("leads", 2 * EACH)
    rosa, ravi = Desk(visitors("rosa")), Desk(visitors("ravi"))
    for turn in range(EACH):
        rosa.expect_item(items[2 * turn][1])
        ravi.expect_item(items[2 * turn + 1][1])
        rosa.press("1")
        ravi.press("2")
        rosa.expect_heard(*[NEXT] * (turn + 1))
        ravi.expect_heard(*[NEXT] * (turn + 1))

    assert sorted(demo.reviews([item_id for item_id, _ in items])) == [
        (item_id, ("rosa", "ravi")[index % 2]) for index, (item_id, _) in enumerate(items)
    ]


def test_both_at_once_never_take_the_same(demo: Demo, visitors: Visitors) -> None:
    """Neither waits for the other's page, as two people would not."""
    ids = [item_id for item_id, _ in demo.post_held("leads", 12)]
    desks = [Desk(visitors("rosa")), Desk(visitors("ravi"))]
    for turn in range(6):
        for desk in desks:
            desk.press("3")
        for desk in desks:
            desk.expect_heard(*[NEXT] * (turn + 1))

    reviewed = demo.reviews(ids)
    assert sorted(item_id for item_id, _ in reviewed) == ids
    assert sorted(person for _, person in reviewed) == ["ravi"] * 6 + ["rosa"] * 6


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
