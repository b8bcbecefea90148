"""What runs beneath is killed while items flow: the product comes back by itself, and decides each item once."""

from __future__ import annotations

import os
import signal

import psutil  # type: ignore[import-untyped]  # its types are a package of their own, for one call
import pytest

from tests.e2e.conftest import Visitors
from tests.e2e.desk import NEXT, Desk
from tests.e2e.running import Demo, wait_for

pytestmark = [pytest.mark.e2e, pytest.mark.chaos]
RECOVERY_S = 60
MANY = 400
DECIDED = """
SELECT count(DISTINCT item.id), count(decision.id), count(DISTINCT route.id)
FROM items_item item
JOIN items_decision decision ON decision.item_id = item.id
JOIN items_route route ON route.item_id = item.id AND route.superseded_at IS NULL
WHERE item.id = ANY(%s) AND item.status IN ('in_review', 'settled')
"""
CLAIMS = "SELECT DISTINCT claim_token FROM items_item WHERE id = ANY(%s) AND status = 'deciding'"
UNTOUCHED = "SELECT count(*) FROM items_item WHERE id = ANY(%s) AND status = 'received'"
# What a dead worker had taken stays its own for so long; nothing else may wait for that.
TWO_MINUTES_LATER = "UPDATE items_item SET claimed_until = clock_timestamp() WHERE claim_token = ANY(%s)"


def flood(demo: Demo) -> list[int]:
    turn = os.urandom(4).hex()
    texts = ("Could we see a demo for 25 technicians?", "Please correct our invoice.", "I am on holiday.")
    return demo.post(
        "leads",
        [
            {
                "external_id": f"flood-{turn}-{number:04}",
                "state": f"{texts[number % 3]} ({number})",
                "priority": -1,
            }
            for number in range(MANY)
        ],
    )


def wait_until_each_is_decided_once(demo: Demo, ids: list[int]) -> None:
    once = (len(ids), len(ids), len(ids))
    wait_for(lambda: demo.query(DECIDED, ids) == [once], RECOVERY_S, f"{len(ids)} items, each decided once")


def workers(demo: Demo) -> list[psutil.Process]:
    """The Celery worker and the processes it has forked."""
    children = psutil.Process(demo.process.pid).children(recursive=True)
    return [child for child in children if {"celery", "worker"} <= set(child.cmdline())]


def valkey_of(demo: Demo) -> psutil.Process:
    folder = f"{demo.var}/"
    (found,) = [
        process
        for process in psutil.process_iter(["name", "cwd"])
        if process.info["name"] == "valkey-server" and str(process.info["cwd"] or "").startswith(folder)
    ]
    return found


def is_ready(demo: Demo) -> bool:
    with demo.api("leads") as api:
        return api.get(f"{demo.url}/readyz").status_code == 200


def test_it_works(demo: Demo) -> None:
    """The worker is killed with all it has forked, in the middle of a batch."""
    wait_for(lambda: is_ready(demo), RECOVERY_S, "the product to be ready")
    ids = flood(demo)
    wait_for(lambda: demo.query(DECIDED, ids) != [(0, 0, 0)], RECOVERY_S, "the first batch")
    killed = workers(demo)
    assert killed
    for process in killed:
        process.send_signal(signal.SIGKILL)
    claims = [row[0] for row in demo.query(CLAIMS, ids)]

    wait_for(lambda: demo.query(UNTOUCHED, ids) == [(0,)], RECOVERY_S, "a new worker to take the rest")
    demo.query(TWO_MINUTES_LATER, claims)
    wait_until_each_is_decided_once(demo, ids)
    assert not {process.pid for process in killed} & {process.pid for process in workers(demo)}


def test_valkey_is_killed(demo: Demo) -> None:
    wait_for(lambda: is_ready(demo), RECOVERY_S, "the product to be ready")
    first = flood(demo)
    valkey_of(demo).send_signal(signal.SIGKILL)
    second = flood(demo)
    wait_until_each_is_decided_once(demo, first + second)
    wait_for(lambda: is_ready(demo), RECOVERY_S, "the product to be ready again")


def test_the_web_server_is_killed(demo: Demo, visitors: Visitors) -> None:
    """Who has an item open and types a note answers it when the server is back, and loses nothing."""
    visitors.line_may_fail = True
    (first_id, first), (_, second) = demo.post_held("leads", 2)
    desk = Desk(visitors("rosa"))
    desk.expect_item(first)
    desk.press("c")
    desk.page.keyboard.type("half ")
    for process in psutil.Process(demo.process.pid).children(recursive=True):
        if "gunicorn" in process.cmdline():
            process.send_signal(signal.SIGKILL)
    desk.page.keyboard.type("a note")
    desk.press("Escape")
    desk.press("2")

    desk.expect_heard(NEXT, within_s=RECOVERY_S)
    desk.expect_item(second)
    assert demo.reviews([first_id]) == [(first_id, "rosa")]
    assert [review["note"] for review in demo.story("leads", first_id)["reviews"]] == ["half a note"]
