"""More than an option: none of these, cannot tell, several questions at once, and questions that are not asked."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import expect

from tests.e2e.conftest import Visitors
from tests.e2e.desk import NEXT, Desk
from tests.e2e.running import Demo
from tests.e2e.several import SEVERAL_WORKFLOW

pytestmark = pytest.mark.e2e
LAMP = "My lamp is broken."


def told(demo: Demo, item_id: int) -> list[tuple[Any, ...]]:
    """(question, kind, value, what was said, asked) of the answers in force, by the question's place."""
    return demo.query(
        "SELECT question.key, answer.kind, answer.value, answer.said, answer.is_asked FROM reviews_answer answer "
        "JOIN reviews_review review ON review.id = answer.review_id AND review.taken_back_at IS NULL "
        "JOIN reviews_reviewtask task ON task.id = review.task_id "
        "JOIN workflows_question question ON question.id = answer.question_id "
        "WHERE task.item_id = %s ORDER BY question.position",
        item_id,
    )


@pytest.fixture(scope="module")
def several(demo: Demo, tmp_path_factory: pytest.TempPathFactory) -> None:
    file: Path = tmp_path_factory.mktemp("several") / "several.toml"
    file.write_text(SEVERAL_WORKFLOW, encoding="utf-8")
    demo.install("several", file)


def test_it_works(demo: Demo, visitors: Visitors) -> None:
    """None of these by one key and Enter; what is typed before Enter is the option proposed."""
    (first_id, first), (second_id, second) = demo.post_held("leads", 2)
    desk = Desk(visitors("rosa"))
    desk.expect_item(first)
    desk.press("n")
    desk.press("Enter")
    desk.expect_item(second)
    desk.press("n")
    desk.page.keyboard.type("Partner, 3s?")
    desk.press("Enter")

    desk.expect_heard(NEXT, NEXT)
    assert told(demo, first_id) == [("intent", "none_of_these", "other", "", True)]
    assert told(demo, second_id) == [("intent", "none_of_these", "other", "Partner, 3s?", True)]


def test_who_cannot_tell_says_why_by_keys(demo: Demo, visitors: Visitors) -> None:
    items = demo.post_held("leads", 3)
    desk = Desk(visitors("rosa"))
    for (_, name), keys in zip(items, (["x", "Enter"], ["x", "2", "Enter"], ["o", "Enter"]), strict=True):
        desk.expect_item(name)
        for key in keys:
            desk.press(key)

    desk.expect_heard(NEXT, NEXT, NEXT)
    said = [told(demo, item_id) for item_id, _ in items]
    assert [each[0][1:4] for each in said] == [
        ("cannot_tell", None, ""),
        ("cannot_tell", None, "Unreadable"),
        ("cannot_tell", None, "Not for us"),
    ]


def test_enter_saves_what_the_open_panel_says_wherever_the_focus_is(demo: Demo, visitors: Visitors) -> None:
    ((item_id, _),) = demo.post_held("leads", 1)
    desk = Desk(visitors("rosa"))
    desk.press("n")
    desk.page.keyboard.type("Partner")
    desk.title.click()
    desk.press("Enter")

    desk.expect_heard(NEXT)
    assert told(demo, item_id) == [("intent", "none_of_these", "other", "Partner", True)]


def test_escape_leaves_the_panel_and_nothing_is_said(demo: Demo, visitors: Visitors) -> None:
    ((item_id, name),) = demo.post_held("leads", 1)
    desk = Desk(visitors("rosa"))
    desk.press("n")
    desk.page.keyboard.type("Partner")
    desk.press("Escape")
    expect(desk.title).to_be_focused()
    desk.expect_item(name)
    desk.press("3")

    desk.expect_heard(NEXT)
    assert told(demo, item_id) == [("intent", "correct", "spam", "", True)]


PLACES = """() => {
  const question = document.querySelector(".question:not([data-unasked])");
  return [...question.querySelectorAll(".elses > .button, .else > summary")].map((each) => {
    const box = each.getBoundingClientRect();
    return [box.left, box.top + scrollY];
  });
}"""


@pytest.mark.parametrize("key", ["n", "x", "o"])
def test_a_panel_opens_below_and_moves_no_button(demo: Demo, visitors: Visitors, key: str) -> None:
    demo.post_held("leads", 1)
    page = Desk(visitors("rosa")).page
    before = page.evaluate(PLACES)
    page.keyboard.press(key)
    expect(page.locator(".else[open] .else-body")).to_be_in_viewport()
    assert page.evaluate(PLACES) == before
    assert len(before) == 3


