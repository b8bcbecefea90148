"""Simulated reviewers: they work a desk over HTTP as browsers do, and behave as badly as people and networks do."""

from __future__ import annotations

import gzip
import html
import random
import re
import socket
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from urllib.parse import urlencode

from django.conf import settings
from django.contrib.auth import BACKEND_SESSION_KEY, HASH_SESSION_KEY, SESSION_KEY

from apps.accounts.models import User
from apps.accounts.sessions import SessionStore

REQUEST_LIMIT_S = 30.0
_CSRF = "c" * 32
_LEASE = re.compile(r'data-lease="([0-9a-f-]{36})"')
_FIGURES = re.compile(r'name="figures" value="([^"]*)"')
_UNASKED = 'id="unasked-title"'
_CHOICE = re.compile(r'name="(q:[^"]+)" value="(o:[^"]+)"')
# How often, of a hundred items, a person does what; the rest are answered.
ANSWERS_UNASKED = 0.02
HABITS = {"skip": 3, "leave": 3, "reload": 3, "lost_network": 4, "double_click": 3, "late": 2, "undo": 2}


@dataclass(frozen=True, slots=True)
class Desk:
    """Where the server is and whose desk it is."""

    port: int
    host: str
    slug: str

    @property
    def path(self) -> str:
        return f"/w/{self.slug}/review/"


@dataclass(slots=True)
class Reviewer:
    """One person with one browser. `saved` holds the lease tokens the server said it has taken."""

    desk: Desk
    session: str
    seed: int
    saved: list[str] = field(default_factory=list)
    waits_s: list[float] = field(default_factory=list)
    met: Counter[str] = field(default_factory=Counter)
    _line: _Line | None = None

    def work(self, *, limit_s: float, most: int | None = None, habits: bool = True) -> None:
        """Until the desk is empty three times in a row, so many answers are saved, or the time is over."""
        chance = random.Random(self.seed)  # noqa: S311 - behaviour, no secret
        end, empty = time.monotonic() + limit_s, 0
        page = self._look()
        while time.monotonic() < end and empty < 3 and (most is None or len(self.saved) < most):
            lease = _LEASE.search(page)
            if lease is None:
                empty += "data-empty" in page
                page = self._look()
                continue
            empty = 0
            page = self._one(page, lease[1], chance, self._habit(chance) if habits else "answer")
        self._hang_up()

    def _habit(self, chance: random.Random) -> str:
        drawn = chance.random() * 100
        for habit, share in HABITS.items():
            if drawn < share:
                return habit
            drawn -= share
        return "answer"

    def _one(self, page: str, lease: str, chance: random.Random, habit: str) -> str:
        form = self._filled(page, lease, chance)
        self.met[habit] += 1
        if habit == "skip":
            return self._post("skip/", {"lease": lease, "reason": "Not now"})[1]
        if habit == "leave":
            self._post("release/", {"lease": lease})
            return self._look()
        if habit == "reload":
            return self._look()
        if habit == "late":
            self._post("release/", {"lease": lease})
        if habit == "lost_network":
            self._send_and_hang_up(form)
        if habit == "double_click":
            with ThreadPoolExecutor(1) as second:
                other = second.submit(Reviewer(self.desk, self.session, 0)._post_once, "submit/", form)
                status, following = self._submit(form)
                self.met[f"second_click_{other.result()[0]}"] += 1
        else:
            status, following = self._submit(form)
        self.met[f"{habit}_{status}"] += 1
        if status == 200:
            self.saved.append(lease)
            if habit == "undo":
                return self._undo(lease)
            return following
        return self._look()

    def _undo(self, lease: str) -> str:
        status, page = self._post("undo/", {})
        if status == 200:
            self.saved.remove(lease)
            return page
        return self._look()

    def _filled(self, page: str, lease: str, chance: random.Random) -> dict[str, str]:
        """What is asked, and seldom what is not."""
        asked = page if chance.random() < ANSWERS_UNASKED else page.partition(_UNASKED)[0]
        offered: dict[str, list[str]] = {}
        for name, value in _CHOICE.findall(asked):
            offered.setdefault(html.unescape(name), []).append(html.unescape(value))
        picked = {name: chance.choice(values) for name, values in offered.items()}
        figures = _FIGURES.search(page)
        return {
            "lease": lease,
            "figures": figures[1] if figures else "",
            "seconds": "3.5",
            "note": "",
            **picked,
        }

    def _submit(self, form: dict[str, str]) -> tuple[int, str]:
        started = time.perf_counter()
        answered = self._post("submit/", form)
        self.waits_s.append(time.perf_counter() - started)
        return answered

    def _look(self) -> str:
        return self._ask("GET", "")[1]

    def _post(self, where: str, form: dict[str, str]) -> tuple[int, str]:
        return self._ask("POST", where, urlencode(form))

    def _post_once(self, where: str, form: dict[str, str]) -> tuple[int, str]:
        try:
            return self._post(where, form)
        finally:
            self._hang_up()

    def _ask(self, method: str, where: str, body: str = "") -> tuple[int, str]:
        """Asks again once on a connection that the server closed meanwhile, as browsers do."""
        for attempt in (1, 2):
            try:
                line = self._line = self._line or _Line(self.desk.port)
                line.send(method, self.desk.path + where, self._headers(), body)
                return line.receive()
            except OSError:
                self._hang_up()
                if attempt == 2:
                    raise
        raise AssertionError("either answered or raised")

    def _send_and_hang_up(self, form: dict[str, str]) -> None:
        self._hang_up()
        line = _Line(self.desk.port)
        line.send("POST", self.desk.path + "submit/", self._headers(), urlencode(form))
        line.close()

    def _headers(self) -> dict[str, str]:
        return {
            "Host": self.desk.host,
            "Cookie": f"{settings.SESSION_COOKIE_NAME}={self.session}; {settings.CSRF_COOKIE_NAME}={_CSRF}",
            "X-CSRFToken": _CSRF,
            "HX-Request": "true",
            "HX-Target": "desk",
            "Content-Type": "application/x-www-form-urlencoded",
            "Accept-Encoding": "gzip",
        }

    def _hang_up(self) -> None:
        if self._line is not None:
            self._line.close()
        self._line = None


