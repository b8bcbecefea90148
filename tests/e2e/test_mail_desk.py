"""Mail, pictures and conversations as somebody meets them in a browser; what a hostile mail asks for is not fetched."""

from __future__ import annotations

import io
import json
from collections.abc import Sequence

import pytest
from PIL import Image
from playwright.sync_api import Page, Request, Route, expect

from tests.e2e.conftest import Visitors
from tests.e2e.desk import NEXT, Desk
from tests.e2e.looks import problems_of
from tests.e2e.running import Demo

pytestmark = pytest.mark.e2e
FAR = "https://far.example"
HOSTILE = f"""
<base href="{FAR}/"><meta http-equiv="refresh" content="0;url={FAR}/refresh">
<link rel="stylesheet" href="{FAR}/sheet.css">
<style>@import "{FAR}/import.css"; body {{ background: url({FAR}/b) }}</style>
<script>window.top.__pwned = 1; fetch("{FAR}/script")</script><script src="{FAR}/script.js"></script>
<img src="x" onerror="window.top.__pwned = 1"><svg onload="window.top.__pwned = 1"><image href="{FAR}/svg"/></svg>
<iframe src="{FAR}/frame"></iframe><object data="{FAR}/object"></object><embed src="{FAR}/embed">
<video src="{FAR}/video" poster="{FAR}/poster" autoplay></video><audio src="{FAR}/audio" autoplay></audio>
<form action="{FAR}/form"><input name="q" autofocus onfocus="window.top.__pwned = 1"><button>Go</button></form>
<table background="{FAR}/table"><tr><td style="background: url('{FAR}/cell'); position: fixed">Cell</td></tr></table>
<p style="width: expression(alert(1))">Unclosed <b>bold <a href="javascript:window.top.__pwned=1">Press me</a>
<a href="{FAR}/account">https://bank.example/login</a>
<img src="{FAR}/one.png"><img src="{FAR}/two.png" alt="Two"><img src="{FAR}/tracker.gif" width="1" height="1">
"""
ARABIC = "مرحبا، طلبي رقم 12345 لم يصل بعد.\n\nOrder no. 12345\n\nשלום"


def give_mail(demo: Demo, item_id: int, *, html: str = "", text: str = "Where is my order?") -> None:
    headers = [
        ["From", "Ann Example <ann@example.com>"],
        ["Reply-To", "ann@elsewhere.example"],
        ["To", "us@example.org"],
        ["Subject", "مرحبا: order 12345"],
    ]
    parts = [
        {"kind": "body", "text": text},
        {"kind": "quoted", "text": "> We have sent it."},
        {"kind": "signature", "text": "-- \nAnn"},
    ]
    demo.query(
        "INSERT INTO items_mail (item_id, headers, parts, html, sha256, size) VALUES (%s, %s, %s, %s, '', 1)",
        item_id,
        json.dumps(headers),
        json.dumps(parts),
        html,
    )


def give_pictures(demo: Demo, item_id: int, sizes: Sequence[tuple[int, int]]) -> None:
    for position, size in enumerate(sizes):
        out = io.BytesIO()
        Image.linear_gradient("L").resize(size).save(out, "PNG")
        name = f"{item_id}-{position}"
        demo.query(
            "INSERT INTO items_image (sha256, content_type, width, height, size, data, thumbnail) "
            "VALUES (%s, 'image/png', %s, %s, 1, %s, %s)",
            name,
            *size,
            out.getvalue(),
            out.getvalue(),
        )
        demo.query(
            "INSERT INTO items_attachment (item_id, position, name, content_type, size, sha256, image_id, content_id, "
            "is_for_model, note) VALUES (%s, %s, %s, 'image/png', 2048, %s, %s, '', true, '')",
            item_id,
            position,
            f"page {position}.png",
            name,
            name,
        )


def desk_with_mail(demo: Demo, visitors: Visitors, *, html: str = "<p>Hi</p>", text: str = "Hello") -> Desk:
    ((item_id, _),) = demo.post_held("leads", 1)
    give_mail(demo, item_id, html=html, text=text)
    return Desk(visitors("rosa"))


def show_as_sent(page: Page) -> None:
    page.keyboard.press("v")
    expect(page.frame_locator("iframe.mail-frame").locator("body")).to_be_visible()


def foreign_requests(page: Page, demo: Demo) -> list[Request]:
    """Fills as the page asks elsewhere than our server."""
    found: list[Request] = []

    def listen(request: Request) -> None:
        if not request.url.startswith((demo.url, "data:")):
            found.append(request)

    page.on("request", listen)
    return found


def answer_far(page: Page) -> None:
    def answer(route: Route) -> None:
        route.fulfill(status=200, content_type="image/gif", body=b"GIF89a")

    page.context.route(f"{FAR}/**", answer)


def test_it_works(demo: Demo, visitors: Visitors) -> None:
    desk = desk_with_mail(demo, visitors, html=HOSTILE)
    page, asked = desk.page, foreign_requests(desk.page, demo)
    answer_far(page)
    page.on("dialog", lambda dialog: visitors.complaints.append(dialog.message))
    show_as_sent(page)
    frame = page.frame_locator("iframe.mail-frame")
    expect(frame.get_by_text("Cell")).to_be_visible()
    for link in ("Press me", "https://bank.example/login"):
        frame.get_by_text(link).click()
    page.wait_for_timeout(1_500)
    assert [request.url for request in asked] == []
    assert page.evaluate("window.__pwned") is None
    assert len(page.frames) == 2
    expect(page.get_by_text("names another place")).to_be_visible()


