"""What is wrong with a page for those who cannot see it, see it small, or see it in the dark."""

from __future__ import annotations

from typing import Any

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page

TAGS = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]
WIDE, PHONE = {"width": 1280, "height": 800}, {"width": 390, "height": 844}
_UNFOLD = "for (const fold of document.querySelectorAll('main details')) fold.open = true"
_TOO_WIDE = """() => {
  const room = document.documentElement.clientWidth;
  if (document.documentElement.scrollWidth <= room) return [];
  const isInBox = (each) => each && (getComputedStyle(each).overflowX !== "visible" || isInBox(each.parentElement));
  return [...document.querySelectorAll("body *")]
    .filter((each) => each.getBoundingClientRect().right > room + 1 && !isInBox(each.parentElement))
    .map((each) => `${each.tagName}.${each.className} ${each.textContent.trim().slice(0, 40)}`);
}"""


def problems_of(page: Page) -> list[str]:
    """What axe finds and what is wider than the page, everything unfolded.

    Light on a wide screen and dark on a phone: colours come from the scheme alone and places from the width alone, so
    the other two pairs would double the time and find the same.
    """
    page.evaluate(_UNFOLD)
    page.emulate_media(color_scheme="light", reduced_motion="reduce")
    page.set_viewport_size(WIDE)  # type: ignore[arg-type]  # a literal, kept in a constant
    found = [f"light 1280: {each}" for each in (*axe(page), *too_wide(page))]
    page.emulate_media(color_scheme="dark", reduced_motion="reduce")
    page.set_viewport_size(PHONE)  # type: ignore[arg-type]  # as above
    return found + [f"dark 390: {each}" for each in (*axe(page), *too_wide(page))]


def too_wide(page: Page) -> list[str]:
    return [f"wider than the page: {each}" for each in page.evaluate(_TOO_WIDE)]


def axe(page: Page) -> list[str]:
    answer: dict[str, Any] = (
        Axe().run(page, options={"runOnly": TAGS, "resultTypes": ["violations"]}).response
    )
    return [
        f"{violation['id']} {node['target']}: {node['failureSummary']}"
        for violation in answer["violations"]
        for node in violation["nodes"][:3]
    ]
