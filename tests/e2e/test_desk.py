"""A reviewer works with keys alone, and nothing but the item changes."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import expect

from tests.e2e.conftest import Visitors
from tests.e2e.desk import NEXT, Desk, Keyboard
from tests.e2e.running import HELD_TEXT, Demo, wait_for

pytestmark = pytest.mark.e2e
# On the desk of "leads": 1 qualified lead, 2 existing customer, 3 spam, 4 none of these; a lead is suggested.
KEYS = {
    "1": "qualified_lead",
    "2": "existing_customer",
    "3": "spam",
    "4": "other",
    "Enter": "qualified_lead",
}
MANY = ["1", "2", "3", "4", "Enter", "Enter", "3", "1", "2", "Enter", "4", "2", "Enter"]


def answers(demo: Demo, item_id: int) -> list[str]:
    """Every answer ever given to the item's question, those taken back too."""
    return [review["answers"][0]["value"] for review in demo.story("leads", item_id)["reviews"]]


def test_it_works(demo: Demo, visitors: Visitors) -> None:
    items = demo.post_held("leads", len(MANY))
    desk = Desk(visitors("rosa"))
    for key, (_, name) in zip(MANY, items, strict=True):
        desk.expect_item(name)
        desk.press(key)
    desk.expect_heard(*[NEXT] * len(MANY))

    assert desk.loads == 0
    assert [answers(demo, item_id) for item_id, _ in items] == [[KEYS[key]] for key in MANY]


def test_the_focus_is_on_the_next_item(demo: Demo, visitors: Visitors) -> None:
    (_, first), (_, second) = demo.post_held("leads", 2)
    desk = Desk(visitors("rosa"))
    desk.expect_item(first)
    desk.press("2")

    desk.expect_item(second)
    expect(desk.title).to_be_focused()


def test_it_says_why_the_item_is_here(demo: Demo, visitors: Visitors) -> None:
    demo.post_held("leads", 1)
    page = Desk(visitors("rosa")).page

    expect(page.locator(".desk-why")).to_contain_text("Lawyers and data protection")
    expect(page.locator("button.option.is-suggested")).to_contain_text("Qualified lead")


def test_the_options_stand_where_they_stood(demo: Demo, visitors: Visitors) -> None:
    items = [*demo.post_held("leads", 1, blind=True), *demo.post_held("leads", 1)]
    desk = Desk(visitors("rosa"))
    places = []
    for _, name in reversed(items):
        desk.expect_item(name)
        places.append([box.bounding_box() for box in desk.page.locator("button.option").all()])
        desk.press("3")
    assert places[0] == places[1]


def test_a_blind_item_shows_nothing_of_the_model(demo: Demo, visitors: Visitors) -> None:
    ((item_id, name),) = demo.post_held("leads", 1, blind=True)
    desk = Desk(visitors("rosa"))
    desk.expect_item(name)
    assert desk.page.locator("button.option").count() == 4
    assert desk.page.locator(".is-suggested, .option-p").count() == 0
    assert "standin" not in desk.page.content()
    desk.press("Enter")
    desk.press("3")

    desk.expect_heard(NEXT)
    # While it can be taken back nobody sees it, not even by API: who looked would answer anew, but not blind.
    assert answers(demo, item_id) == []
    wait_for(lambda: answers(demo, item_id) == ["spam"], 30, "the blind answer to be shown")


def test_skip_leaves_the_item_to_others(demo: Demo, visitors: Visitors) -> None:
    (first_id, first), (_, second) = demo.post_held("leads", 2)
    desk = Desk(visitors("rosa"))
    desk.expect_item(first)
    desk.press("s")

    desk.expect_item(second)
    desk.expect_heard("Skipped. Next item.")
    assert demo.reviews([first_id]) == []