def test_remote_pictures_come_after_one_click(demo: Demo, visitors: Visitors) -> None:
    desk = desk_with_mail(demo, visitors, html=HOSTILE)
    page, asked = desk.page, foreign_requests(desk.page, demo)
    answer_far(page)
    show_as_sent(page)
    with page.expect_request(f"{FAR}/two.png"):
        page.get_by_role("link", name="Load 2 remote pictures").click()
    page.wait_for_timeout(1_000)
    assert sorted(request.url for request in asked) == [f"{FAR}/one.png", f"{FAR}/two.png"]
    assert all("referer" not in request.headers for request in asked)
    assert all("cookie" not in request.headers for request in asked)


def test_the_next_mail_loads_nothing_again(demo: Demo, visitors: Visitors) -> None:
    items = demo.post_held("leads", 2)
    for item_id, _ in items:
        give_mail(demo, item_id, html=HOSTILE)
    desk = Desk(visitors("rosa"))
    page = desk.page
    answer_far(page)
    show_as_sent(page)
    page.get_by_role("link", name="Load 2 remote pictures").click()
    expect(page.get_by_text("were asked for from elsewhere")).to_be_visible()
    desk.press("1")
    desk.expect_item(items[1][1])
    asked = foreign_requests(page, demo)
    show_as_sent(page)
    expect(page.get_by_role("link", name="Load 2 remote pictures")).to_be_visible()
    assert asked == []


def test_keys_work_on_after_a_click_into_the_mail(demo: Demo, visitors: Visitors) -> None:
    desk = desk_with_mail(demo, visitors)
    show_as_sent(desk.page)
    desk.page.frame_locator("iframe.mail-frame").get_by_text("Hi").click()
    desk.press("v")
    expect(desk.page.locator("[data-mail-text]")).to_be_visible()
    expect(desk.page.locator("iframe.mail-frame")).to_be_hidden()
    desk.press("1")
    desk.page.wait_for_function("() => window.heard.some((text) => text.startsWith('Saved.'))")
    assert NEXT in desk.heard() or "Saved. Nothing for you now." in desk.heard()


def test_a_huge_mail_is_answered_in_time(demo: Demo, visitors: Visitors) -> None:
    html = "<ul><li>" * 100_000 + "<p>long</p>" * 400_000
    desk = desk_with_mail(demo, visitors, html=html, text="A line of text\n" * 60_000)
    show_as_sent(desk.page)
    expect(desk.page.get_by_text("longer than is shown here")).to_be_visible()


def test_a_mail_is_for_everybody(demo: Demo, visitors: Visitors) -> None:
    desk = desk_with_mail(demo, visitors, html=HOSTILE, text=ARABIC)
    assert problems_of(desk.page) == []
    assert (
        desk.page.locator("[data-mail-text] .user-text").first.evaluate("e => getComputedStyle(e).direction")
        == "rtl"
    )
    desk.title.click()  # all is unfolded now, and the focus in a field of the hand-over
    show_as_sent(desk.page)
    assert problems_of(desk.page) == []
    desk.page.evaluate("document.documentElement.dir = 'rtl'")
    assert problems_of(desk.page) == []


def test_pictures_are_looked_at_closely_by_keys_alone(demo: Demo, visitors: Visitors) -> None:
    ((item_id, _),) = demo.post_held("leads", 1)
    demo.query("UPDATE items_itemcontent SET state = '\"\"', text = '' WHERE item_id = %s", item_id)
    give_pictures(demo, item_id, [(1200, 1700), (1600, 900)])
    desk = Desk(visitors("rosa"))
    large = desk.page.locator(".picture-stage img")
    expect(large).to_have_js_property("naturalWidth", 1200)
    before = large.bounding_box()
    desk.press("+")
    desk.press("+")
    desk.press("r")
    expect(desk.page.locator("[data-zoomed]")).to_have_text("156 %, turned 90°")
    stage = desk.page.locator(".picture-stage").bounding_box()
    desk.press("0")
    for _ in range(3):
        desk.press("r")
    expect(desk.page.locator("[data-zoomed]")).to_have_text("")
    assert large.bounding_box() == before
    assert desk.page.locator(".picture-stage").bounding_box() == stage
    desk.press("p")
    expect(large).to_have_js_property("naturalWidth", 1600)
    expect(large).to_have_attribute("alt", "page 1.png")
    assert problems_of(desk.page) == []


def test_a_conversation_is_read_line_by_line(demo: Demo, visitors: Visitors) -> None:
    items = demo.post_held("leads", 3, state="We are a solicitor's office, and this is what we wrote before.")
    ids = [item_id for item_id, _ in items]
    demo.query("UPDATE items_item SET group_key = 'thread-of-test' WHERE id = ANY(%s)", ids)
    give_mail(demo, ids[1], text="The second mail")
    desk = Desk(visitors("rosa"))
    desk.press("t")
    line = desk.page.locator(".thread-lines details").first
    line.locator("summary").first.click()
    expect(line.get_by_text("The second mail")).to_be_visible()
    desk.expect_item(items[0][1])
    assert problems_of(desk.page) == []
    desk.page.goto(f"/w/leads/items/{ids[1]}/")
    expect(desk.page.get_by_role("link", name="3 in this thread")).to_be_visible()
    assert problems_of(desk.page) == []
