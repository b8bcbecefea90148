"""The desk over HTTP: what one reviewer waits, how many labels eight make, and whether fifty break it."""

from __future__ import annotations

import http.client
import os
from collections import Counter
from collections.abc import Sequence
from typing import Any

from django.db import connection
from django.db.models import Count, F, Q
from django.utils import timezone

from apps.accounts.models import User
from apps.core.embedded_processes import free_port, wait_until
from apps.demo.measuring import LIMIT_S, Bench, TookTooLong, percentile, rate
from apps.demo.reviewers import Desk, Reviewer, session_of, work_together
from apps.items.models import Item
from apps.reviews.models import Lease, Review, ReviewTask
from apps.workflows.models import Membership, Role

HOST = "testserver"
CROWD = 50
CROWD_LIMIT_S = 900.0
EIGHT = 8


def start_web(bench: Bench) -> Desk:
    """A web server as in production."""
    port = free_port()
    arguments = ("gunicorn", "-c", "apps/config/gunicorn.py", "apps.config.wsgi:application")
    os.environ |= {"PORT": str(port), "BIND": "127.0.0.1", "WEB_PROCESSES": str(_processes())}
    bench.start("web", *arguments)
    if not wait_until(lambda: _is_up(port), LIMIT_S):
        raise TookTooLong("The web server did not start")
    return Desk(port, HOST, bench.workflow.slug)


def _processes() -> int:
    """One more than cores: lines do not spread evenly over processes, of which one waits while another is idle."""
    return (os.cpu_count() or 1) + 1


def _is_up(port: int) -> bool:
    line = http.client.HTTPConnection("127.0.0.1", port, timeout=2)
    try:
        line.request("GET", "/healthz", headers={"Host": HOST})
        return line.getresponse().status == 200
    except OSError:
        return False
    finally:
        line.close()


def add_crowd(bench: Bench, size: int) -> list[User]:
    people = [User.objects.get_or_create(username=f"reviewer-{n}")[0] for n in range(size)]
    for person in people:
        Membership.objects.get_or_create(
            user=person, workflow=bench.workflow, defaults={"role": Role.REVIEWER}
        )
    return people


def measure_desk_over_http(bench: Bench, desk: Desk, *, answers: int) -> dict[str, Any]:
    """One reviewer, then eight, at whatever number of open tasks there is."""
    people = add_crowd(bench, EIGHT)
    _, alone = _work_steadily(desk, people[:1], answers)
    labels_per_s, eight = _work_steadily(desk, people, answers)
    return {
        "open_tasks": _open(bench),
        "one_p50_ms": percentile(alone, 50),
        "one_p95_ms": percentile(alone, 95),
        "eight_labels_per_s": labels_per_s,
        "eight_p95_ms": percentile(eight, 95),
        "answers": answers,
        "measured": (
            f"submit until the next item is there, over HTTP to gunicorn with {_processes()} processes, "
            f"the reviewers on the same machine; one reviewer, then {EIGHT} at once, each after as many answers that "
            "are not counted, and after ANALYZE"
        ),
    }


def _work_steadily(desk: Desk, people: Sequence[User], answers: int) -> tuple[float, list[float]]:
    """Labels a second and every wait in seconds, after as many answers that are not counted: reviewers work for hours.

    PostgreSQL plans for the rows it counted last, which here were none a moment ago; in use it counts once a minute.
    """
    together = [Reviewer(desk, session_of(person), seed=n) for n, person in enumerate(people)]
    work_together(together, limit_s=LIMIT_S, most=answers, habits=False)
    with connection.cursor() as cursor:
        cursor.execute(
            f"ANALYZE {', '.join(model._meta.db_table for model in (Item, ReviewTask, Review, Lease))}"
        )
    before = sum(len(each.saved) for each in together)
    for each in together:
        each.waits_s.clear()
    took = work_together(together, limit_s=LIMIT_S, most=2 * answers, habits=False)
    labels = sum(len(each.saved) for each in together) - before
    return rate(labels, took), [wait for each in together for wait in each.waits_s]


def measure_crowd(bench: Bench, desk: Desk, *, limit_s: float) -> dict[str, Any]:
    """Fifty people who skip, leave, lose the network, click twice, come late and undo, until nothing is left."""
    people = add_crowd(bench, CROWD)
    crowd = [Reviewer(desk, session_of(person), seed=n) for n, person in enumerate(people)]
    before = _open(bench)
    took = work_together(crowd, limit_s=limit_s)
    faults = find_faults(bench, crowd)
    if faults:
        raise TookTooLong("Fifty reviewers broke the desk: " + "; ".join(faults))
    waits = [wait for each in crowd for wait in each.waits_s]
    met: Counter[str] = sum((each.met for each in crowd), Counter())
    return {
        "reviewers": CROWD,
        "tasks": before,
        "left_open": _open(bench),
        "labels_per_s": rate(sum(len(each.saved) for each in crowd), took),
        "p50_ms": percentile(waits, 50),
        "p95_ms": percentile(waits, 95),
        "met": dict(sorted(met.items())),
        "measured": (
            f"{CROWD} simulated reviewers without a pause between items until the queue was empty; "
            "afterwards no item had more answers than asked, no saved answer was missing, no task stuck"
        ),
    }


def shorten_queue(bench: Bench, *, open_tasks: int) -> None:
    """Takes the last of the queue out of it, so that no more are open."""
    queue = ReviewTask.objects.filter(workflow=bench.workflow, status="open").order_by("pk")
    surplus = list(queue.values_list("pk", flat=True)[open_tasks:])
    ReviewTask.objects.filter(pk__in=surplus).update(status="cancelled", closed_at=timezone.now())


def find_faults(bench: Bench, crowd: Sequence[Reviewer]) -> list[str]:
    """What must never be, in words; empty when all is well."""
    tasks = ReviewTask.objects.filter(workflow=bench.workflow)
    in_force = Count("reviews", filter=Q(reviews__taken_back_at=None))
    too_many = tasks.annotate(answers=in_force).filter(answers__gt=F("reviews_needed")).count()
    miscounted = tasks.annotate(answers=in_force).exclude(answers=F("reviews_done")).count()
    saved = {token for each in crowd for token in each.saved}
    stored = set(
        map(
            str,
            Review.objects.filter(task__workflow=bench.workflow, taken_back_at=None).values_list(
                "lease_token", flat=True
            ),
        )
    )
    doubled = sum(len(each.saved) for each in crowd) - len(saved)
    waiting = tasks.filter(status="open", leases=None).count()
    found = {
        "items with more answers than asked": too_many,
        "tasks whose count of answers is wrong": miscounted,
        "saved answers that are not there": len(saved - stored),
        "answers saved for two people": doubled,
        "tasks that nobody has and nobody gets": waiting,
    }
    return [f"{count} {what}" for what, count in found.items() if count]


def _open(bench: Bench) -> int:
    return ReviewTask.objects.filter(workflow=bench.workflow, status="open").count()
