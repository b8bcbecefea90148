"""A person's own keys: chosen by pressing them, shown everywhere, and nobody else's."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import Page, Route, expect

from tests.e2e.conftest import Visitors
from tests.e2e.desk import NEXT, Desk, Keyboard
from tests.e2e.running import Demo

pytestmark = pytest.mark.e2e


@pytest.fixture(autouse=True)
def usual_keys(demo: Demo) -> Iterator[None]:
    yield
    demo.query("DELETE FROM reviews_deskpreferences")


def preferences(visitors: Visitors, held: list[Route] | None = None) -> Page:
    """With `held`, the page's script waits there until it is let go."""
    page = visitors("rosa")
    if held is not None:
        page.route("**/preferences*.js", lambda route: held.append(route))
    page.goto("/w/leads/review/")
    page.get_by_label("Signed in as rosa").click()
    page.get_by_role("link", name="Keys and languages").click()
    return page


def test_it_works(demo: Demo, visitors: Visitors) -> None:
    page = preferences(visitors)
    page.get_by_label("Option 3").press("j")
    page.get_by_label("Skip", exact=True).press("w")
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_role("status").filter(has_text="Saved.")).to_be_visible()
    (_, first), (second_id, second), (_, third) = demo.post_held("leads", 3)
    desk = Desk(page)
    expect(page.locator(".desk-skip kbd")).to_have_text("W")
    desk.expect_item(first)
    desk.press("s")
    desk.press("3")
    desk.press("w")
    desk.expect_item(second)
    desk.press("j")

    desk.expect_item(third)
    desk.expect_heard("Skipped. Next item.", NEXT)
    assert demo.reviews([second_id]) == [(second_id, "rosa")]


@pytest.mark.parametrize(("key", "taken"), [("j", "j"), ("Space", "Space")])
def test_a_key_pressed_before_the_script_came_counts(
    demo: Demo, visitors: Visitors, key: str, taken: str
) -> None:
    held: list[Route] = []
    page = preferences(visitors, held)
    field = page.get_by_label("Option 3")
    field.press(key)
    expect(field).to_have_value(re.compile("^([j ]3|3[j ])$"))
    held.pop().continue_()

    page.wait_for_load_state()
    expect(field).to_have_value(taken)


def test_a_key_taken_twice_is_seen_at_once_and_refused(demo: Demo, visitors: Visitors) -> None:
    page = preferences(visitors)
    page.get_by_label("Skip", exact=True).press("z")
    expect(page.get_by_text("Also: Undo your last answer")).to_be_visible()
    page.get_by_role("button", name="Save").click()

    expect(page.get_by_role("alert")).to_contain_text("Nothing was changed")
    assert demo.query("SELECT count(*) FROM reviews_deskpreferences") == [(0,)]


def test_a_key_of_another_alphabet_is_known_by_its_place(demo: Demo, visitors: Visitors) -> None:
    page = preferences(visitors)
    field = page.get_by_label("Skip", exact=True)
    field.focus()
    Keyboard(page).press("KeyJ", "ت")

    expect(field).to_have_value("j")