def test_a_note_is_typed_without_keys_acting(demo: Demo, visitors: Visitors) -> None:
    ((item_id, name),) = demo.post_held("leads", 1)
    desk = Desk(visitors("rosa"))
    desk.press("c")
    expect(desk.note).to_be_focused()
    desk.page.keyboard.type("no 3 offers, see z? / s\n1")
    desk.expect_item(name)
    assert desk.page.locator("#keys").is_hidden()
    desk.press("Shift+Tab")
    desk.press("2")

    desk.expect_heard(NEXT)
    (review,) = demo.story("leads", item_id)["reviews"]
    assert review["note"].splitlines() == ["no 3 offers, see z? / s", "1"]


def test_escape_leaves_a_note_and_its_key_leads_back(demo: Demo, visitors: Visitors) -> None:
    ((item_id, _),) = demo.post_held("leads", 1)
    desk = Desk(visitors("rosa"))
    desk.press("c")
    desk.page.keyboard.type("half")
    desk.press("Escape")
    expect(desk.title).to_be_focused()
    desk.press("c")
    desk.page.keyboard.type(" a note")
    desk.press("Escape")
    desk.press("2")

    desk.expect_heard(NEXT)
    assert [review["note"] for review in demo.story("leads", item_id)["reviews"]] == ["half a note"]


def test_z_takes_the_last_answer_back(demo: Demo, visitors: Visitors) -> None:
    (first_id, first), (_, second) = demo.post_held("leads", 2)
    desk = Desk(visitors("rosa"))
    desk.expect_item(first)
    desk.press("3")
    desk.expect_item(second)
    desk.press("z")

    desk.expect_item(first)
    desk.expect_heard(NEXT, "Taken back. Next item.")
    desk.press("1")
    desk.expect_item(second)
    assert answers(demo, first_id) == ["spam", "qualified_lead"]
    assert demo.reviews([first_id]) == [(first_id, "rosa")]


def test_what_cannot_be_taken_back_says_so_and_stays(demo: Demo, visitors: Visitors) -> None:
    desk = Desk(visitors("mara"), "documents")
    desk.press("z")

    desk.expect_heard("You have no answer here to take back.")
    expect(desk.page.locator("#messages")).to_contain_text("no answer here")


def test_keys_that_scroll_scroll_the_item(demo: Demo, visitors: Visitors) -> None:
    state = "\n".join([HELD_TEXT["leads"], *(f"Line {number} of a long mail." for number in range(300))])
    demo.post_held("leads", 1, state=state)
    page = Desk(visitors("rosa")).page
    at = "[scrollY, document.querySelector('.desk-text').scrollTop]"
    page.keyboard.press("Space")
    down, text = page.evaluate(at)
    assert down == 0
    assert text > 200
    page.keyboard.press("Shift+Space")
    assert page.evaluate(at) == [0, 0]
    page.keyboard.press("End")
    page.keyboard.press("PageDown")
    page.wait_for_function("() => scrollY > 0")


def test_a_question_mark_lists_the_keys(demo: Demo, visitors: Visitors) -> None:
    ((item_id, name),) = demo.post_held("leads", 1)
    desk = Desk(visitors("rosa"))
    desk.press("?")
    expect(desk.page.get_by_role("dialog", name="Keys")).to_contain_text("Skip")
    desk.press("3")  # silent behind the list
    desk.press("Escape")

    expect(desk.page.locator("#keys")).to_be_hidden()
    desk.expect_item(name)
    assert demo.reviews([item_id]) == []


def test_keys_of_an_arabic_keyboard(demo: Demo, visitors: Visitors) -> None:
    items = demo.post_held("leads", 3)
    desk = Desk(visitors("rosa"))
    keyboard = Keyboard(desk.page)
    keyboard.press("Slash", "؟")
    expect(desk.page.locator("#keys")).to_be_visible()
    desk.press("Escape")
    expect(desk.page.locator("#keys")).to_be_hidden()
    for (_, name), (code, writes) in zip(items, [("Digit3", "٣"), ("KeyN", "ى"), ("KeyS", "س")], strict=True):
        desk.expect_item(name)
        keyboard.press(code, writes)
        if code == "KeyN":
            desk.press("Enter")

    desk.expect_heard(NEXT, NEXT, "Skipped. Next item.")
    assert [answers(demo, item_id) for item_id, _ in items] == [["spam"], ["other"], []]


