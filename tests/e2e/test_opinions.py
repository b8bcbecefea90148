"""Two people who differ, and the one who decides between them with both answers in sight."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.e2e.conftest import Visitors
from tests.e2e.desk import Desk
from tests.e2e.looks import problems_of
from tests.e2e.running import Demo, wait_for
from tests.e2e.several import SEVERAL_WORKFLOW

pytestmark = pytest.mark.e2e
OPINIONS = "/w/opinions/settings/opinions/"
ONE_QUESTION = SEVERAL_WORKFLOW[: SEVERAL_WORKFLOW.rindex("[[policy.holds]]")].replace(
    'slug = "several"', 'slug = "opinions"'
)


@pytest.fixture(scope="module")
def opinions(demo: Demo, tmp_path_factory: pytest.TempPathFactory) -> None:
    file: Path = tmp_path_factory.mktemp("opinions") / "opinions.toml"
    file.write_text(ONE_QUESTION, encoding="utf-8")
    demo.install("opinions", file)


def want_two(page: Page) -> None:
    page.goto(OPINIONS)
    page.get_by_label("People for every item").fill("2")
    page.get_by_label("When they differ").select_option("unanimous")
    page.get_by_role("button", name="Save").click()
    expect(page.locator("#messages")).to_contain_text("Saved.")
    expect(page.get_by_text("All must agree, else a senior decides.").first).to_be_visible()


@pytest.mark.usefixtures("opinions")
def test_it_works(demo: Demo, visitors: Visitors) -> None:
    mara = visitors("mara")
    want_two(mara)
    [(item_id, name)] = demo.post_held("opinions", 1, state="My lamp is broken.")
    for person, key in (("rosa", "1"), ("ravi", "2")):
        desk = Desk(visitors(person), "opinions")
        desk.expect_item(name)
        expect(desk.page.get_by_text("What colleagues answered")).to_be_hidden()
        desk.press(key)
        expect(desk.title).not_to_have_text(f"Item {name}")

    decides = Desk(mara, "opinions")
    decides.expect_item(name)
    answers = mara.get_by_role("region", name="Answers side by side")
    expect(answers).to_contain_text("Order")
    expect(answers).to_contain_text("Fault")
    decides.press("2")
    expect(decides.title).not_to_have_text(f"Item {name}")
    # While it can be taken back nobody sees it.
    wait_for(lambda: demo.story("opinions", item_id)["label"], 30, "the label to be shown")
    told = demo.story("opinions", item_id)
    assert (told["label"]["value"], told["label"]["source"]) == ("fault", "adjudication")


@pytest.mark.usefixtures("opinions")
def test_pages_are_for_everybody(demo: Demo, visitors: Visitors) -> None:
    mara = visitors("mara")
    want_two(mara)
    mara.goto(OPINIONS)  # without the message, which fades
    assert problems_of(mara) == []
    [(_, name)] = demo.post_held("opinions", 1, state="My lamp is broken.")
    for person, key in (("rosa", "1"), ("ravi", "2")):
        desk = Desk(visitors(person), "opinions")
        desk.expect_item(name)
        desk.press(key)
        expect(desk.title).not_to_have_text(f"Item {name}")
    decides = Desk(mara, "opinions")
    decides.expect_item(name)
    assert problems_of(mara) == []