class _Line:
    """A kept connection that understands what the server here says, and no more: what the reviewers on this machine
    spend on reading is missing to the server that is measured."""

    def __init__(self, port: int) -> None:
        self._socket = socket.create_connection(("127.0.0.1", port), timeout=REQUEST_LIMIT_S)
        self._coming = self._socket.makefile("rb")

    def send(self, method: str, path: str, headers: Mapping[str, str], body: str) -> None:
        lines = [f"{method} {path} HTTP/1.1", f"Content-Length: {len(body)}"]
        lines += [f"{name}: {value}" for name, value in headers.items()]
        self._socket.sendall("\r\n".join([*lines, "", body]).encode("ascii"))

    def receive(self) -> tuple[int, str]:
        """Raises ConnectionError when the server has closed the line."""
        first = self._coming.readline()
        if not first:
            raise ConnectionError("closed")
        length, is_packed = 0, False
        while (line := self._coming.readline().lower()).strip():
            if line.startswith(b"content-length:"):
                length = int(line[15:])
            is_packed = is_packed or line == b"content-encoding: gzip\r\n"
        body = self._coming.read(length)
        if len(body) < length:
            raise ConnectionError("closed in the middle of a page")
        return int(first.split()[1]), (gzip.decompress(body) if is_packed else body).decode()

    def close(self) -> None:
        self._coming.close()
        self._socket.close()


def session_of(user: User) -> str:
    """A signed-in session's key: measuring signs nobody in by password."""
    session = SessionStore()
    session[SESSION_KEY] = str(user.pk)
    session[BACKEND_SESSION_KEY] = settings.AUTHENTICATION_BACKENDS[0]
    session[HASH_SESSION_KEY] = user.get_session_auth_hash()
    session.create()
    return str(session.session_key)


def work_together(
    reviewers: Sequence[Reviewer], *, limit_s: float, most: int | None = None, habits: bool = True
) -> float:
    """Seconds until the last of them stopped. Raises what any of them raised."""
    started = time.monotonic()
    with ThreadPoolExecutor(len(reviewers)) as together:
        for done in [
            together.submit(each.work, limit_s=limit_s, most=most, habits=habits) for each in reviewers
        ]:
            done.result()
    return time.monotonic() - started