def test_a_key_that_bounces_is_one_review(demo: Demo, visitors: Visitors) -> None:
    (first_id, first), (second_id, second) = demo.post_held("leads", 2)
    desk = Desk(visitors("rosa"))
    desk.expect_item(first)
    desk.page.evaluate(
        "() => { for (const _ of [1, 2, 3])"
        " document.body.dispatchEvent(new KeyboardEvent('keydown', {code: 'Digit2', key: '2', bubbles: true})); }"
    )

    desk.expect_item(second)
    desk.press("s")
    desk.expect_heard(NEXT, "Skipped. Next item.")
    assert demo.reviews([first_id, second_id]) == [(first_id, "rosa")]


def test_a_held_key_is_one_review(demo: Demo, visitors: Visitors) -> None:
    (first_id, first), (second_id, second) = demo.post_held("leads", 2)
    desk = Desk(visitors("rosa"))
    desk.expect_item(first)
    for _ in range(6):  # down again without up in between: the keyboard repeats it
        desk.page.keyboard.down("2")

    desk.expect_item(second)
    desk.page.keyboard.up("2")
    assert demo.reviews([first_id, second_id]) == [(first_id, "rosa")]


def test_without_javascript_it_is_a_form(demo: Demo, visitors: Visitors) -> None:
    (first_id, first), (_, second) = demo.post_held("leads", 2)
    page = visitors("rosa", java_script_enabled=False)
    page.goto("/w/leads/review/")
    expect(page.locator("h1")).to_have_text(f"Item {first}")
    page.get_by_role("button", name=re.compile("^Spam")).click()

    expect(page.locator("h1")).to_have_text(f"Item {second}")
    expect(page.get_by_role("status").filter(has_text="Saved.")).to_be_visible()
    assert answers(demo, first_id) == ["spam"]


def test_on_a_phone_a_tap_is_the_answer(demo: Demo, visitors: Visitors) -> None:
    (first_id, first), (_, second) = demo.post_held("leads", 2)
    desk = Desk(visitors("rosa", viewport={"width": 390, "height": 844}, has_touch=True, is_mobile=True))
    desk.expect_item(first)
    desk.page.get_by_role("button", name="Existing customer").tap()

    desk.expect_item(second)
    assert answers(demo, first_id) == ["existing_customer"]
    assert desk.page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_on_a_phone_the_answer_stays_in_reach(demo: Demo, visitors: Visitors) -> None:
    demo.post_held("leads", 1, state="We are a solicitor's office. " + "A long story, told slowly.\n" * 200)
    desk = Desk(visitors("rosa", viewport={"width": 390, "height": 844}, has_touch=True, is_mobile=True))
    expect(desk.page.locator("button.option").first).to_be_in_viewport(ratio=1)
    expect(desk.title).to_be_in_viewport(ratio=1)
    small = desk.page.evaluate(
        "() => [...document.querySelectorAll('#desk :is(button, summary, select, a.button)')]"
        ".filter((each) => each.checkVisibility() && each.getBoundingClientRect().height < 43.9)"
        ".map((each) => each.outerHTML.slice(0, 120))"
    )
    assert small == []


def test_on_a_phone_a_panel_opens_with_its_button_in_sight(demo: Demo, visitors: Visitors) -> None:
    demo.post_held("leads", 1)
    page = Desk(visitors("rosa", viewport={"width": 390, "height": 844}, has_touch=True, is_mobile=True)).page
    page.locator("summary", has_text="Cannot tell").tap()

    expect(page.get_by_role("button", name="Save as “cannot tell”")).to_be_in_viewport(ratio=1)
    expect(page.locator(".else-body:visible input").first).not_to_be_focused()
