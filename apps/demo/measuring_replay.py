"""How long a policy takes to be replayed over a million decisions."""

from __future__ import annotations

import copy
import struct
from typing import Any

from django.db import connection, transaction
from django.utils import timezone

from apps.calibration.replay.replaying import Replayed, replay, source_for
from apps.demo.measuring import Bench, TookTooLong
from apps.policies.models import Policy
from apps.workflows.models import Question, Workflow

ROUNDS = 3
LABELLED_SHARE = 0.15
_FIRST_ID = 1_000_000_000

# Rows of the two tables a replay reads, and of nothing else: a million items with all that belongs to them would
# take longer to write than everything else that is measured. Vectors lean towards one option, people agree nine
# times in ten; spread over 55 days.
_GROW = """
WITH numbered AS MATERIALIZED (
    SELECT n, %(now)s::timestamptz - interval '55 days' * (%(count)s - n) / %(count)s AS at,
        1 - 0.6 * random() ^ 4 AS p, 1 + floor(random() * %(options)s)::int AS top, random() AS asked,
        random() < 0.9 AS agrees
    FROM generate_series(1, %(count)s) n
), label AS (
    INSERT INTO reviews_label (workflow_id, item_id, question_id, question_set_id, value, source, blind, pi,
        created_at)
    SELECT %(workflow)s, %(first)s + n, %(question)s, %(question_set)s,
        (%(names)s::text[])[CASE WHEN agrees THEN top ELSE 1 END], 'review', false, 1, at
    FROM numbered WHERE asked < %(labelled)s
)
INSERT INTO items_routecolumns (route_id, item_id, workflow_id, policy_id, question_set_id, created_at,
    is_automatic, drawn, pi, model, held, vector)
SELECT %(first)s + n, %(first)s + n, %(workflow)s, %(policy)s, %(question_set)s, at,
    asked >= 0.9 * %(labelled)s, asked BETWEEN 0.9 * %(labelled)s AND %(labelled)s,
    CASE WHEN asked < 0.9 * %(labelled)s THEN 1 ELSE 0.05 END, %(model)s, NULL,
    %(before)s || (SELECT string_agg(float8send(CASE WHEN place = top THEN p
        ELSE (1 - p) / (%(options)s - 1) END), ''::bytea ORDER BY place) FROM generate_series(1, %(options)s) place)
    || %(after)s
FROM numbered
"""


def measure_replay(bench: Bench, *, items: int) -> dict[str, Any]:
    """The fastest of a few rounds: a replay uses one core, and what else the machine does only slows it down."""
    _grow(bench.workflow, items)
    rules = _looser(bench.workflow)
    rounds = [_replayed(bench.workflow, rules) for _ in range(ROUNDS)]
    return {
        "replay_1m_s": round(min(each.seconds for each in rounds) * 1_000_000 / rounds[0].replayed, 2),
        "items": rounds[0].replayed,
        "rounds_s": [round(each.seconds, 2) for each in rounds],
        "measured": (
            "a policy with lower thresholds over all stored decisions of eight weeks: rows read, both policies routed, "
            f"every figure of the preview; best of {ROUNDS}, per million"
        ),
    }


def _replayed(workflow: Workflow, rules: dict[str, Any]) -> Replayed:
    found = replay(workflow=workflow, rules=rules, now=timezone.now())
    if found is None:
        raise TookTooLong("There was nothing to replay")
    return found


def _looser(workflow: Workflow) -> dict[str, Any]:
    rules: dict[str, Any] = copy.deepcopy(Policy.objects.get(workflow=workflow, status="active").rules)
    for label in rules["labels"].values():
        label |= {"threshold": max(0.5, label["threshold"] - 0.1), "autonomy": "audited"}
    return rules


def _grow(workflow: Workflow, items: int) -> None:
    now = timezone.now()
    source = source_for(workflow, now=now)
    if source is None:
        raise TookTooLong("No item was decided")
    routing, keys = source.routing, [question.key for question in source.questions]
    at = keys.index(routing.key)
    values: dict[str, Any] = {
        "count": items,
        "first": _FIRST_ID,
        "now": now,
        "workflow": workflow.pk,
        "question_set": source.question_set.pk,
        "question": routing.pk,
        "options": len(routing.option_ids),
        "names": routing.option_ids,
        "policy": Policy.objects.get(workflow=workflow, status="active").pk,
        "model": source.model,
        "labelled": LABELLED_SHARE,
        "before": b"".join(map(_sure_of_the_last, source.questions[:at])),
        "after": b"".join(map(_sure_of_the_last, source.questions[at + 1 :])),
    }
    with transaction.atomic(), connection.cursor() as cursor:
        # The items and routes these rows name are not there, and nobody asks for them.
        cursor.execute("SET LOCAL session_replication_role = replica")
        cursor.execute(_GROW, values)
    with connection.cursor() as cursor:
        cursor.execute("VACUUM ANALYZE items_routecolumns")
        cursor.execute("ANALYZE reviews_label")


def _sure_of_the_last(question: Question) -> bytes:
    """No doubt that would hold the items: a noul says no."""
    others = len(question.option_ids) - 1
    return struct.pack(f">{others + 1}d", *[0.05 / others] * others, 0.95)
