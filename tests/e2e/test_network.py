"""The line fails just then: an answer is saved when the server has said so, and once."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from playwright.sync_api import Route, expect

from tests.e2e.conftest import Visitors
from tests.e2e.desk import NEXT, Desk
from tests.e2e.running import Demo

pytestmark = pytest.mark.e2e
SUBMIT = "**/review/submit/"


@pytest.fixture(autouse=True)
def line_fails(visitors: Visitors) -> None:
    visitors.line_may_fail = True


def desk_behind(visitors: Visitors, bad_line: Callable[[Route], None]) -> Desk:
    """Before the page is loaded: what a loaded page sends at once can slip by a route that is set just then."""
    page = visitors("rosa")
    page.route(SUBMIT, bad_line)
    return Desk(page)


def go_offline(desk: Desk) -> None:
    desk.page.context.set_offline(True)
    desk.page.wait_for_function("() => !navigator.onLine")


def test_it_works(demo: Demo, visitors: Visitors) -> None:
    """Offline: it says so and keeps the answer. Back online: it is saved, without anybody doing anything."""
    (first_id, first), (_, second) = demo.post_held("leads", 2)
    desk = Desk(visitors("rosa"))
    desk.expect_item(first)
    go_offline(desk)
    desk.press("2")
    expect(desk.not_saved).to_contain_text("Not saved")
    desk.expect_item(first)
    assert demo.reviews([first_id]) == []

    desk.page.context.set_offline(False)
    desk.expect_item(second)
    desk.expect_heard(NEXT)
    assert demo.reviews([first_id]) == [(first_id, "rosa")]


def test_a_key_while_it_waits_is_no_second_answer(demo: Demo, visitors: Visitors) -> None:
    (first_id, first), (second_id, second) = demo.post_held("leads", 2)
    desk = Desk(visitors("rosa"))
    desk.expect_item(first)
    go_offline(desk)
    desk.press("2")
    expect(desk.not_saved).to_be_visible()
    for key in ("3", "Enter", "s", "n"):
        desk.press(key)
    desk.page.context.set_offline(False)

    desk.expect_item(second)
    assert demo.reviews([first_id, second_id]) == [(first_id, "rosa")]
    assert demo.story("leads", first_id)["reviews"][0]["answers"][0]["value"] == "existing_customer"


def test_a_lost_reply_is_asked_for_again(demo: Demo, visitors: Visitors) -> None:
    """The server has the answer, and the browser cannot know: sent again, it counts once."""
    (first_id, first), (_, second) = demo.post_held("leads", 2)

    def lose_reply(route: Route) -> None:
        route.fetch()
        route.abort()

    desk = desk_behind(visitors, lose_reply)
    desk.expect_item(first)
    desk.press("3")
    expect(desk.not_saved).to_be_visible()
    assert demo.reviews([first_id]) == [(first_id, "rosa")]
    desk.page.unroute(SUBMIT)

    desk.expect_item(second)
    assert demo.reviews([first_id]) == [(first_id, "rosa")]


def test_a_server_that_fails_is_asked_again_by_itself(demo: Demo, visitors: Visitors) -> None:
    (first_id, first), (_, second) = demo.post_held("leads", 2)
    desk = desk_behind(visitors, lambda route: route.fulfill(status=503, body="busy"))
    desk.expect_item(first)
    desk.press("1")
    expect(desk.not_saved).to_contain_text("will be sent again")
    desk.page.unroute(SUBMIT)

    desk.expect_item(second)
    assert demo.reviews([first_id]) == [(first_id, "rosa")]


def test_a_reload_while_it_waits_loses_nothing(demo: Demo, visitors: Visitors) -> None:
    (first_id, _), (_, second) = demo.post_held("leads", 2)
    desk = desk_behind(visitors, lambda route: route.abort())
    desk.press("c")
    desk.page.keyboard.type("Wants an offer.")
    desk.press("Shift+Tab")
    desk.press("2")
    expect(desk.not_saved).to_be_visible()
    desk.page.unroute(SUBMIT)
    desk.page.on("dialog", lambda dialog: dialog.accept())
    desk.page.reload()

    desk.expect_item(second)
    assert demo.reviews([first_id]) == [(first_id, "rosa")]
    assert demo.story("leads", first_id)["reviews"][0]["note"] == "Wants an offer."


def test_signed_out_meanwhile_the_answer_is_kept(demo: Demo, visitors: Visitors) -> None:
    (first_id, first), (_, second) = demo.post_held("leads", 2)
    desk = Desk(visitors("rosa"))
    desk.expect_item(first)
    desk.page.context.clear_cookies(name=re.compile("session"))
    desk.press("2")
    expect(desk.not_saved).to_contain_text("Your answer is kept here")
    desk.not_saved.get_by_role("link", name="Sign in").click()
    desk.page.get_by_label("Username").fill("rosa")
    desk.page.get_by_label("Password").fill(demo.passwords["rosa"])
    desk.page.get_by_role("button", name="Sign in").click()

    desk.expect_item(second)
    assert demo.reviews([first_id]) == [(first_id, "rosa")]


def test_a_page_of_the_proxy_is_no_reply(demo: Demo, visitors: Visitors) -> None:
    (first_id, first), (_, second) = demo.post_held("leads", 2)
    desk = desk_behind(visitors, lambda route: route.fulfill(status=200, body="<h1>Back soon</h1>"))
    desk.expect_item(first)
    desk.press("1")
    expect(desk.not_saved).to_contain_text("will be sent again")
    desk.expect_item(first)
    desk.page.unroute(SUBMIT)

    desk.expect_item(second)
    assert demo.reviews([first_id]) == [(first_id, "rosa")]


def test_a_renewed_server_renews_the_page_once(demo: Demo, visitors: Visitors) -> None:
    """Scripts of before and replies of now: after the answer is saved the page is loaded anew, with the next item."""
    (first_id, first), (_, second), (_, third) = demo.post_held("leads", 3)

    def newer(route: Route) -> None:
        reply = route.fetch()
        route.fulfill(response=reply, body=reply.text().replace('data-version="', 'data-version="9 '))

    desk = desk_behind(visitors, newer)
    desk.expect_item(first)
    desk.press("2")
    desk.expect_item(second)
    desk.page.wait_for_function("() => sessionStorage.getItem('renewed-for')")
    expect(desk.page.locator("#desk[data-version^='9']")).to_have_count(0)
    desk.press("3")

    desk.expect_item(third)
    expect(desk.page.locator("#desk[data-version^='9']")).to_have_count(1)
    assert demo.reviews([first_id]) == [(first_id, "rosa")]
