"""Every page, light and dark, wide and on a phone: axe finds nothing, nothing is cut off, no script complains."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from tests.e2e.conftest import Visitors, fill_sign_in
from tests.e2e.desk import Desk
from tests.e2e.looks import problems_of
from tests.e2e.running import ROOT, Demo

pytestmark = pytest.mark.e2e
Shown = Callable[[Demo, Visitors], Page]

# Who opens what, as it lies there.
PLAIN = {
    "sign-in": (None, "/sign-in/", 200),
    "api docs": (None, "/api/v1/docs", 200),
    "items": ("rosa", "/w/leads/items/", 200),
    "items, none found": ("rosa", "/w/leads/items/?text=nothing-is-called-so", 200),
    "items, wrong filter": ("rosa", "/w/leads/items/?status=nonsense", 422),
    "overview": ("mara", "/w/leads/insights/?days=all", 200),
    "overview, wrong window": ("mara", "/w/leads/insights/?days=9", 422),
    "policy": ("mara", "/w/leads/policy/", 200),
    "policy, edit": ("mara", "/w/leads/policy/new/", 200),
    "policy, version": ("mara", "/w/leads/policy/1/", 200),
    "calibration": ("mara", "/w/leads/calibration/", 200),
    "incidents": ("mara", "/w/leads/calibration/incidents/", 200),
    "labels": ("mara", "/w/leads/labels/", 200),
    "labels, wrong filter": ("mara", "/w/leads/labels/?since=yesterday", 422),
    "settings": ("mara", "/w/leads/settings/", 200),
    "own desk": ("rosa", "/account/desk/", 200),
    "operate": ("olga", "/operate/", 200),
    "nobody's workflow": ("olga", "/", 200),
    "not found": ("rosa", "/w/leads/nothing/", 404),
    "not allowed": ("rosa", "/w/leads/settings/", 403),
    "arabic items": ("rosa", "/w/messages-ar/items/", 200),
    "arabic overview": ("mara", "/w/messages-ar/insights/?days=all", 200),
    "arabic policy": ("mara", "/w/messages-ar/policy/", 200),
    "arabic policy, edit": ("mara", "/w/messages-ar/policy/new/", 200),
    "arabic settings": ("mara", "/w/messages-ar/settings/", 200),
}


@pytest.mark.parametrize("name", PLAIN)
def test_it_works(visitors: Visitors, name: str) -> None:
    person, address, status = PLAIN[name]
    page = visitors(person)
    response = page.goto(address)
    assert response is not None
    assert response.status == status
    assert problems_of(page) == []


def sign_in_refused(demo: Demo, visitors: Visitors) -> Page:
    page = visitors()
    fill_sign_in(page, "rosa", "wrong")
    expect(page.get_by_role("alert")).to_be_visible()
    return page


def desk(demo: Demo, visitors: Visitors) -> Page:
    demo.post_held("leads", 1, metadata={"amount": 12, "sender": {"name": "Ann", "known": True}})
    return Desk(visitors("rosa")).page


def desk_blind(demo: Demo, visitors: Visitors) -> Page:
    demo.post_held("leads", 1, blind=True)
    return Desk(visitors("rosa")).page


def desk_arabic(demo: Demo, visitors: Visitors) -> Page:
    demo.post_held("messages-ar", 1)
    return Desk(visitors("rosa"), "messages-ar").page


def desk_lost(demo: Demo, visitors: Visitors) -> Page:
    demo.post_held("leads", 1)
    rosa = Desk(visitors("rosa"))
    demo.query("UPDATE reviews_lease SET expires_at = clock_timestamp() - interval '1 second'")
    Desk(visitors("ravi"))
    rosa.press("1")
    expect(rosa.title).to_have_text("Not counted")
    return rosa.page


def desk_wrong(demo: Demo, visitors: Visitors) -> Page:
    demo.post_held("leads", 1)
    rosa = Desk(visitors("rosa"))
    rosa.page.evaluate("document.querySelector('[name=note]').value = 'x'.repeat(10_001)")
    rosa.press("1")
    expect(rosa.page.get_by_role("alert").filter(has_text="note")).to_be_visible()
    return rosa.page


def desk_not_saved(demo: Demo, visitors: Visitors) -> Page:
    demo.post_held("leads", 1)
    visitors.line_may_fail = True
    page = visitors("rosa")
    page.route("**/review/submit/", lambda route: route.abort())
    rosa = Desk(page)
    rosa.press("2")
    expect(rosa.not_saved).to_be_visible()
    return rosa.page


def desk_none_of_these(demo: Demo, visitors: Visitors) -> Page:
    page = desk(demo, visitors)
    page.keyboard.press("n")
    expect(page.get_by_label("Which option is missing?")).to_be_focused()
    return page


def desk_cannot_tell(demo: Demo, visitors: Visitors) -> Page:
    page = desk(demo, visitors)
    page.keyboard.press("x")
    expect(page.get_by_role("radio", name="Unreadable").first).to_be_visible()
    return page


def desk_several(demo: Demo, visitors: Visitors) -> Page:
    demo.post_held("support", 1, state="Please cancel the appointment.")
    demo.query(
        "UPDATE reviews_reviewtask SET asked = '{team,urgent}' WHERE priority = (SELECT max(priority) FROM "
        "reviews_reviewtask)"
    )
    page = Desk(visitors("rosa"), "support").page
    page.keyboard.press("n")
    expect(page.get_by_label("Which option is missing?").first).to_be_focused()
    return page


def desk_guidelines(demo: Demo, visitors: Visitors) -> Page:
    page = desk(demo, visitors)
    page.keyboard.press("g")
    expect(page.locator("#guidelines table").first).to_be_visible()
    return page


def desk_right_to_left(demo: Demo, visitors: Visitors) -> Page:
    page = desk_arabic(demo, visitors)
    page.evaluate("document.documentElement.dir = 'rtl'")
    return page


def own_keys_refused(demo: Demo, visitors: Visitors) -> Page:
    page = visitors("rosa")
    page.goto("/account/desk/")
    page.get_by_label("Skip", exact=True).press("z")
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_role("alert")).to_be_visible()
    return page


def desk_keys(demo: Demo, visitors: Visitors) -> Page:
    page = desk(demo, visitors)
    page.keyboard.press("?")
    expect(page.locator("#keys")).to_be_visible()
    return page


def item_in_review(demo: Demo, visitors: Visitors) -> Page:
    ((item_id, _),) = demo.post_held("leads", 1)
    page = visitors("rosa")
    page.goto(f"/w/leads/items/{item_id}/")
    return page


def item_settled(demo: Demo, visitors: Visitors) -> Page:
    ((item_id, _),) = demo.post_held("leads", 1)
    rosa = Desk(visitors("rosa"))
    rosa.press("c")
    rosa.page.keyboard.type("As said on the phone.")
    rosa.press("Shift+Tab")
    rosa.press("2")
    demo.wait_for_status([item_id], "settled")
    rosa.page.goto(f"/w/leads/items/{item_id}/")
    return rosa.page


def item_blind(demo: Demo, visitors: Visitors) -> Page:
    ((item_id, _),) = demo.post_held("leads", 1, blind=True)
    page = visitors("mara")
    page.goto(f"/w/leads/items/{item_id}/")
    expect(page.locator("main")).to_contain_text("Quality check pending")
    return page


def item_arabic(demo: Demo, visitors: Visitors) -> Page:
    ((item_id, _),) = demo.post_held("messages-ar", 1)
    page = visitors("mara")
    page.goto(f"/w/messages-ar/items/{item_id}/")
    return page


def policy_draft(demo: Demo, visitors: Visitors) -> Page:
    page = visitors("mara")
    page.goto("/w/leads/policy/new/")
    page.get_by_label("Cost of a review").fill("0.75")
    page.get_by_role("button", name="Save as a new draft").click()
    expect(page.get_by_role("button", name="Activate version")).to_be_visible()
    return page


def policy_refused(demo: Demo, visitors: Visitors) -> Page:
    page = visitors("mara")
    page.goto("/w/leads/policy/new/")
    page.get_by_label("Cost of a review").fill("-1")
    page.get_by_role("button", name="Save as a new draft").click()
    expect(page.get_by_role("alert").first).to_be_visible()
    return page


def settings_token(demo: Demo, visitors: Visitors) -> Page:
    page = visitors("mara")
    page.goto("/w/leads/settings/")
    page.get_by_label("Name", exact=True).last.fill("for a look")
    page.get_by_role("checkbox").first.check()
    page.get_by_role("button", name="Create").click()
    expect(page.get_by_role("status").filter(has_text="copy it now")).to_be_visible()
    return page


REACHED: dict[str, Shown] = {
    each.__name__: each
    for each in (
        sign_in_refused,
        desk,
        desk_blind,
        desk_arabic,
        desk_lost,
        desk_wrong,
        desk_not_saved,
        desk_none_of_these,
        desk_cannot_tell,
        desk_several,
        desk_guidelines,
        desk_right_to_left,
        own_keys_refused,
        desk_keys,
        item_in_review,
        item_settled,
        item_blind,
        item_arabic,
        policy_draft,
        policy_refused,
        settings_token,
    )
}


@pytest.fixture(scope="module")
def quiet(demo: Demo, tmp_path_factory: pytest.TempPathFactory) -> None:
    """A workflow to which nothing has ever come."""
    file = tmp_path_factory.mktemp("quiet") / "quiet.toml"
    leads = (ROOT / "apps/demo/samples/leads.toml").read_text(encoding="utf-8")
    file.write_text(leads.replace('slug = "leads"', 'slug = "quiet"'), encoding="utf-8")
    demo.install("quiet", file)


@pytest.mark.parametrize("page", ["review", "items", "insights", "policy", "calibration", "labels"])
def test_before_anything_has_come(quiet: None, visitors: Visitors, page: str) -> None:
    empty = visitors("mara")
    response = empty.goto(f"/w/quiet/{page}/")
    assert response is not None
    assert response.status == 200
    assert problems_of(empty) == []


def test_a_bad_page_is_noticed(visitors: Visitors) -> None:
    page = visitors()
    page.set_content(
        "<html lang='en'><title>Bad</title><main><h1>Bad</h1>"
        "<p style='color:#999;background:#aaa;width:2000px'>pale and wide</p></main>"
    )
    problems = " ".join(problems_of(page))
    assert "color-contrast" in problems
    assert "390: wider than the page" in problems


@pytest.mark.parametrize("name", REACHED)
def test_what_is_reached_by_doing_something(demo: Demo, visitors: Visitors, name: str) -> None:
    assert problems_of(REACHED[name](demo, visitors)) == []
