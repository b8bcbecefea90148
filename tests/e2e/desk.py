"""The desk as somebody uses it: what it shows, what it says aloud, and keys of any keyboard."""

from __future__ import annotations

from playwright.sync_api import Locator, Page, expect

NEXT = "Saved. Next item."
_LISTEN = """() => {
  const region = document.getElementById("announce");
  window.heard = [];
  new MutationObserver(() => {
    const text = region.textContent.trim().replace(/\\s+/g, " ");
    if (text) window.heard.push(text);
  }).observe(region, { childList: true });
}"""


class Desk:
    def __init__(self, page: Page, workflow: str = "leads") -> None:
        self.page = page
        self.loads = 0
        page.goto(f"/w/{workflow}/review/")
        page.evaluate(_LISTEN)
        page.on("load", self._count)
        page.on("framenavigated", self._count)

    def _count(self, _: object) -> None:
        self.loads += 1

    @property
    def title(self) -> Locator:
        return self.page.locator("#desk h1")

    @property
    def note(self) -> Locator:
        return self.page.get_by_role("textbox", name="Note")

    @property
    def not_saved(self) -> Locator:
        return self.page.locator("#not-saved")

    def expect_item(self, external_id: str) -> None:
        expect(self.title).to_have_text(f"Item {external_id}")

    def press(self, key: str) -> None:
        self.page.keyboard.press(key)

    def heard(self) -> list[str]:
        """What a screen reader was given so far."""
        texts: list[str] = self.page.evaluate("window.heard")
        return texts

    def expect_heard(self, *texts: str, within_s: float = 15) -> None:
        script = "count => window.heard.length >= count"
        self.page.wait_for_function(script, arg=len(texts), timeout=1000 * within_s)
        assert self.heard() == list(texts)


class Keyboard:
    """Physical keys that write something else than they do on a Latin layout; trusted events, as the system sends."""

    def __init__(self, page: Page) -> None:
        self.session = page.context.new_cdp_session(page)

    def press(self, code: str, writes: str) -> None:
        key = {"code": code, "key": writes}
        self.session.send("Input.dispatchKeyEvent", {"type": "keyDown", "text": writes, **key})
        self.session.send("Input.dispatchKeyEvent", {"type": "keyUp", **key})
