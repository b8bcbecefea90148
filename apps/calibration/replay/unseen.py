"""Replayed items as blind reviews alone tell of them, where reviewers may be following the model (recalibration.md
section 1.6): as `counting.blind_reviews` has them for certificates."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from django.db import connection

from apps.calibration.counting.days import BLIND_CHANCE
from apps.calibration.replay.routes import Routed
from apps.calibration.replay.rows import Source

# The newest of an item's tasks comes last.
_TASKS = f"""
SELECT string_agg(int8send(task.item_id), '' ORDER BY task.id), string_agg(boolsend(task.blind), '' ORDER BY task.id),
    string_agg(float8send({BLIND_CHANCE}), '' ORDER BY task.id)
FROM items_routecolumns columns
JOIN reviews_reviewtask task ON task.route_id = columns.route_id AND task.status <> 'cancelled'
WHERE columns.workflow_id = %(workflow)s AND columns.created_at >= %(start)s AND columns.created_at <= %(now)s
    AND columns.question_set_id = %(question_set)s AND columns.model = %(model)s AND NOT columns.is_automatic
"""  # noqa: S608 - put together from constants; what comes from outside are parameters


def only_blind(routed: Routed, source: Source) -> Routed:
    """A review's `pi` is the chance of being as blind as it is, 0 where it could not be blind; one that showed the
    model's answer was not asked. Checks are as they were."""
    is_blind, chance = np.zeros(len(routed), np.bool_), np.zeros(len(routed))
    with connection.cursor() as cursor:
        values: dict[str, Any] = {
            "workflow": source.workflow.pk,
            "start": source.start,
            "now": source.now,
            "question_set": source.question_set.pk,
            "model": source.model,
        }
        cursor.execute(_TASKS, values)
        ids, blind, chances = cursor.fetchone()
    if ids is not None and len(routed):
        item_id = np.frombuffer(ids, ">i8").astype(np.int64)
        order = np.argsort(routed.item_id)
        rows = order[np.minimum(np.searchsorted(routed.item_id[order], item_id), len(order) - 1)]
        there = routed.item_id[rows] == item_id
        is_blind[rows[there]] = np.frombuffer(blind, np.uint8).astype(np.bool_)[there]
        chance[rows[there]] = np.frombuffer(chances, ">f8").astype(np.float64)[there]
    return replace(
        routed,
        asked=np.where(routed.was_automatic, routed.asked, is_blind),
        pi=np.where(routed.was_automatic, routed.pi, chance),
    )
