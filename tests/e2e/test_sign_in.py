from __future__ import annotations

import pytest

from tests.e2e.conftest import Visitors

pytestmark = pytest.mark.e2e


def test_it_works(visitors: Visitors) -> None:
    page = visitors("rosa")
    assert "/review/" in page.url


def test_a_manager_lands_on_the_overview(visitors: Visitors) -> None:
    assert "/insights/" in visitors("mara").url


def test_a_wrong_password_says_so_and_keeps_the_name(visitors: Visitors) -> None:
    page = visitors()
    page.goto("/sign-in/")
    page.get_by_label("Username").fill("rosa")
    page.get_by_label("Password").fill("nonsense-nonsense")
    page.get_by_role("button", name="Sign in").click()
    assert page.get_by_role("alert").is_visible()
    assert page.get_by_label("Username").input_value() == "rosa"
