"""The routes that speak of the rule in force, with what people answered, from the counts of each day."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import Any, NamedTuple
from zoneinfo import ZoneInfo

from django.db import connection
from django.utils import timezone

from apps.calibration.counting.days import ANSWERED, UNDONE, WRONG, refresh
from apps.items.models import Route
from apps.policies.models import Policy
from apps.policies.selectors import active_policy
from apps.stats.thresholds import StratumName
from apps.workflows.models import Question, Workflow

AUDIT_DEADLINE = timedelta(days=7)

# A policy that differs in one of these accepts other items; thresholds, steps and rates do not enter A_L(t).
_GATES = {
    "margin": "the margin between the top two",
    "review_cost": "the cost of a review",
    "costs": "what a wrong action costs",
    "critical": "what is always looked at",
    "overrides": "the rules that always hold",
    "holds": "doubt about other questions",
}
_MAP = "how probabilities are mended before costs are expected from them"


@dataclass(frozen=True, slots=True)
class Basis:
    """Which routes speak of the rule in force: the same questions, model and gates, in the window.

    Answers of another model or to another wording, and items other gates let through, say nothing about it.
    """

    workflow: Workflow
    question: Question
    model: str
    policies: tuple[int, ...]
    start_on: date
    now: datetime


class Cell(NamedTuple):
    """Routes of one label, day, bin, stratum and rate. `late`: audits unanswered past their deadline.

    `beside` are not in `items`: another item of their group enters the counts.
    """

    label: str
    day: date
    bin: int
    stratum: StratumName
    pi: float
    items: int
    asked: int
    answered: int
    wrong: int
    late: int
    beside: int


def model_in_use(workflow: Workflow) -> str | None:
    """The model that answered the newest item, as its reply names it."""
    newest = (
        Route.objects.filter(workflow=workflow, superseded_at=None, decision__isnull=False)
        .order_by("-created_at", "-id")
        .values_list("decision__model", flat=True)
    )
    return newest.first()


def window_days(workflow: Workflow, now: datetime, weeks: int) -> tuple[date, date]:
    """The first and the last of `7 * weeks` days of the workflow's time zone; the last is today."""
    today = timezone.localtime(now, ZoneInfo(workflow.time_zone)).date()
    return today - timedelta(days=7 * weeks - 1), today


def basis_for(*, workflow: Workflow, now: datetime, weeks: int) -> Basis | None:
    """None while there is no policy in force, or nothing was answered yet."""
    policy, model = active_policy(workflow), model_in_use(workflow)
    if policy is None or model is None:
        return None
    return Basis(
        workflow=workflow,
        question=Question.objects.get(
            question_set__workflow=workflow, question_set__is_current=True, is_routing=True
        ),
        model=model,
        policies=_with_same_gates(policy),
        start_on=window_days(workflow, now, weeks)[0],
        now=now,
    )


def _with_same_gates(policy: Policy) -> tuple[int, ...]:
    used = Policy.objects.filter(workflow_id=policy.workflow_id, activated_at__isnull=False)
    routing = _routing_key(policy)
    gates = _gates_of(policy.rules, routing)
    return tuple(pk for pk, rules in used.values_list("pk", "rules") if _gates_of(rules, routing) == gates)


def _routing_key(policy: Policy) -> str:
    """Of the questions asked now; "" while there are none."""
    current = Question.objects.filter(
        question_set__workflow=policy.workflow_id, question_set__is_current=True, is_routing=True
    )
    return current.values_list("key", flat=True).first() or ""


def same_gates_but_one_hold(policy: Policy, question: str) -> tuple[int, ...]:
    """Versions that were in force and differ from this one neither in a gate nor in a hold on another question; those
    without a hold on this one are not among them."""
    used = Policy.objects.filter(workflow_id=policy.workflow_id, activated_at__isnull=False)
    routing = _routing_key(policy)
    gates = _gates_but(policy.rules, question, routing)
    return tuple(
        pk
        for pk, rules in used.values_list("pk", "rules")
        if _gates_but(rules, question, routing) == gates
        and any(hold["question"] == question for hold in rules["holds"])
    )


def _gates_but(rules: Mapping[str, Any], question: str, routing: str) -> list[Any]:
    others = [hold for hold in rules["holds"] if hold["question"] != question]
    return _gates_of(dict(rules) | {"holds": others}, routing)


def changed_gates(old: Policy, new: Policy) -> tuple[str, ...]:
    """What of the gates differs between two versions of a workflow, in words. Answers counted under one of two that
    differ in a gate do not count under the other."""
    routing = _routing_key(new)
    before, after = (_gates_of(each.rules, routing) for each in (old, new))
    pairs = zip((*_GATES.values(), _MAP), before, after, strict=True)
    return tuple(words for words, one, other in pairs if one != other)


def _gates_of(rules: Mapping[str, Any], routing: str) -> list[Any]:
    """Of the maps that of the routing question alone: others are for readers."""
    return [*(rules.get(name) for name in _GATES), rules.get("maps", {}).get(routing)]


# An audit's deadline ends within a day, so of that one day the routes themselves are looked at.
_CELLS = """
WITH late AS (
    SELECT counted.count_id, count(*) AS n
    FROM items_route route
    JOIN calibration_counted counted ON counted.item_id = route.item_id AND counted.state & %(undone)s > 0
    WHERE route.workflow_id = %(workflow)s AND route.superseded_at IS NULL AND route.drawn
        AND route.created_at >= (%(deadline_day)s::date::timestamp AT TIME ZONE %(zone)s)
        AND route.created_at < %(deadline)s
    GROUP BY counted.count_id
)
SELECT label, day, bin, stratum, pi, sum(items), sum(asked), sum(answered), sum(wrong),
       sum(CASE WHEN day < %(deadline_day)s THEN undone ELSE coalesce(late.n, 0) END)::int, sum(beside)
FROM calibration_daycount LEFT JOIN late ON late.count_id = calibration_daycount.id
WHERE workflow_id = %(workflow)s AND day BETWEEN %(start_on)s AND %(today)s AND question_set_id = %(question_set)s
    AND model = %(model)s AND policy_id = ANY(%(policies)s) AND is_open AND items + beside > 0
GROUP BY label, day, bin, stratum, pi ORDER BY label
"""


def cells_of(basis: Basis) -> list[Cell]:
    """Every label's, one label after the other; of all that is committed by now."""
    refresh(basis.workflow)
    return list(map(Cell._make, fetch(_CELLS, basis)))


def fetch(sql: str, basis: Basis, **more: Any) -> list[tuple[Any, ...]]:
    """Rows of a statement with the parameters of `_CELLS` and `more`."""
    deadline = basis.now - AUDIT_DEADLINE
    zone = ZoneInfo(basis.workflow.time_zone)
    values: dict[str, Any] = {
        "workflow": basis.workflow.pk,
        "zone": basis.workflow.time_zone,
        "model": basis.model,
        "question_set": basis.question.question_set_id,
        "policies": list(basis.policies),
        "start_on": basis.start_on,
        "today": timezone.localtime(basis.now, zone).date(),
        "deadline": deadline,
        "deadline_day": timezone.localtime(deadline, zone).date(),
        "answered": ANSWERED,
        "wrong": WRONG,
        "undone": UNDONE,
    }
    with connection.cursor() as cursor:
        cursor.execute(sql, values | more)
        rows: list[tuple[Any, ...]] = cursor.fetchall()
        return rows
