"""The running product as a test meets it: its API, its database, its shell; and items that a test can recognise."""

from __future__ import annotations

import itertools
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import httpx
import psycopg

from apps.core.embedded import EmbeddedServers
from apps.routing.draw import draws_for

ROOT = Path(__file__).resolve().parents[2]
OURS = ("DATABASE_URL", "REDIS_URL", "SECRET_KEY", "DJANGO_SETTINGS_MODULE", "LOG_LEVEL", "PYTEST_VERSION")
MOST_POSTED = 1_000
BLIND_SHARE = 0.10
"""As in the policies of the demo's workflows."""

# Both are held whatever the model's chances: the policy holds what speaks of lawyers or is sure to be none of these.
HELD_TEXT = {
    "leads": "We are a solicitor's office and would like a demo and a price for 12 people.",
    "messages-ar": "مرحبا، هل يوجد عندكم عنوان فرع في عمّان؟ أريد استرجاع المبلغ.",
}


@dataclass
class Demo:
    url: str
    tokens: dict[str, str]
    passwords: dict[str, str]
    model: str
    process: subprocess.Popen[bytes]
    var: Path
    _turn: Iterator[int] = field(default_factory=lambda: itertools.count(1))

    def api(self, workflow: str) -> httpx.Client:
        headers = {"Authorization": f"Bearer {self.tokens[workflow]}"}
        return httpx.Client(base_url=f"{self.url}/api/v1/", headers=headers, timeout=60, trust_env=False)

    def post(self, workflow: str, items: Sequence[dict[str, Any]]) -> list[int]:
        """The ids of new items; people get them in this order, those of a later call before them all."""
        first = MOST_POSTED * next(self._turn)
        rows = [{"priority": first - index} | item for index, item in enumerate(items)]
        with self.api(workflow) as api:
            answer = api.post(f"workflows/{workflow}/items", json={"items": rows})
        assert answer.status_code == 200, answer.text
        assert answer.json()["created"] == len(items), answer.text
        return [item["id"] for item in answer.json()["items"]]

    def post_held(
        self, workflow: str, count: int, *, blind: bool = False, **content: Any
    ) -> list[tuple[int, str]]:
        """(id, external id) of new items that wait for people now, first in the queue; nobody has anything open."""
        content = {"state": HELD_TEXT.get(workflow)} | content
        names = list(itertools.islice(self.external_ids(workflow, blind=blind), count))
        ids = self.post(workflow, [{"external_id": name} | content for name in names])
        self.wait_for_status(ids, "in_review")
        self.query("DELETE FROM reviews_lease")
        return list(zip(ids, names, strict=True))

    def external_ids(self, workflow: str, *, blind: bool) -> Iterator[str]:
        """Names whose items are, or are not, drawn for an answer from the text alone."""
        key = (self.var / "secret_key").read_bytes().strip()
        turn = next(self._turn)
        for number in itertools.count(1):
            name = f"test-{turn:04}-{number:04}"
            if (draws_for(key, workflow, name).blind < BLIND_SHARE) == blind:
                yield name

    def wait_for_status(self, ids: Sequence[int], status: str, seconds: float = 30) -> None:
        question = "SELECT count(*) FROM items_item WHERE id = ANY(%s) AND status = %s"
        wait_for(
            lambda: self.query(question, list(ids), status) == [(len(ids),)],
            seconds,
            f"{len(ids)} items to be {status}",
        )

    def story(self, workflow: str, item_id: int) -> dict[str, Any]:
        with self.api(workflow) as api:
            found: dict[str, Any] = api.get(f"items/{item_id}").raise_for_status().json()
        return found

    def reviews(self, ids: Sequence[int]) -> list[tuple[int, str]]:
        """(item, person) of every review in force of these items, in the order they were given."""
        return self.query(
            "SELECT task.item_id, person.username FROM reviews_review review "
            "JOIN reviews_reviewtask task ON task.id = review.task_id "
            "JOIN accounts_user person ON person.id = review.user_id "
            "WHERE task.item_id = ANY(%s) AND review.taken_back_at IS NULL ORDER BY review.id",
            list(ids),
        )

    @cached_property
    def database_url(self) -> str:
        return EmbeddedServers(self.var).start().database_url

    def query(self, question: str, *values: Any) -> list[tuple[Any, ...]]:
        """Straight to the demo's own database; what is changed stays changed."""
        with psycopg.connect(self.database_url, autocommit=True, connect_timeout=10) as connection:
            cursor = connection.execute(question, values)
            return cursor.fetchall() if cursor.description else []

    def install(self, slug: str, file: Path) -> None:
        """A workflow from a file, as on the first day; rosa and ravi review it, mara manages it."""
        ((model, address),) = self.query("SELECT model, base_url FROM workflows_endpoint LIMIT 1")
        done = self.manage("setup", str(file), "--admin", "olga", "--endpoint", address, "--model", model)
        assert done.returncode == 0, done.stderr.decode()
        self.query(
            "INSERT INTO workflows_membership (workflow_id, user_id, role) "
            "SELECT workflow.id, person.id, CASE person.username WHEN 'mara' THEN 'manager' ELSE 'reviewer' END "
            "FROM workflows_workflow workflow, accounts_user person "
            "WHERE workflow.slug = %s AND person.username IN ('rosa', 'ravi', 'mara')",
            slug,
        )
        made = self.manage("create_token", "--user", "mara", "--workflow", slug)
        self.tokens[slug] = next(word for word in made.stdout.decode().split() if word.startswith("fmt_"))

    def manage(self, *arguments: str) -> subprocess.CompletedProcess[bytes]:
        """`manage.py …` in a shell beside the running demo."""
        return subprocess.run(
            [sys.executable, "manage.py", *arguments],
            cwd=ROOT,
            env=outer_environment() | {"FERMATA_VAR": str(self.var)},
            capture_output=True,
            timeout=60,
            check=False,
        )


def outer_environment() -> dict[str, str]:
    """Without what the test run itself has set: the demo finds its own servers."""
    return {name: value for name, value in os.environ.items() if name not in OURS}


def wait_for(condition: Callable[[], object], seconds: float, what: str) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, f"waited {seconds} s for {what}"
        time.sleep(0.2)
