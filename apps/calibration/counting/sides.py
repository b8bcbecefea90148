"""What people answered of both sides of a hold, route by route (see `calibration.sides`)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from functools import partial
from itertools import starmap
from typing import Any, Final

from django.conf import settings as django_settings
from django.db import connection

from apps.calibration.counting.counts import LabelCounts, count_cells
from apps.calibration.counting.days import BLIND_CHANCE
from apps.calibration.counting.evidence import AUDIT_DEADLINE, Cell
from apps.calibration.counting.thinning import Kept, Single, Wanted, kept_singly
from apps.routing.draw import group_hash_pads
from apps.stats.thresholds import GRID
from apps.workflows.models import Question, Workflow

SIDES: Final = ("true", "false")


@dataclass(frozen=True, slots=True)
class SideBasis:
    """Which routes speak of one question's hold: the same questions, model and other gates, from `start_on` on; and
    whether of reviews only blind ones do, as reviewers may be following the model."""

    workflow: Workflow
    question: Question
    model: str
    policies: tuple[int, ...]
    start_on: date
    since: Mapping[str, date]
    now: datetime
    is_blind_only: bool


def low_for(threshold: float) -> float:
    """The `low` of a hold that lets P(no) >= threshold pass."""
    return round(1 - threshold, 12)


P_YES = (
    "(CASE WHEN answer.pairs->0->>0 = 'true' THEN answer.pairs->0->>1 ELSE answer.pairs->1->>1 END)::float8"
)
"""Of `answer.pairs`, the probabilities of a decision's answer to the question."""

# Of a hold's question: the bins of both sides. What `low` lets pass is P(yes) <= low, compared as routing does it.
_ROUTES = f"""
WITH routed AS MATERIALIZED (
    SELECT route.item_id, item.external_id, route.created_at, route.outcome, route.drawn,
           CASE WHEN route.outcome = 'review' AND %(is_blind_only)s THEN {BLIND_CHANCE} ELSE route.pi END AS pi,
           route.outcome = 'review' AND (task.blind OR NOT %(is_blind_only)s) AS is_asked,
           (route.created_at AT TIME ZONE %(zone)s)::date AS day,
           {P_YES} AS p,
           item.group_key <> '' AND row_number() OVER (
               PARTITION BY item.group_key ORDER BY CASE WHEN item.group_key <> '' THEN sha256(%(outer)s || sha256(
                   %(inner)s || int4send(octet_length(item.external_id)) || convert_to(item.external_id, 'UTF8')))
               END, item.id) > 1 AS beside
    FROM items_route route
    JOIN items_decision decision ON decision.id = route.decision_id AND decision.model = %(model)s
    CROSS JOIN LATERAL (SELECT decision.answers->%(key)s->'probabilities' AS pairs) answer
    JOIN items_item item ON item.id = route.item_id
    LEFT JOIN reviews_reviewtask task ON %(is_blind_only)s AND task.route_id = route.id AND task.status <> 'cancelled'
    WHERE route.workflow_id = %(workflow)s AND route.superseded_at IS NULL
        AND route.question_set_id = %(question_set)s AND route.policy_id = ANY (%(policies)s)
        AND route.created_at >= (%(start_on)s::date::timestamp AT TIME ZONE %(zone)s)
        AND route.created_at <= %(now)s AND answer.pairs IS NOT NULL
        AND (route.outcome = 'automatic' OR (jsonb_array_length(route.reasons) = 1
             AND route.reasons->0->>'code' = 'question_held:' || %(key)s))
), seen AS (
    SELECT routed.*, CASE WHEN outcome = 'review' THEN 'reviewed' WHEN routed.pi > 0 THEN 'audited' ELSE 'uncovered'
           END AS stratum, coalesce(routed.is_asked, false) OR drawn AS is_due, label.id IS NOT NULL AS is_answered,
           label.value IS DISTINCT FROM each.side AS differs,
           routed.drawn AND label.id IS NULL AND routed.created_at < %(deadline)s AS is_late, each.side,
           CASE WHEN each.side = 'true' THEN width_bucket(p, %(grid)s::float8[])
                ELSE width_bucket(-p, %(lows)s::float8[]) END AS bin
    FROM routed CROSS JOIN (VALUES ('true'), ('false')) AS each (side)
    LEFT JOIN reviews_label label ON label.item_id = routed.item_id AND label.question_id = %(question)s
        AND label.taken_back_at IS NULL AND label.source <> 'import' AND label.is_asked
)
"""  # noqa: S608 - put together from constants; what comes from outside are parameters
_FIRST_DAY = """
SELECT max((route.created_at AT TIME ZONE %(zone)s)::date)
FROM items_route route JOIN reviews_reviewtask task ON task.route_id = route.id AND task.status <> 'cancelled'
WHERE route.workflow_id = %(workflow)s AND route.superseded_at IS NULL AND route.drawn
    AND route.question_set_id = %(question_set)s AND route.policy_id = ANY (%(policies)s)
    AND route.created_at >= (%(start_on)s::date::timestamp AT TIME ZONE %(zone)s)
    AND route.created_at <= %(now)s AND NOT %(key)s = ANY (task.asked)
"""
_CELLS = f"""{_ROUTES}
SELECT side, day, bin, stratum, pi, count(*) FILTER (WHERE NOT beside),
       count(*) FILTER (WHERE is_due AND NOT beside), count(*) FILTER (WHERE is_due AND is_answered AND NOT beside),
       count(*) FILTER (WHERE is_due AND is_answered AND NOT beside AND differs),
       count(*) FILTER (WHERE is_late AND NOT beside), count(*) FILTER (WHERE beside)
FROM seen GROUP BY side, day, bin, stratum, pi
"""  # noqa: S608 - put together from constants; what comes from outside are parameters
_ANSWERS = f"""{_ROUTES}
SELECT day, bin, pi, NOT is_answered OR differs, external_id
FROM seen WHERE side = %(side)s AND is_due AND stratum = %(stratum)s AND NOT beside AND (is_answered OR is_late)
"""  # noqa: S608 - as above


