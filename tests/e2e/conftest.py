"""The product as a newcomer starts it, `manage.py demo`, and a real Chromium in front of it."""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from playwright.sync_api import (
    Browser,
    BrowserContext,
    ConsoleMessage,
    Page,
    StorageState,
    expect,
    sync_playwright,
)

from apps.config.bootstrap import find_chromium
from tests.e2e.running import ROOT, Demo, outer_environment, wait_for

START_S = 300
FLAGS = (
    "--disable-gpu",
    "--disable-quic",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
)
BROWSER_SAYS = ("Failed to load resource",)
HTMX_SAYS = (
    "htmx:sendError",
    "htmx:timeout",
    "htmx:sendAbort",
    "htmx:afterRequest",
    "Response Status Error Code 503",
)


@pytest.fixture(scope="session")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Demo]:
    """One for all browser tests: tests post items of their own where they need to know them."""
    # Not in a private folder of root's: the database's own user must be able to enter it.
    var = ROOT / "var" / f"e2e-{os.getpid()}"
    log = tmp_path_factory.mktemp("demo") / "demo.log"
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    with log.open("wb") as output:
        process = subprocess.Popen(
            [sys.executable, "manage.py", "demo"],
            cwd=ROOT,
            env=outer_environment() | {"FERMATA_VAR": str(var), "PORT": str(port)},
            stdout=output,
            stderr=subprocess.STDOUT,
        )
    try:
        wait_for(lambda: ready(var / "demo.json", port, process, log), START_S, "the demo to answer")
        about: dict[str, Any] = json.loads((var / "demo.json").read_text())
        passwords = {user["username"]: user["password"] for user in about["users"]}
        yield Demo(about["url"].rstrip("/"), about["tokens"], passwords, about["model"], process, var)
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(60)
        shutil.rmtree(var)


def ready(about: Path, port: int, process: subprocess.Popen[bytes], log: Path) -> bool:
    assert process.poll() is None, f"the demo stopped:\n{log.read_text()[-3000:]}"
    if not about.exists():
        return False
    try:
        return httpx.get(f"http://127.0.0.1:{port}/sign-in/", trust_env=False).status_code == 200
    except httpx.TransportError:
        return False


def chromium() -> str:
    found = find_chromium(os.environ.get("CHROMIUM", ""))
    assert found, "Chromium is not here: `make test` installs it, or set CHROMIUM to its path."
    return found


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    expect.set_options(timeout=15_000)
    flags = [*FLAGS, *(["--no-sandbox"] if os.geteuid() == 0 else [])]
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium(), args=flags)
        yield browser
        browser.close()


class Visitors:
    """`visitors("rosa")` is a page of somebody signed in, in a browser of their own; options are a context's."""

    def __init__(self, browser: Browser, demo: Demo, sessions: dict[str, StorageState]) -> None:
        self.browser, self.demo, self.sessions = browser, demo, sessions
        self.contexts: list[BrowserContext] = []
        self.complaints: list[str] = []
        self.line_may_fail = False

    def __call__(self, name: str | None = None, **options: Any) -> Page:
        if name:
            options["storage_state"] = self.sessions.get(name) or self.sign_in(name)
        options = {"viewport": {"width": 1280, "height": 800}} | options
        context = self.browser.new_context(base_url=self.demo.url, **options)
        context.set_default_timeout(15_000)
        self.contexts.append(context)
        page = context.new_page()
        page.on("pageerror", lambda error: self.complaints.append(str(error)))
        page.on("console", self._listen)
        return page

    def sign_in(self, name: str) -> StorageState:
        """Once a person: later visits come with the cookie they were given."""
        page = self()
        fill_sign_in(page, name, self.demo.passwords[name])
        page.wait_for_url(lambda url: "/sign-in/" not in url)
        self.sessions[name] = page.context.storage_state()
        page.context.close()
        return self.sessions[name]

    def close(self) -> None:
        for context in self.contexts:
            context.close()
        assert self.complaints == []

    def _listen(self, message: ConsoleMessage) -> None:
        # A refusal by the Content-Security-Policy, too, arrives here; so does what the browser says of any 409.
        known = (*BROWSER_SAYS, *(HTMX_SAYS if self.line_may_fail else ()))
        if message.type == "error" and not message.text.startswith(known):
            self.complaints.append(message.text)


def fill_sign_in(page: Page, name: str, password: str) -> None:
    page.goto("/sign-in/")
    page.get_by_label("Username").fill(name)
    page.get_by_label("Password").fill(password)
    page.get_by_role("button", name="Sign in").click()


@pytest.fixture(scope="session")
def sessions() -> dict[str, StorageState]:
    return {}


@pytest.fixture
def visitors(browser: Browser, demo: Demo, sessions: dict[str, StorageState]) -> Iterator[Visitors]:
    visitors = Visitors(browser, demo, sessions)
    yield visitors
    visitors.close()
