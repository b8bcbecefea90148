from __future__ import annotations

import re

import pytest
from playwright.sync_api import expect

from tests.e2e.conftest import Visitors, fill_sign_in
from tests.e2e.running import Demo

pytestmark = pytest.mark.e2e


@pytest.mark.parametrize(("name", "place"), [("rosa", "/review/"), ("mara", "/insights/")])
def test_it_works(demo: Demo, visitors: Visitors, name: str, place: str) -> None:
    """A reviewer lands at work, a manager on the overview."""
    page = visitors()
    fill_sign_in(page, name, demo.passwords[name])
    expect(page).to_have_url(re.compile(place))
    assert page.get_by_role("link", name="Desk").is_visible()


def test_a_wrong_password_says_so_and_keeps_the_name(visitors: Visitors) -> None:
    page = visitors()
    fill_sign_in(page, "rosa", "nonsense-nonsense")
    expect(page.get_by_role("alert")).to_be_visible()
    assert page.get_by_label("Username").input_value() == "rosa"


def test_what_was_asked_for_is_shown_after_signing_in(demo: Demo, visitors: Visitors) -> None:
    page = visitors()
    page.goto("/w/leads/items/")
    page.get_by_label("Username").fill("rosa")
    page.get_by_label("Password").fill(demo.passwords["rosa"])
    page.get_by_role("button", name="Sign in").click()
    expect(page).to_have_url(re.compile("/w/leads/items/$"))


def test_who_signed_out_is_out(demo: Demo, visitors: Visitors) -> None:
    page = visitors()
    fill_sign_in(page, "ravi", demo.passwords["ravi"])
    page.locator("summary", has_text="ravi").click()
    page.get_by_role("button", name="Sign out").click()
    expect(page).to_have_url(re.compile("/sign-in/"))
    page.goto("/w/leads/review/")
    expect(page).to_have_url(re.compile("/sign-in/"))
