"""Simulated reviewers: they work a desk over HTTP as browsers do, and behave as badly as people and networks do."""

from __future__ import annotations

import gzip
import html
import http.client
import random
import re
import time
from collections import Counter
from collections.abc import Sequence
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
    _line: http.client.HTTPConnection | None = None

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
        return self._ask("GET", "", None)[1]

    def _post(self, where: str, form: dict[str, str]) -> tuple[int, str]:
        return self._ask("POST", where, urlencode(form))

    def _post_once(self, where: str, form: dict[str, str]) -> tuple[int, str]:
        try:
            return self._post(where, form)
        finally:
            self._hang_up()

    def _ask(self, method: str, where: str, body: str | None) -> tuple[int, str]:
        """Asks again once on a connection that the server closed meanwhile, as browsers do."""
        for attempt in (1, 2):
            line = self._line or self._connect()
            try:
                line.request(method, self.desk.path + where, body, self._headers())
                response = line.getresponse()
                return response.status, _read(response)
            except (http.client.HTTPException, OSError):
                self._hang_up()
                if attempt == 2:
                    raise
        raise AssertionError("either answered or raised")

    def _send_and_hang_up(self, form: dict[str, str]) -> None:
        line = self._connect()
        line.request("POST", self.desk.path + "submit/", urlencode(form), self._headers())
        line.close()
        self._line = None

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

    def _connect(self) -> http.client.HTTPConnection:
        self._line = http.client.HTTPConnection("127.0.0.1", self.desk.port, timeout=REQUEST_LIMIT_S)
        return self._line

    def _hang_up(self) -> None:
        if self._line is not None:
            self._line.close()
        self._line = None


def _read(response: http.client.HTTPResponse) -> str:
    body = response.read()
    return (gzip.decompress(body) if response.headers["Content-Encoding"] == "gzip" else body).decode()


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
