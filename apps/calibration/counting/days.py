"""Counts of routes by the day that follow the rows they are of: what a page over a million decisions reads.

Triggers note every item whose route, reviews or label are new or changed, in the same transaction. `refresh` counts
those anew: what each had added is taken off, what it adds now is put on. So counts are exact whenever they are read,
a reading costs what has changed since the last one, and times that lie in the past do no harm.

Of items that belong together one counts, picked among all there ever were of a model, a question version and open
gates: at most one of a group is in any window, and none where the one that was picked lies outside of it.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from django.conf import settings
from django.db import connection, transaction
from django.db.backends.utils import CursorWrapper

from apps.calibration.counting.quarters import add_up
from apps.calibration.counting.reviews import COUNT_REVIEWS
from apps.routing.draw import group_hash_pads, thin_draw_pads
from apps.stats.thresholds import GRID
from apps.workflows.models import Workflow

ANSWERED, ASKED, WRONG, UNDONE, BESIDE, BLIND = 1, 2, 4, 8, 16, 32
"""Bits of `Counted.state`."""
BATCH = 20_000
_LOCK = 4_201
"""First half of the key of an advisory lock, the workflow is the second: two readers never count the same twice."""

_KEY = "day, question_set_id, policy_id, model, label, bin, stratum, pi, is_open, blind_chance"

BLIND_CHANCE = """
round(coalesce(CASE WHEN task.blind THEN task.blind_pi ELSE 1 - task.blind_pi END, 0)::numeric, 9)::float8"""
"""Of a task, known before its draw; a task has the chance of being as blind as it is. Rounded, so that the chance of
being visible, taken from 1, is the same number."""

_LEFT = """
SELECT EXISTS (SELECT FROM calibration_touched WHERE workflow_id = %(workflow)s),
       EXISTS (SELECT FROM calibration_quartercount WHERE workflow_id = %(workflow)s AND NOT is_sum)
"""
# The notes of as many items, the lowest first: an item noted ten times is counted once, and neighbours lie together.
_TAKE = """
WITH taken AS (
    DELETE FROM calibration_touched WHERE workflow_id = %(workflow)s AND item_id <= (SELECT max(item_id) FROM (
        SELECT DISTINCT item_id FROM calibration_touched WHERE workflow_id = %(workflow)s
        ORDER BY item_id LIMIT %(batch)s) lowest)
    RETURNING item_id
)
SELECT DISTINCT item_id FROM taken
"""
# Their groups are given as a value, too: a join would compare every group there is with each of them.
_TOGETHER = """
SELECT id FROM items_item WHERE workflow_id = %(workflow)s AND group_key <> '' AND group_key = ANY(ARRAY(
    SELECT DISTINCT group_key FROM items_item WHERE id = ANY(%(items)s::bigint[]) AND group_key <> ''))