def test_a_click_that_opens_a_panel_takes_the_words_at_once(demo: Demo, visitors: Visitors) -> None:
    ((item_id, _),) = demo.post_held("leads", 1)
    desk = Desk(visitors("rosa"))
    desk.page.locator("summary", has_text="New option").click()
    desk.page.keyboard.type("Partner")
    desk.press("Enter")

    desk.expect_heard(NEXT)
    assert told(demo, item_id) == [("intent", "none_of_these", "other", "Partner", True)]


def test_an_arabic_option_begins_at_the_right(demo: Demo, visitors: Visitors) -> None:
    demo.post_held("messages-ar", 1)
    option = Desk(visitors("rosa"), "messages-ar").page.locator(".option").first
    ends = [
        option.locator(each).evaluate("each => each.getBoundingClientRect().right")
        for each in (".option-name > bdi", ".option-text")
    ]
    assert ends[0] == pytest.approx(ends[1], abs=1)


def test_several_questions_are_one_pass_of_keys(demo: Demo, several: None, visitors: Visitors) -> None:
    ((item_id, name),) = demo.post_held("several", 1, state=LAMP)
    desk = Desk(visitors("rosa"), "several")
    desk.expect_item(name)
    assert desk.page.locator(".badge", has_text="Asked").count() == 2
    desk.press("n")
    desk.page.keyboard.type("Complaint")
    desk.press("Enter")
    desk.press("1")

    desk.expect_heard("Saved. Nothing for you now.")
    (kind, urgent) = told(demo, item_id)
    assert kind == ("kind", "none_of_these", None, "Complaint", True)
    assert (urgent[0], urgent[2], urgent[4]) == ("urgent", "true", True)


def test_after_cannot_tell_a_digit_is_a_reason_there_too(
    demo: Demo, several: None, visitors: Visitors
) -> None:
    ((item_id, name),) = demo.post_held("several", 1, state=LAMP)
    desk = Desk(visitors("rosa"), "several")
    desk.expect_item(name)
    for key in ("x", "2", "Enter", "1"):
        desk.press(key)

    desk.expect_heard("Saved. Nothing for you now.")
    assert [(value, said) for _, _, value, said, _ in told(demo, item_id)] == [
        (None, "Unreadable"),
        ("true", ""),
    ]


def test_enter_accepts_only_what_is_asked(demo: Demo, several: None, visitors: Visitors) -> None:
    ((item_id, name),) = demo.post_held("several", 1, state=LAMP)
    desk = Desk(visitors("rosa"), "several")
    desk.expect_item(name)
    desk.press("Enter")

    desk.expect_heard("Saved. Nothing for you now.")
    assert [(key, kind) for key, kind, *_ in told(demo, item_id)] == [
        ("kind", "accept"),
        ("urgent", "accept"),
    ]


def test_what_is_not_asked_may_be_answered(demo: Demo, several: None, visitors: Visitors) -> None:
    ((item_id, name),) = demo.post_held("several", 1, state=LAMP)
    desk = Desk(visitors("rosa"), "several")
    desk.expect_item(name)
    for key in ("u", "3", "Escape"):
        desk.press(key)
    desk.page.get_by_role("button", name="Accept").or_(desk.page.get_by_role("button", name="Save")).click()

    desk.expect_heard("Saved. Nothing for you now.")
    severity = told(demo, item_id)[-1]
    assert (severity[0], severity[2], severity[4]) == ("severity", "2", False)


def test_a_reload_keeps_what_was_picked_and_said(demo: Demo, several: None, visitors: Visitors) -> None:
    ((item_id, name),) = demo.post_held("several", 1, state=LAMP)
    desk = Desk(visitors("rosa"), "several")
    desk.expect_item(name)
    desk.press("n")
    desk.page.keyboard.type("Complaint")
    desk.page.reload()
    expect(desk.page.get_by_label("Which option is missing?")).to_have_value("Complaint")
    desk.press("Enter")

    expect(desk.title).to_have_text("Nothing for you now")
    assert told(demo, item_id)[0] == ("kind", "none_of_these", None, "Complaint", True)
