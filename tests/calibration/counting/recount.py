"""The counts as they would be read from every row, without anything kept: what `days` must come to."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.db import connection

from apps.calibration.counting.evidence import AUDIT_DEADLINE, Basis, Cell
from apps.calibration.counting.thinning import Single
from apps.routing.draw import group_hash_pads
from apps.stats.thresholds import GRID

_ROUTED = """
WITH ever AS (
    SELECT route.label,
           (route.created_at AT TIME ZONE %(zone)s)::date AS day,
           width_bucket(route.p, %(grid)s::float8[]) AS bin,
           CASE WHEN route.outcome = 'review' THEN 'reviewed'
                WHEN route.pi > 0 THEN 'audited' ELSE 'uncovered' END AS stratum,
           route.pi,
           route.policy_id,
           route.created_at,
           (route.outcome = 'review' OR (route.drawn AND route.pi > 0)) AS asked,
           label.id IS NOT NULL AS answered,
           label.id IS NOT NULL AND label.value IS DISTINCT FROM route.label AS differs,
           (route.drawn AND label.id IS NULL AND route.created_at < %(deadline)s) AS late,
           CASE WHEN item.group_key = '' THEN 1 ELSE row_number() OVER (
               PARTITION BY item.group_key ORDER BY CASE WHEN item.group_key <> '' THEN
                   sha256(%(outer)s || sha256(%(inner)s || int4send(octet_length(item.external_id))
                                              || convert_to(item.external_id, 'UTF8'))) END, item.id
           ) END AS nth,
           item.external_id,
           coalesce(task.blind, false) AS blind,
           round(coalesce(CASE WHEN task.blind THEN task.blind_pi ELSE 1 - task.blind_pi END, 0)::numeric, 9)::float8
               AS blind_chance
    FROM items_route route
    JOIN items_item item ON item.id = route.item_id
    JOIN items_decision decision ON decision.id = route.decision_id AND decision.model = %(model)s
    LEFT JOIN reviews_label label
        ON label.item_id = route.item_id AND label.question_id = %(question)s
        AND label.taken_back_at IS NULL AND label.source <> 'import'
    LEFT JOIN reviews_reviewtask task ON task.route_id = route.id AND task.status <> 'cancelled'
    WHERE route.workflow_id = %(workflow)s AND route.superseded_at IS NULL AND route.open_but_threshold
        AND route.question_set_id = %(question_set)s
), routed AS (
    SELECT * FROM ever
    WHERE policy_id = ANY(%(policies)s) AND created_at <= %(now)s
        AND created_at >= (%(start_on)s::date::timestamp AT TIME ZONE %(zone)s)
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
_BLIND_CELLS = (
    _ROUTED
    + """
SELECT label, day, bin, 'reviewed', blind_chance, count(*), count(*) FILTER (WHERE blind),
       count(*) FILTER (WHERE blind AND answered), count(*) FILTER (WHERE blind AND answered AND differs), 0, 0
FROM routed WHERE nth = 1 AND stratum = 'reviewed' GROUP BY label, day, bin, blind_chance
"""
)
_BLIND_ANSWERS = (
    _ROUTED
    + """
SELECT day, bin, blind_chance, differs, external_id
FROM routed WHERE nth = 1 AND label = %(label)s AND stratum = 'reviewed' AND blind AND answered
"""
)


def recounted_cells(basis: Basis) -> list[Cell]:
    return [Cell(*row) for row in _fetch(_CELLS, basis)]


def recounted_audits(basis: Basis, label: str) -> list[Single]:
    return [Single(*row) for row in _fetch(_AUDITS, basis, label=label)]


def recounted_blind_cells(basis: Basis) -> list[Cell]:
    """Of reviews alone."""
    return [Cell(*row) for row in _fetch(_BLIND_CELLS, basis)]


def recounted_blind_answers(basis: Basis, label: str) -> list[Single]:
    return [Single(*row) for row in _fetch(_BLIND_ANSWERS, basis, label=label)]


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
