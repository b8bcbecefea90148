"""Routed items by the thousand, as rows: what the loop would have left behind."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from random import Random
from typing import Any

from django.db import connection

from apps.workflows.models import Workflow
from tests.factories import NOW

EARLIER = NOW - timedelta(days=20)


@dataclass(frozen=True)
class Past:
    """One item's past. `answer` is what people said; "" when nobody answered."""

    label: str = "spam"
    p: float = 0.95
    outcome: str = "review"
    pi: float = 1.0
    drawn: bool = False
    answer: str | None = ""
    at: datetime = EARLIER
    model: str = "standin-ngram-1"
    is_open: bool = True
    source: str = "review"
    group: str = ""


REVIEWED = Past(answer="spam")
AUDITED = Past(outcome="automatic", pi=0.1, drawn=True, answer="spam")
UNCHECKED = replace(AUDITED, drawn=False, answer="")

_INSERT = """
WITH given AS (
    SELECT * FROM unnest(
        %(id)s::text[], %(label)s::text[], %(p)s::float8[], %(outcome)s::text[], %(pi)s::float8[],
        %(drawn)s::bool[], %(answer)s::text[], %(at)s::timestamptz[], %(model)s::text[], %(is_open)s::bool[],
        %(source)s::text[], %(group)s::text[]
    ) AS given (id, label, p, outcome, pi, drawn, answer, at, model, is_open, source, group_key)
), item AS (
    INSERT INTO items_item (workflow_id, external_id, content_hash, title, source, metadata, priority, status,
        audit_open, received_at, created_at, due_at, attempts, wait_reason, group_key)
    SELECT %(workflow)s, id, '0', id, 'test', '{}', 0, 'in_review', false, at, at, at, 0, '', group_key FROM given
    RETURNING id, external_id
), decision AS (
    INSERT INTO items_decision (item_id, question_set_id, is_primary, endpoint_id, model_requested, model,
        request_id, http_status, latency_s, warnings, answers, images, created_at)
    SELECT item.id, %(question_set)s, true, %(endpoint)s, model, model, '', 200, 0.1, '[]', '{}', '[]', at
    FROM item JOIN given ON given.id = item.external_id
    RETURNING id, item_id
), label AS (
    INSERT INTO reviews_label (workflow_id, item_id, question_id, question_set_id, value, source, blind, pi,
        created_at)
    SELECT %(workflow)s, item.id, %(question)s, %(question_set)s, answer, given.source, drawn, pi, at
    FROM item JOIN given ON given.id = item.external_id WHERE answer IS DISTINCT FROM ''
)
INSERT INTO items_route (item_id, workflow_id, decision_id, policy_id, question_set_id, outcome, label, p, gates,
    reasons, pi, drawn, open_but_threshold, created_at)
SELECT item.id, %(workflow)s, decision.id, %(policy)s, %(question_set)s, outcome, label, p, '[]', '[]', pi, drawn,
    is_open, at
FROM item JOIN given ON given.id = item.external_id JOIN decision ON decision.item_id = item.id
"""


def insert_past(workflow: Workflow, past: Sequence[Past], *, prefix: str = "item") -> None:
    questions = workflow.question_sets.get(is_current=True)
    columns: dict[str, Any] = {
        name: [getattr(each, name) for each in past]
        for name in (
            "label",
            "p",
            "outcome",
            "pi",
            "drawn",
            "answer",
            "at",
            "model",
            "is_open",
            "source",
            "group",
        )
    }
    with connection.cursor() as cursor:
        cursor.execute(
            _INSERT,
            columns
            | {
                "id": [f"{prefix}-{index}" for index in range(len(past))],
                "workflow": workflow.pk,
                "question_set": questions.pk,
                "question": questions.questions.get(is_routing=True).pk,
                "endpoint": workflow.endpoint_id,
                "policy": workflow.policies.get(status="active").pk,
            },
        )
        # As autovacuum does for a table that people use; without it the planner takes thousands of rows for one.
        cursor.execute("ANALYZE items_item, items_decision, items_route, reviews_label")


# `insert_past` leaves decisions without probabilities.
_WITH_ANSWERS = """
UPDATE items_decision decision SET answers = jsonb_build_object('intent', jsonb_build_object('kind', 'choice',
    'probabilities', jsonb_build_array(jsonb_build_array('spam', route.p), jsonb_build_array('lead', 1 - route.p))))
FROM items_route route WHERE route.decision_id = decision.id
"""


def insert_judged(workflow: Workflow, past: Sequence[Past]) -> None:
    insert_past(workflow, past, prefix="judged")
    with connection.cursor() as cursor:
        # Decisions are never edited; these were written a moment ago, without what they say.
        cursor.execute("SET LOCAL session_replication_role = replica")
        cursor.execute(_WITH_ANSWERS)
        cursor.execute("SET LOCAL session_replication_role = origin")


def random_past(seed: int, size: int) -> list[Past]:
    """Two labels over 80 days, audited at 10, 20 or 25 %, mostly answered, some by "none of these"."""
    chance = Random(seed)
    past = []
    for _ in range(size):
        label = chance.choice(["spam", "lead"])
        automatic = chance.random() < 0.6
        pi = chance.choice([0.1, 0.2, 0.25]) if automatic else 1.0
        drawn = automatic and chance.random() < pi
        answers: list[str | None] = [label, label, label, "customer", None]
        answered = (drawn or not automatic) and chance.random() < 0.97
        past.append(
            Past(
                label=label,
                p=chance.choice([0.3, 0.5, 0.57, 0.9, 0.95, 0.99, 0.999, 1.0, chance.random()]),
                outcome="automatic" if automatic else "review",
                pi=pi,
                drawn=drawn,
                answer=chance.choice(answers) if answered else "",
                at=NOW - timedelta(days=chance.uniform(0, 80)),
                is_open=chance.random() < 0.9,
            )
        )
    return past
