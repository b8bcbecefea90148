"""One item all the way: posted as README.md says, decided, reviewed in a browser, acted on, counted, exported."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import httpx
import pytest
from playwright.sync_api import Browser, Page, StorageState, expect

from tests.e2e.conftest import Visitors
from tests.e2e.desk import NEXT, Desk
from tests.e2e.running import ROOT, Demo, outer_environment, wait_for

pytestmark = pytest.mark.e2e
QUERY = "question=intent&value=qualified_lead"
VERIFIED_S = 30


@dataclass(frozen=True)
class Told:
    """What the integrator was answered, and the item's story once everything has happened."""

    posted: dict[str, Any]
    story: dict[str, Any]


@pytest.fixture(scope="module")
def told(demo: Demo, browser: Browser, sessions: dict[str, StorageState]) -> Iterator[Told]:
    rosa = Visitors(browser, demo, sessions)
    posted = post_as_readme_says(demo)
    demo.wait_for_status([posted["id"]], "in_review")
    bring_forward(demo, posted["id"])
    desk = Desk(rosa("rosa"))
    desk.expect_item("mail-1")
    desk.press("1")
    desk.expect_heard(NEXT)
    wait_for(lambda: action_status(demo, posted["id"]) == "verified", VERIFIED_S, "the tag to be read back")
    yield Told(posted, demo.story("leads", posted["id"]))
    rosa.close()


def post_as_readme_says(demo: Demo) -> dict[str, Any]:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    (command,) = [block for block in re.findall(r"```sh\n(.*?)```", text, re.S) if "/items" in block]
    environment = outer_environment() | {
        "FERMATA_URL": demo.url,
        "FERMATA_TOKEN": demo.tokens["leads"],
        "no_proxy": "*",
    }
    done = subprocess.run(
        ["bash", "-c", command], env=environment, capture_output=True, timeout=30, check=True
    )
    answer: dict[str, Any] = httpx.Response(200, content=done.stdout).json()
    return answer


def bring_forward(demo: Demo, item_id: int) -> None:
    """As README posts it, it waits behind all that came before: the desk would show it an hour later."""
    demo.query("DELETE FROM reviews_lease")
    demo.query("UPDATE reviews_reviewtask SET priority = 1000000 WHERE item_id = %s", item_id)


def action_status(demo: Demo, item_id: int) -> str:
    runs = demo.story("leads", item_id)["action_runs"]
    return str(runs[0]["status"]) if runs else "none"


def test_it_works(told: Told) -> None:
    assert (told.posted["external_id"], told.posted["created"]) == ("mail-1", True)
    assert (told.story["status"], told.story["settled_by"]) == ("settled", "people")
    assert told.story["label"]["value"] == "qualified_lead"
    (run,) = told.story["action_runs"]
    assert (run["status"], run["started_by"], run["read_back"]["tag"]) == ("verified", "people", "lead")


def test_its_page_tells_everything(told: Told, visitors: Visitors) -> None:
    page = visitors("rosa")
    page.goto(f"/w/leads/items/{told.posted['id']}/")
    expect(page.get_by_role("heading", level=1)).to_have_text("Item mail-1")
    for part in ("Decision", "Route: review", "Review task", "Review by rosa", "Label: ", "Action: "):
        expect(page.get_by_role("heading", level=3, name=part).first).to_be_visible()
    expect(page.locator("main")).to_contain_text("Answer to Intent")
    expect(page.locator("main")).to_contain_text("Verified")
    assert "Could you send an offer?" in page.locator("main").inner_text()


def test_it_is_found_by_its_words(told: Told, visitors: Visitors) -> None:
    page = visitors("rosa")
    page.goto("/w/leads/items/?text=mail-1")
    page.get_by_role("link", name=re.compile("Pricing for 40 seats")).first.click()
    expect(page).to_have_url(re.compile(f"/items/{told.posted['id']}/$"))


def test_a_reply_of_the_api_leads_to_the_same_story(told: Told, demo: Demo) -> None:
    again = post_as_readme_says(demo)
    assert (again["id"], again["created"], again["status"]) == (told.posted["id"], False, "settled")


def test_the_overview_counts_it(told: Told, visitors: Visitors) -> None:
    page = visitors("mara")
    page.goto("/w/leads/insights/")
    for name in ("Automatic share", "Overridden, model visible", "Wrong among automatic"):
        expect(page.locator(".stat", has_text=name)).to_be_visible()
    assert re.search(r"\d+ of \d+", page.locator(".stat", has_text="Automatic share").inner_text())
    expect(page.get_by_role("row", name=re.compile("rosa"))).to_be_visible()


@pytest.mark.parametrize("form", ["jsonl", "csv", "systemone"])
def test_page_api_and_shell_export_the_same_bytes(
    told: Told, demo: Demo, visitors: Visitors, form: str
) -> None:
    page = visitors("mara")
    page.goto(f"/w/leads/labels/?{QUERY}")
    from_page = downloaded(page, form)
    shell = demo.manage("export_labels", "--workflow", "leads", "--format", form, *shell_query())

    assert b"40 seats" in from_page
    assert from_page == exported_by_api(demo, form)
    assert from_page == shell.stdout, shell.stderr


def downloaded(page: Page, form: str) -> bytes:
    with page.expect_download() as about:
        page.locator(f"a[download][href*='{QUERY}'][href$='format={form}']").click()
    return about.value.path().read_bytes()


def shell_query() -> list[str]:
    return [
        part for pair in QUERY.split("&") for part in (f"--{pair.partition('=')[0]}", pair.partition("=")[2])
    ]


def exported_by_api(demo: Demo, form: str) -> bytes:
    query = dict(pair.split("=") for pair in QUERY.split("&"))
    with demo.api("leads") as api:
        asked = api.post("workflows/leads/exports", json={"format": form, "query": query})
        assert asked.status_code == 202, asked.text
        address = f"exports/{asked.json()['id']}"
        wait_for(lambda: api.get(address).json()["status"] == "done", 30, "the export to be made")
        return api.get(f"{address}/file").raise_for_status().content