def count_sides(basis: SideBasis) -> dict[str, LabelCounts]:
    """Of days on which every check asked the question: before the hold was there, or checks asked what
    could have held, they did not."""
    last_unasked: date | None = _fetch(_FIRST_DAY, basis)[0][0]
    start_on = basis.start_on if last_unasked is None else last_unasked + timedelta(days=1)
    cells = [Cell(*row) for row in _fetch(_CELLS, basis)]
    return {
        side: count_cells(
            [cell for cell in cells if cell.label == side],
            start_on=max(start_on, basis.since.get(side, date.min)),
            thin=partial(_kept, basis, side),
            is_blind_only=basis.is_blind_only,
        )
        for side in SIDES
    }


def _kept(basis: SideBasis, side: str, wanted: Wanted) -> Iterator[Kept]:
    rows = _fetch(_ANSWERS, basis, side=side, stratum=wanted.stratum)
    return kept_singly(basis.workflow, starmap(Single, rows), wanted)


def _fetch(sql: str, basis: SideBasis, **more: str) -> list[tuple[Any, ...]]:
    inner, outer = group_hash_pads(django_settings.SECRET_KEY.encode(), basis.workflow.slug)
    values: dict[str, Any] = {
        "workflow": basis.workflow.pk,
        "zone": basis.workflow.time_zone,
        "key": basis.question.key,
        "question": basis.question.pk,
        "question_set": basis.question.question_set_id,
        "model": basis.model,
        "policies": list(basis.policies),
        "start_on": basis.start_on,
        "now": basis.now,
        "is_blind_only": basis.is_blind_only,
        "deadline": basis.now - AUDIT_DEADLINE,
        "grid": list(GRID),
        "lows": [-low_for(value) for value in GRID],
        "inner": inner,
        "outer": outer,
    }
    with connection.cursor() as cursor:
        cursor.execute(sql, values | more)
        rows: list[tuple[Any, ...]] = cursor.fetchall()
        return rows
