"""The calibration page with eight weeks behind it: the slider by keys, charts as files, a run asked for."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.e2e.conftest import Visitors
from tests.e2e.looks import problems_of
from tests.e2e.running import ROOT, Demo

pytestmark = pytest.mark.e2e
SLUG, PAGE = "weeks", "/w/weeks/calibration/"
# As rows, because eight weeks cannot be waited for. Only labels with items have a slider.
_PAST = """
from datetime import timedelta
from dataclasses import replace
from django.utils import timezone
from apps.workflows.models import Workflow
from tests.calibration.streams import REVIEWED, insert_past
workflow = Workflow.objects.get(slug="weeks")
label = next(iter(workflow.policies.get(status="active").rules["labels"]))
at = timezone.now() - timedelta(days=3)
right = replace(REVIEWED, label=label, answer=label, at=at)
wrong = replace(right, answer=None, p=0.6)
insert_past(workflow, [*[replace(right, p=0.95)] * 400, *[replace(right, p=0.7)] * 200, *[wrong] * 60])
"""


@pytest.fixture(scope="module")
def weeks(demo: Demo, tmp_path_factory: pytest.TempPathFactory) -> None:
    file: Path = tmp_path_factory.mktemp("weeks") / "weeks.toml"
    example = (ROOT / "apps/demo/samples/leads.toml").read_text(encoding="utf-8")
    file.write_text(example.replace('slug = "leads"', f'slug = "{SLUG}"'), encoding="utf-8")
    demo.install(SLUG, file)
    filled = demo.manage("shell", "-c", _PAST)
    assert filled.returncode == 0, filled.stderr.decode()


@pytest.fixture
def page(visitors: Visitors, weeks: None) -> Page:
    page = visitors("mara")
    page.goto(PAGE)
    # The part that is measured apart has come.
    expect(page.locator("#quality")).to_be_visible()
    return page


def marker(page: Page) -> Locator:
    """The one in the chart of the only label with items."""
    return page.locator("section").filter(has=page.get_by_role("slider")).locator("g.chart-chosen")


def test_it_works(page: Page) -> None:
    slider = page.get_by_role("slider")
    slider.press("Home")
    for _ in range(11):
        slider.press("ArrowRight")
    words = slider.get_attribute("aria-valuetext")
    assert words is not None
    assert words.startswith(
        "From 61 %: 90.9 %, 600 of 660 items act by themselves; decided otherwise at most "
    )
    assert "0 of 600 answers were" in words
    expect(page.locator("[data-shows=share]")).to_have_text("90.9 %, 600 of 660 items")
    expect(marker(page)).to_have_attribute("visibility", "visible")


def test_the_marker_follows_the_slider(page: Page) -> None:
    slider, line = page.get_by_role("slider"), marker(page).locator("line")
    slider.press("Home")
    lowest = float(line.get_attribute("x1") or 0)
    slider.press("End")
    expect(marker(page)).to_have_attribute("visibility", "hidden")
    slider.fill("30")
    assert float(line.get_attribute("x1") or 0) < lowest


def test_moving_it_asks_the_server_nothing(page: Page) -> None:
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    for key in ("Home", "ArrowRight", "PageUp", "End"):
        page.get_by_role("slider").press(key)
    assert asked == []


@pytest.mark.parametrize(
    ("form", "begins"), [("PNG", b"\x89PNG"), ("SVG", b"<svg"), ("CSV", b"from_probability,")]
)
def test_a_chart_is_downloaded(page: Page, form: str, begins: bytes) -> None:
    with page.expect_download() as download:
        page.get_by_label(re.compile(f"^Automation and error: .*: {form}$")).first.click()
    assert download.value.suggested_filename == f"weeks-label.{form.lower()}"
    assert download.value.path().read_bytes().startswith(begins)


def test_everybody_can_read_it(page: Page) -> None:
    assert problems_of(page) == []


def test_a_run_is_asked_for_knowingly(page: Page) -> None:
    page.get_by_role("link", name="Recalibrate now").click()
    expect(page.locator("main")).to_contain_text("Would be tried")
    assert problems_of(page) == []
    page.get_by_role("button", name="Run, 1 attempt").click()
    expect(page.locator(".message")).to_contain_text("1 label was tried, 1 certified")
    page.goto(PAGE)
    page.get_by_text("Certificates and attempts (1)").click()
    expect(page.locator(".chart-history")).to_contain_text("In force")
    assert problems_of(page) == []
    # More is promised from now on than the certificate says.
    page.goto(f"{PAGE}promise/")
    page.get_by_label("Confidence").fill("0.99")
    page.get_by_role("button", name="Save").click()
    page.goto(PAGE)
    expect(page.locator("main")).to_contain_text("nothing is certified for that yet")
    assert problems_of(page) == []
    page.goto(f"/w/{SLUG}/policy/2/")
    expect(page.locator("main")).to_contain_text("with a certificate for less than")
    assert problems_of(page) == []
