"""Routed decisions by the million, written straight into the tables, for measuring.

Eight weeks up to `now`, growing ids with growing times. 80 % are automatic, 5 % of those are drawn for a check; of
what people were asked 95 % is answered, right nine times in ten. One in twenty belongs to a group of three. Only
what still waits for a person has content.
"""

from __future__ import annotations

import json
from datetime import datetime
from typing import Any

from django.db import connection, transaction

from apps.accounts.models import User
from apps.workflows.models import Question, Workflow
from apps.workflows.selectors import current_question_set

WEEKS = 8
STEP = 100_000
MODEL = "standin-ngram-1"

# Ids are given, not drawn, so that every table can be filled by itself.
_MADE = """
CREATE TEMPORARY TABLE made ON COMMIT DROP AS
SELECT n, %(base)s + n AS id, %(now)s - make_interval(secs => (%(size)s - n) * %(gap_s)s) AS at, label,
       CASE WHEN automatic THEN 1 - 0.1 * chance * chance ELSE 0.3 + 0.65 * chance END AS p, automatic,
       automatic AND draw < 0.05 AS drawn, NOT automatic OR draw < 0.05 AS asked,
       random() < 0.95 AS answered,
       CASE WHEN random() < 0.9 THEN label ELSE (%(labels)s::text[])[1 + floor(random() * %(many)s)] END AS truth,
       CASE WHEN (%(base)s + n) %% 20 = 0 THEN 'group-' || (%(base)s + n) / 60 ELSE '' END AS group_key,
       random() < 0.1 AS hidden
FROM (SELECT n, random() AS chance, random() AS draw, random() < 0.8 AS automatic,
             (%(labels)s::text[])[1 + floor(%(many)s * power(random(), 1.5))] AS label
      FROM generate_series(%(first)s::int, %(last)s::int) n) drawn;
"""
_ROWS = """
INSERT INTO items_item (id, workflow_id, external_id, content_hash, title, source, metadata, group_key, priority,
    status, settled_by, audit_open, received_at, created_at, due_at, decided_at, settled_at, attempts, wait_reason)
SELECT id, %(workflow)s, 'million-' || %(base)s + n, repeat('0', 64), 'Message ' || n, 'bench', '{}', group_key, 0,
    CASE WHEN automatic OR answered THEN 'settled' ELSE 'in_review' END,
    CASE WHEN automatic THEN 'policy' WHEN answered THEN 'people' END, drawn AND NOT answered, at, at,
    at + interval '1 day', at, CASE WHEN automatic OR answered THEN at END, 1, '' FROM made ORDER BY n;
INSERT INTO items_itemcontent (item_id, state, text, repairs)
SELECT id, to_jsonb('Message ' || n), 'Message ' || n, '[]' FROM made WHERE asked AND NOT answered ORDER BY n;
INSERT INTO items_decision (id, item_id, question_set_id, is_primary, endpoint_id, model_requested, model,
    request_id, http_status, latency_s, input_tokens, output_tokens, cost, warnings, answers, images, created_at)
SELECT id, id, %(question_set)s, true, %(endpoint)s, %(model)s, %(model)s, '', 200, 0.03 + random() * 0.1, 400, 0,
    0.00004, '[]', %(others)s::jsonb || jsonb_build_object(%(key)s, jsonb_build_object(
        'kind', 'choice', 'raw_confidence', null,
        'probabilities', (SELECT jsonb_agg(jsonb_build_array(option, CASE WHEN option = label THEN p
            ELSE (1 - p) / (%(options_many)s - 1) END) ORDER BY place)
            FROM unnest(%(options)s::text[]) WITH ORDINALITY each (option, place)))), '[]', at
FROM made ORDER BY n;
INSERT INTO items_route (id, item_id, workflow_id, decision_id, policy_id, question_set_id, outcome, label, p, gates,
    reasons, pi, drawn, open_but_threshold, created_at)
SELECT id, id, %(workflow)s, id, %(policy)s, %(question_set)s, CASE WHEN automatic THEN 'automatic' ELSE 'review' END,
    label, p, %(gates)s, '[]', CASE WHEN automatic THEN 0.05 ELSE 1 END, drawn, automatic OR random() < 0.7, at
FROM made ORDER BY n;
INSERT INTO reviews_reviewtask (id, workflow_id, item_id, route_id, question_set_id, kind, asked, blind, status,
    reviews_needed, reviews_done, priority, due_at, place_at, created_at, closed_at)
SELECT id, %(workflow)s, id, id, %(question_set)s, CASE WHEN drawn THEN 'audit' ELSE 'routine' END,
    ARRAY[%(key)s], drawn OR hidden, CASE WHEN answered THEN 'done' ELSE 'open' END, 1,
    CASE WHEN answered THEN 1 ELSE 0 END, 0, at + interval '1 day', at + interval '1 day', at,
    CASE WHEN answered THEN at END
FROM made WHERE asked ORDER BY n;
INSERT INTO reviews_review (id, task_id, user_id, revision, blind, seconds, note, lease_token, created_at)
SELECT id, id, %(user)s, 1, drawn OR hidden, 2 + random() * 10, '', gen_random_uuid(), at + interval '2 hours'
FROM made WHERE asked AND answered ORDER BY n;
INSERT INTO reviews_answer (review_id, question_id, kind, value, model_value)
SELECT id, %(question)s, CASE WHEN truth = label THEN 'accept' ELSE 'correct' END, truth, label
FROM made WHERE asked AND answered ORDER BY n;
INSERT INTO reviews_label (workflow_id, item_id, question_id, question_set_id, value, source, review_id, blind, pi,
    created_at)
SELECT %(workflow)s, id, %(question)s, %(question_set)s, truth, 'review', id, drawn OR hidden,
    CASE WHEN automatic THEN 0.05 ELSE 1 END, at + interval '2 hours' FROM made WHERE asked AND answered ORDER BY n;
INSERT INTO actions_actionrun (item_id, action_id, route_id, started_by, status, settings, not_before,
    idempotency_key, attempts, read_back, error, created_at, finished_at)
SELECT made.id, action.id, made.id, 'policy', 'verified', '{}', at, gen_random_uuid(), 1, '{}', '', at, at
FROM made JOIN actions_action action ON action.workflow_id = %(workflow)s AND action.label = made.label
WHERE automatic ORDER BY n;
"""
_TABLES = ("items_item", "items_decision", "items_route", "reviews_reviewtask", "reviews_review")