"""
# The items are given as values: it is known how few they are, and each is looked up by its key. What they had added is
# read by those values alone, once: with statistics from before the first count, a join would compare all with all.
# `width_bucket` gives the bins of `stats.thresholds.grid_bin`. Labels are of the routing question, from people who
# reviewed; one that was imported, or given unasked, was not drawn. A value of NULL is "none of these", which is
# another answer. `nth` is an item's place in its group by a keyed hash, which no answer can move.
_REFRESH = f"""
WITH affected AS (
    SELECT unnest(%(items)s::bigint[]) AS item_id
), routed AS (
    SELECT route.item_id,
           (route.created_at AT TIME ZONE %(zone)s)::date AS day,
           route.question_set_id, route.policy_id,
           coalesce(decision.model, '') AS model,
           coalesce(route.label, '') AS label,
           coalesce(width_bucket(route.p, %(grid)s::float8[]), -1) AS bin,
           CASE WHEN route.outcome = 'review' THEN 'reviewed'
                WHEN route.pi > 0 THEN 'audited' ELSE 'uncovered' END AS stratum,
           route.pi,
           route.open_but_threshold AS is_open,
           {BLIND_CHANCE} AS blind_chance,
           coalesce(task.blind, false) AS is_blind,
           decision.cost,
           (route.outcome = 'review' OR (route.drawn AND route.pi > 0)) AS asked,
           label.id IS NOT NULL AS answered,
           label.id IS NOT NULL AND label.value IS DISTINCT FROM route.label AS differs,
           item.external_id,
           route.drawn AND label.id IS NULL AS undone,
           item.group_key <> '' AND route.open_but_threshold AND row_number() OVER (
               PARTITION BY item.group_key, route.question_set_id, decision.model, route.open_but_threshold
               ORDER BY CASE WHEN item.group_key <> '' THEN
                   sha256(%(outer)s || sha256(%(inner)s || int4send(octet_length(item.external_id))
                                              || convert_to(item.external_id, 'UTF8'))) END, item.id
           ) > 1 AS beside
    FROM affected
    JOIN items_route route ON route.item_id = affected.item_id AND route.superseded_at IS NULL
    JOIN items_item item ON item.id = route.item_id
    LEFT JOIN items_decision decision ON decision.id = route.decision_id
    LEFT JOIN workflows_question question ON question.question_set_id = route.question_set_id AND question.is_routing
    LEFT JOIN reviews_label label
        ON label.item_id = route.item_id AND label.question_id = question.id
        AND label.taken_back_at IS NULL AND label.source <> 'import' AND label.is_asked
    -- A route has one task. Added up, as nobody then goes through all tasks there are to find the newest one.
    LEFT JOIN LATERAL (
        SELECT bool_and(each.blind) AS blind, min(each.blind_pi) AS blind_pi FROM reviews_reviewtask each
        WHERE each.route_id = route.id AND each.status <> 'cancelled' AND route.outcome = 'review'
    ) task ON true
), now AS (
    SELECT item_id, {_KEY}, cost, CASE WHEN beside THEN {BESIDE} ELSE
               asked::int * {ASKED} + (asked AND answered)::int * {ANSWERED} + (asked AND differs)::int * {WRONG}
               + (asked AND undone)::int * {UNDONE} + is_blind::int * {BLIND} END AS state,
           CASE WHEN NOT beside AND (is_blind OR asked AND stratum = 'audited')
                THEN calibration_draw(%(thin_inner)s, %(thin_outer)s, external_id) END AS thin
    FROM routed
), had AS MATERIALIZED (
    SELECT count_id, state, -count(*) AS n, -count(cost) AS priced, -coalesce(sum(cost), 0) AS cost
    FROM calibration_counted WHERE item_id = ANY(%(items)s::bigint[]) GROUP BY count_id, state
), change AS (
    SELECT {_KEY}, state, 1 AS n, (cost IS NOT NULL)::int AS priced, coalesce(cost, 0) AS cost FROM now
    UNION ALL
    SELECT {_KEY}, had.state, had.n, had.priced, had.cost
    FROM had JOIN calibration_daycount daycount ON daycount.id = had.count_id
), cell AS (
    INSERT INTO calibration_daycount AS before
        (workflow_id, {_KEY}, items, asked, answered, wrong, undone, beside, blind, blind_answered, blind_wrong, priced,
         cost)
    SELECT %(workflow)s, {_KEY}, sum(n * (state & {BESIDE} = 0)::int),
           sum(n * (state & {ASKED} > 0)::int), sum(n * (state & {ANSWERED} > 0)::int),
           sum(n * (state & {WRONG} > 0)::int), sum(n * (state & {UNDONE} > 0)::int),
           sum(n * (state & {BESIDE} > 0)::int), sum(n * (state & {BLIND} > 0)::int),
           sum(n * (state & {BLIND | ANSWERED} = {BLIND | ANSWERED})::int),
           sum(n * (state & {BLIND | WRONG} = {BLIND | WRONG})::int), sum(priced), sum(cost)
    FROM change GROUP BY {_KEY}
    ON CONFLICT (workflow_id, {_KEY}) DO UPDATE SET
        items = before.items + excluded.items, asked = before.asked + excluded.asked,
        answered = before.answered + excluded.answered, wrong = before.wrong + excluded.wrong,
        undone = before.undone + excluded.undone, beside = before.beside + excluded.beside,
        blind = before.blind + excluded.blind, blind_answered = before.blind_answered + excluded.blind_answered,
        blind_wrong = before.blind_wrong + excluded.blind_wrong,
        priced = before.priced + excluded.priced, cost = before.cost + excluded.cost
    RETURNING id, {_KEY}
), gone AS (
    DELETE FROM calibration_counted
    WHERE item_id = ANY(%(items)s::bigint[]) AND item_id NOT IN (SELECT item_id FROM now)
), kept AS (
    INSERT INTO calibration_counted AS before (item_id, count_id, state, cost, thin)
    SELECT item_id, cell.id, state, now.cost, thin FROM now JOIN cell USING ({_KEY})
    ON CONFLICT (item_id) DO UPDATE
        SET count_id = excluded.count_id, state = excluded.state, cost = excluded.cost, thin = excluded.thin
        WHERE (before.count_id, before.state, before.cost, before.thin)
            IS DISTINCT FROM (excluded.count_id, excluded.state, excluded.cost, excluded.thin)
)
SELECT 1
"""  # noqa: S608 - put together from constants; what comes from outside are parameters


def refresh(workflow: Workflow) -> int:
    """Brings the counts up to what is committed; returns how many items were counted anew.

    In transactions of at most `BATCH` noted items: the first time over a long history holds nothing up for long.
    """
    is_noted, is_appended = _what_is_left(workflow)
    if is_appended:
        _in_turn(workflow, partial(add_up, workflow))
    if not is_noted:
        return 0
    key = settings.SECRET_KEY.encode()
    inner, outer = group_hash_pads(key, workflow.slug)
    thin_inner, thin_outer = thin_draw_pads(key, workflow.slug)
    values: dict[str, Any] = {
        "inner": inner,
        "outer": outer,
        "thin_inner": thin_inner,
        "thin_outer": thin_outer,
        "workflow": workflow.pk,
        "zone": workflow.time_zone,
        "grid": list(GRID),
        "batch": BATCH,
    }
    done = 0
    while items := _in_turn(workflow, partial(_refresh_some, values)):
        done += items
    return done


def _what_is_left(workflow: Workflow) -> tuple[bool, bool]:
    with connection.cursor() as cursor:
        cursor.execute(_LEFT, {"workflow": workflow.pk})
        is_noted, is_appended = cursor.fetchone()
        return is_noted, is_appended


def _in_turn(workflow: Workflow, count: Callable[[CursorWrapper], int]) -> int:
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_xact_lock(%s, %s)", [_LOCK, workflow.pk])
        return count(cursor)


def _refresh_some(values: dict[str, Any], cursor: CursorWrapper) -> int:
    cursor.execute(_TAKE, values)
    taken = {row[0] for row in cursor.fetchall()}
    if not taken:
        return 0
    cursor.execute(_TOGETHER, values | {"items": list(taken)})
    items = sorted(taken.union(row[0] for row in cursor.fetchall()))
    cursor.execute(_REFRESH, values | {"items": items})
    cursor.execute(COUNT_REVIEWS, values | {"items": items})
    return len(items)
