"""Whatever people write in names and texts stays text: nothing runs, nothing turns, nothing bursts the page."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, StorageState, expect

from tests.e2e import odd
from tests.e2e.conftest import Visitors
from tests.e2e.desk import Desk
from tests.e2e.looks import problems_of
from tests.e2e.running import Demo

pytestmark = pytest.mark.e2e
NOTE = f"{odd.ALL}\n{odd.LONG}"
# Text of others stands in an element of its own, or its direction runs on into ours; a title and an option cannot.
_LEAKS = """(odd) => {
  const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  const leaks = [];
  while (walk.nextNode()) {
    const { data, parentElement: parent } = walk.currentNode;
    if (odd.some((each) => data.includes(each)) && !parent.closest("bdi, body [dir], option, script"))
      leaks.push(`${parent.tagName}.${parent.className}: ${data.trim().slice(0, 80)}`);
  }
  return leaks;
}"""


@pytest.fixture(scope="module")
def item(
    demo: Demo, browser: Browser, sessions: dict[str, StorageState], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[int]:
    """An odd item of an odd workflow, answered with an odd note; a second one waits."""
    file = tmp_path_factory.mktemp("odd") / "odd.toml"
    file.write_text(odd.ODD_WORKFLOW, encoding="utf-8")
    demo.install("odd", file)
    metadata = {odd.SCRIPT: odd.ALL[:200], odd.RTL: [odd.LONG, {odd.HIDDEN: odd.IMAGE}]}
    state = {odd.SCRIPT: odd.ALL, odd.RTL: odd.LONG}
    ((item_id, _),) = demo.post_held("odd", 1, external_id=odd.ALL[:150], state=state, metadata=metadata)
    rosa = Visitors(browser, demo, sessions)
    answer_all_questions(Desk(rosa("rosa"), "odd"), NOTE)
    demo.post_held("odd", 1, state=f"{odd.ALL}\n{odd.LONG}", metadata=metadata)
    yield item_id
    rosa.close()


def answer_all_questions(desk: Desk, note: str) -> None:
    desk.page.locator("summary", has_text="Note").click()
    desk.note.fill(note)
    desk.press("Shift+Tab")
    for _ in range(3):
        desk.press("1")
    desk.page.wait_for_function("() => window.heard.length > 0")
    assert desk.heard()[0].startswith("Saved.")


@pytest.mark.parametrize(
    ("person", "address"),
    [
        ("rosa", "/w/odd/review/"),
        ("rosa", "/w/odd/items/"),
        ("rosa", "/w/odd/items/{item}/"),
        ("mara", "/w/odd/insights/"),
        ("mara", "/w/odd/policy/"),
        ("mara", "/w/odd/policy/new/"),
        ("mara", "/w/odd/calibration/"),
        ("mara", "/w/odd/labels/"),
        ("mara", "/w/odd/settings/"),
        ("mara", "/w/leads/insights/"),
        ("olga", "/operate/"),
    ],
)
def test_it_works(item: int, visitors: Visitors, person: str, address: str) -> None:
    page = visitors(person)
    page.on("dialog", lambda dialog: visitors.complaints.append(dialog.message))
    page.goto(address.format(item=item))

    assert page.evaluate("window.__pwned") is None
    assert page.evaluate("getComputedStyle(document.body).direction") == "ltr"
    assert page.evaluate(_LEAKS, [odd.RTL, odd.HIDDEN, odd.SCRIPT]) == []
    assert problems_of(page) == []
    assert page.evaluate("window.__pwned") is None


def test_the_text_is_shown_as_it_is(item: int, visitors: Visitors) -> None:
    page = visitors("rosa")
    page.goto(f"/w/odd/items/{item}/")
    main = page.locator("main")
    expect(main).to_contain_text(odd.SCRIPT)
    expect(main).to_contain_text("{{ 7*7 }}")
    expect(main).to_contain_text("&lt;b&gt;")
    expect(page.get_by_text(odd.LONG).first).to_be_visible()


def test_an_odd_search_finds_the_odd_item(item: int, visitors: Visitors) -> None:
    visitors.line_may_fail = True  # leaving the field asks already, and the button's request takes its place
    page = visitors("rosa")
    page.goto("/w/odd/items/")
    page.get_by_label("Search").fill(odd.SCRIPT)
    page.get_by_role("button", name="Find").click()
    expect(page.get_by_role("link", name="window.__pwned").first).to_be_visible()
    assert page.evaluate("window.__pwned") is None


def test_an_odd_address_is_not_found(visitors: Visitors) -> None:
    page = visitors("rosa")
    response = page.goto("/w/leads/%3Cscript%3Ewindow.__pwned=1%3C/script%3E/")
    assert response is not None
    assert response.status == 404
    assert page.evaluate("window.__pwned") is None
