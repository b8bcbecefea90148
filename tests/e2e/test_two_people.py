"""Two browsers on one queue: nobody ever works on what a colleague has open."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from playwright.sync_api import expect

from tests.e2e.conftest import Visitors
from tests.e2e.desk import NEXT, Desk
from tests.e2e.running import Demo, wait_for

pytestmark = pytest.mark.e2e
MANY, COLLEAGUES = 100, 25


def name_on(desk: Desk) -> str:
    return desk.title.inner_text().removeprefix("Item ").strip()


def test_it_works(demo: Demo, visitors: Visitors) -> None:
    """A hundred items by keys alone while a colleague works the same queue: no item twice, none left out."""
    items = dict(demo.post_held("leads", MANY + COLLEAGUES + 2))
    rosa, ravi = Desk(visitors("rosa")), Desk(visitors("ravi"))
    seen: dict[str, list[str]] = {"rosa": [], "ravi": []}
    for turn in range(MANY):
        seen["rosa"].append(name_on(rosa))
        rosa.press(("1", "2", "3", "4", "Enter")[turn % 5])
        if turn % (MANY // COLLEAGUES) == 0:
            seen["ravi"].append(name_on(ravi))
            ravi.press("Enter")
            ravi.expect_heard(*[NEXT] * len(seen["ravi"]))
        rosa.page.wait_for_function("count => window.heard.length >= count", arg=turn + 1)

    assert rosa.loads == 0
    # What each has open now was not answered yet.
    assert sorted([*seen["rosa"], *seen["ravi"], name_on(rosa), name_on(ravi)]) == sorted(items.values())
    reviewed = demo.reviews(list(items))
    assert {name: [items[item_id] for item_id, who in reviewed if who == name] for name in seen} == seen


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


def test_who_lost_the_item_is_told_while_it_stands_there(demo: Demo, visitors: Visitors) -> None:
    (_, first), _ = demo.post_held("leads", 2)
    rosa = Desk(visitors("rosa"))
    rosa.press("c")
    rosa.page.keyboard.type("They asked for 12 seats.")
    demo.query("UPDATE reviews_lease SET expires_at = clock_timestamp() - interval '1 second'")
    Desk(visitors("ravi")).expect_item(first)
    rosa.page.evaluate("document.dispatchEvent(new Event('visibilitychange'))")

    expect(rosa.page.locator("#messages")).to_contain_text("ravi has it now")
    rosa.expect_item(first)
    expect(rosa.note).to_have_value("They asked for 12 seats.")


@contextmanager
def nothing_new(demo: Demo) -> Iterator[None]:
    """What arrives meanwhile is not decided, and so adds to no queue."""

    def is_quiet() -> bool:
        # Again and again: an answer that was under way ends a pause.
        demo.query("UPDATE workflows_endpoint SET paused_until = now() + interval '1 hour'")
        return demo.query("SELECT count(*) FROM items_item WHERE status = 'deciding'") == [(0,)]

    try:
        wait_for(is_quiet, 60, "the model's last answer")
        yield
    finally:
        demo.query("UPDATE workflows_endpoint SET paused_until = NULL")


def test_the_figures_go_on_while_an_item_stands_there(demo: Demo, visitors: Visitors) -> None:
    demo.post_held("leads", 3)
    with nothing_new(demo):
        rosa = Desk(visitors("rosa"))
        left = rosa.page.locator("[data-left] strong")
        before = int(left.inner_text())
        ravi = Desk(visitors("ravi"))
        ravi.press("1")
        ravi.expect_heard(NEXT)
        rosa.page.evaluate("document.dispatchEvent(new Event('visibilitychange'))")

        expect(left).to_have_text(str(before - 2))  # one is answered, one is on ravi's desk


@pytest.mark.parametrize("width", [390, 1280])
def test_the_last_minute_of_a_hold_is_counted_down_and_moves_nothing(
    demo: Demo, visitors: Visitors, width: int
) -> None:
    ((_, name),) = demo.post_held("leads", 1)
    page = visitors("rosa", viewport={"width": width, "height": 844})
    page.clock.install()
    rosa = Desk(page)
    hold = page.locator("#hold")
    expect(hold).to_be_hidden()
    item = page.locator(".desk-item")
    place = item.bounding_box()
    page.route("**/review/renew/", lambda route: route.abort())
    page.clock.fast_forward("04:30")
    expect(hold).to_contain_text("Held for you for")
    expect(page).to_have_title(re.compile("^Your hold ends"))
    assert item.bounding_box() == place
    page.unroute("**/review/renew/")
    rosa.press("Shift")

    expect(hold).to_be_hidden()
    rosa.expect_item(name)
