"""What is wrong with a page for those who cannot see it, see it small, or see it in the dark."""

from __future__ import annotations

from typing import Any, Literal

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page, ViewportSize

TAGS = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]
LOOKS: tuple[tuple[Literal["light", "dark"], ViewportSize], ...] = (
    ("light", {"width": 1280, "height": 800}),
    ("dark", {"width": 390, "height": 844}),
)
_AXE = Axe().axe_script
_RUN = "options => axe.run(options).then((found) => found.violations)"
_UNFOLD = """() => Promise.all([...document.querySelectorAll("main details:not([open])")].map(
  (fold) => new Promise((told) => { fold.addEventListener("toggle", () => told(), { once: true }); fold.open = true; })
))"""
_IS_QUIET = "() => !document.querySelector('.htmx-request, .htmx-swapping, .htmx-settling')"
_TO_THE_TOP = "() => scrollTo({ top: 0, behavior: 'instant' })"
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
    the other two pairs would double the time and find the same. Each from the top: what is fetched when it is unfolded
    takes the focus and scrolls there, and axe takes what lies under the bar at that moment for covered.
    """
    page.evaluate(_UNFOLD)
    page.wait_for_function(_IS_QUIET)
    found = []
    for scheme, size in LOOKS:
        page.emulate_media(color_scheme=scheme, reduced_motion="reduce")
        page.set_viewport_size(size)
        page.evaluate(_TO_THE_TOP)
        found += [f"{scheme} {size['width']}: {each}" for each in (*axe(page), *too_wide(page))]
    return found


def too_wide(page: Page) -> list[str]:
    return [f"wider than the page: {each}" for each in page.evaluate(_TOO_WIDE)]


def axe(page: Page) -> list[str]:
    # Into each page once, and only what is wrong comes back: half of the time would go there otherwise.
    if not page.evaluate("() => 'axe' in window"):
        page.evaluate(_AXE)
    options = {"runOnly": TAGS, "resultTypes": ["violations"]}
    violations: list[dict[str, Any]] = page.evaluate(_RUN, options)
    return [
        f"{violation['id']} {node['target']}: {node['failureSummary']}"
        for violation in violations
        for node in violation["nodes"][:3]
    ]