def fill(*, workflow: Workflow, user: User, size: int, now: datetime) -> None:
    """`user` gave all answers. Commits every `STEP` items; the sequences go on behind what was written."""
    questions = current_question_set(workflow)
    question = questions.questions.get(is_routing=True)
    policy = workflow.policies.get(status="active")
    labels = [label for label in question.option_ids if label in policy.rules["labels"]]
    values: dict[str, Any] = {
        "base": _after_last(),
        "size": size,
        "now": now,
        "gap_s": WEEKS * 7 * 86_400 / size,
        "labels": labels,
        "many": len(labels),
        "options": question.option_ids,
        "options_many": len(question.option_ids),
        "workflow": workflow.pk,
        "question_set": questions.pk,
        "question": question.pk,
        "key": question.key,
        "others": json.dumps(
            {each.key: _unsure(each) for each in questions.questions.all() if each != question}
        ),
        "endpoint": workflow.endpoint_id,
        "policy": policy.pk,
        "model": MODEL,
        "user": user.pk,
        "gates": "[]",
    }
    for first in range(1, size + 1, STEP):
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute(_MADE, values | {"first": first, "last": min(first + STEP - 1, size)})
            for statement in _ROWS.split(";\n"):
                if statement.strip():
                    cursor.execute(statement, values)
    with connection.cursor() as cursor:
        for table in _TABLES:
            cursor.execute(f"SELECT setval(pg_get_serial_sequence('{table}', 'id'), max(id)) FROM {table}")  # noqa: S608 - our own names
        # As autovacuum does in time: what is counted from indexes alone needs it.
        cursor.execute("VACUUM ANALYZE")


def _unsure(question: Question) -> dict[str, Any]:
    """What the model answers to a question that nobody is asked."""
    options = question.option_ids
    told = [[option, 1 / len(options)] for option in options]
    return {"kind": question.kind, "raw_confidence": None, "probabilities": told}


def _after_last() -> int:
    with connection.cursor() as cursor:
        greatest = ", ".join(f"coalesce((SELECT max(id) FROM {table}), 0)" for table in _TABLES)  # noqa: S608 - our own names
        cursor.execute(f"SELECT greatest({greatest})")
        return int(cursor.fetchone()[0])
