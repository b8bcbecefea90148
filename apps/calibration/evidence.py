"""The routes that speak of the rule in force, with what people answered, grouped by the database."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

from django.conf import settings
from django.db import connection
from django.utils import timezone

from apps.items.models import Route
from apps.policies.models import Policy
from apps.policies.selectors import active_policy
from apps.routing.draw import group_hash_pads
from apps.stats.thresholds import GRID, StratumName
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


@dataclass(frozen=True, slots=True)
class Cell:
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


@dataclass(frozen=True, slots=True)
class Audit:
    """An automatic item that was drawn, and is answered or past its deadline, which counts as wrong."""

    day: date
    bin: int
    pi: float
    wrong: bool
    external_id: str


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
    gates = _gates_of(policy.rules)
    return tuple(pk for pk, rules in used.values_list("pk", "rules") if _gates_of(rules) == gates)


def changed_gates(old: Mapping[str, Any], new: Mapping[str, Any]) -> tuple[str, ...]:
    """What of the gates differs, in words. Answers counted under one of two policies that differ in a gate do
    not count under the other."""
    return tuple(words for name, words in _GATES.items() if old.get(name) != new.get(name))


def _gates_of(rules: Mapping[str, Any]) -> list[Any]:
    return [rules.get(name) for name in _GATES]


# One item of a group enters the counts, whatever its label: replies within a thread are no draws of their own
# (recalibration.md section 2.1). `nth` is its place in the group by a keyed hash, which no answer can move.
# `width_bucket` gives the bins of `stats.thresholds.grid_bin`. Labels are of the routing question, from people
# who reviewed; one that was imported was not drawn. A value of NULL is "none of these", which is another answer.
_ROUTED = """
WITH routed AS (
    SELECT route.label,
           (route.created_at AT TIME ZONE %(zone)s)::date AS day,
           width_bucket(route.p, %(grid)s::float8[]) AS bin,
           CASE WHEN route.outcome = 'review' THEN 'reviewed'
                WHEN route.pi > 0 THEN 'audited' ELSE 'uncovered' END AS stratum,
           route.pi,
           route.item_id,
           (route.outcome = 'review' OR (route.drawn AND route.pi > 0)) AS asked,
           label.id IS NOT NULL AS answered,
           label.id IS NOT NULL AND label.value IS DISTINCT FROM route.label AS differs,
           (route.drawn AND label.id IS NULL AND route.created_at < %(deadline)s) AS late,
           CASE WHEN item.group_key = '' THEN 1 ELSE row_number() OVER (
               PARTITION BY item.group_key ORDER BY CASE WHEN item.group_key <> '' THEN
                   sha256(%(outer)s || sha256(%(inner)s || int4send(octet_length(item.external_id))
                                              || convert_to(item.external_id, 'UTF8'))) END, item.id
           ) END AS nth,
           item.external_id
    FROM items_route route
    JOIN items_item item ON item.id = route.item_id
    JOIN items_decision decision ON decision.id = route.decision_id AND decision.model = %(model)s
    LEFT JOIN reviews_label label
        ON label.item_id = route.item_id AND label.question_id = %(question)s
        AND label.taken_back_at IS NULL AND label.source <> 'import'
    WHERE route.workflow_id = %(workflow)s AND route.superseded_at IS NULL AND route.open_but_threshold
        AND route.question_set_id = %(question_set)s AND route.policy_id = ANY(%(policies)s)
        AND route.created_at >= (%(start_on)s::date::timestamp AT TIME ZONE %(zone)s)
        AND route.created_at <= %(now)s
)
"""
_CELLS = (
    _ROUTED
    + """
SELECT label, day, bin, stratum, pi, count(*) FILTER (WHERE nth = 1),
       count(*) FILTER (WHERE nth = 1 AND asked),
       count(*) FILTER (WHERE nth = 1 AND asked AND answered),
       count(*) FILTER (WHERE nth = 1 AND asked AND differs),
       count(*) FILTER (WHERE nth = 1 AND asked AND late),
       count(*) FILTER (WHERE nth > 1)
FROM routed GROUP BY label, day, bin, stratum, pi ORDER BY label
"""
)
_AUDITS = (
    _ROUTED
    + """
SELECT day, bin, pi, differs OR late, external_id
FROM routed WHERE nth = 1 AND label = %(label)s AND stratum = 'audited' AND asked AND (answered OR late)
"""
)


def cells_of(basis: Basis) -> list[Cell]:
    """Every label's, one label after the other."""
    return [Cell(*row) for row in _fetch(_CELLS, basis)]


def audits_of(basis: Basis, label: str) -> list[Audit]:
    return [Audit(*row) for row in _fetch(_AUDITS, basis, label=label)]


def _fetch(sql: str, basis: Basis, **more: str) -> list[tuple[Any, ...]]:
    inner, outer = group_hash_pads(settings.SECRET_KEY.encode(), basis.workflow.slug)
    values: dict[str, Any] = {
        "inner": inner,
        "outer": outer,
        "workflow": basis.workflow.pk,
        "zone": basis.workflow.time_zone,
        "grid": list(GRID),
        "model": basis.model,
        "question": basis.question.pk,
        "question_set": basis.question.question_set_id,
        "policies": list(basis.policies),
        "start_on": basis.start_on,
        "now": basis.now,
        "deadline": basis.now - AUDIT_DEADLINE,
    }
    with connection.cursor() as cursor:
        cursor.execute(sql, values | more)
        rows: list[tuple[Any, ...]] = cursor.fetchall()
        return rows
