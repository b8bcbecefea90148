"""The usual answer, one opinion that tells what was asked, written by one statement: it is what reviewers wait for.

It writes what `settling.count_review` and `services.submit_review` write for such a task, no more and no less.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from datetime import datetime, timedelta

from apps.core.db import fetch
from apps.outbox.events import ITEM_SETTLED
from apps.reviews.consensus import Verdict
from apps.reviews.errors import LeaseLost
from apps.reviews.models import Answer, Lease, Review, ReviewTask
from apps.reviews.queue import MEMBER, MEMBERS, Seeker
from apps.reviews.settling import label_to_act_on
from apps.reviews.telling import tell_settled
from apps.workflows.models import Question

# A lease that is gone meanwhile leaves nothing to be written.
_SETTLE = f"""
    WITH given_up AS (
        DELETE FROM reviews_lease WHERE id = %(lease)s RETURNING task_id, token
    ), review AS (
        INSERT INTO reviews_review
            (task_id, user_id, revision, blind, seconds, note, lease_token, created_at, is_adjudication)
        SELECT task_id, %(user)s, 1 + (SELECT count(*) FROM reviews_review before
                                       WHERE before.task_id = given_up.task_id AND before.user_id = %(user)s),
               %(blind)s, %(seconds)s, %(note)s, token, %(now)s, false
        FROM given_up RETURNING id, revision
    ), answer AS (
        INSERT INTO reviews_answer (review_id, question_id, kind, value, model_value, said, is_asked)
        SELECT review.id, given.question, given.kind, given.value, given.model_value, given.said, given.is_asked
        FROM review, unnest(%(questions)s::bigint[], %(kinds)s::text[], %(values)s::text[],
                            %(model_values)s::text[], %(said)s::text[], %(are_asked)s::boolean[])
            AS given (question, kind, value, model_value, said, is_asked)
        RETURNING review_id, question_id, kind, value, is_asked
    ), label AS (
        INSERT INTO reviews_label
            (workflow_id, item_id, question_id, question_set_id, value, source, review_id, blind, pi, is_asked,
             created_at)
        SELECT %(workflow)s, %(item)s, question_id, %(question_set)s, value, 'review', review_id, %(blind)s, %(pi)s,
               is_asked, %(now)s
        FROM answer
        -- What nobody asked for does not replace what is settled.
        WHERE kind <> 'cannot_tell' AND (is_asked OR NOT EXISTS (
            SELECT 1 FROM reviews_label settled WHERE settled.item_id = %(item)s
                AND settled.question_id = answer.question_id AND settled.taken_back_at IS NULL))
    ), task AS (
        UPDATE reviews_reviewtask SET status = 'done', closed_at = %(now)s, reviews_done = 1,
            assigned_to_id = NULLIF(assigned_to_id, %(user)s),
            assigned_until = CASE WHEN assigned_to_id = %(user)s THEN NULL ELSE assigned_until END
        WHERE id = (SELECT task_id FROM given_up)
    ), item AS (
        UPDATE items_item SET
            status = CASE WHEN %(is_audit)s THEN status ELSE 'settled' END,
            settled_by = CASE WHEN %(is_audit)s THEN settled_by ELSE 'people' END,
            settled_at = CASE WHEN %(is_audit)s THEN settled_at ELSE %(now)s END,
            audit_open = false
        WHERE id = %(item)s AND EXISTS (SELECT 1 FROM given_up)
    ), run AS (
        INSERT INTO actions_actionrun
            (item_id, action_id, route_id, started_by, status, settings, not_before, idempotency_key, attempts, error,
             created_at)
        SELECT %(item)s, action.id, %(route)s, 'people', 'pending', action.settings, %(not_before)s, gen_random_uuid(),
               0, '', %(now)s
        FROM actions_action action
        WHERE action.workflow_id = %(workflow)s AND action.label = %(label)s AND NOT %(is_audit)s
            AND EXISTS (SELECT 1 FROM given_up)
    )
    SELECT review.id, review.revision,
           EXISTS (SELECT 1 FROM outbox_subscription subscription WHERE subscription.workflow_id = %(workflow)s
                   AND subscription.is_active AND %(told)s = ANY(subscription.events)),
           EXISTS (SELECT 1 FROM reviews_lease other WHERE other.user_id = %(user)s AND other.id <> %(lease)s),
           {MEMBER}
    FROM review LEFT JOIN ({MEMBERS}) ON member.user_id = %(user)s AND member.workflow_id = %(workflow)s
"""  # noqa: S608 - our own columns


def settle_at_once(
    lease: Lease,
    review: Review,
    answers: Collection[Answer],
    verdict: Verdict,
    questions: Mapping[str, Question],
    *,
    now: datetime,
) -> Seeker | None:
    """For a task of one opinion, whose `verdict` is done by these answers: `review` and they
    are not saved yet, and the lease goes. The caller holds the task's row. Raises LeaseLost.

    Gives who answered, where nothing else is on their desk and they are a member still.
    """
    task = lease.task
    not_before = now + timedelta(seconds=task.workflow.undo_s)
    is_audit = task.kind == ReviewTask.Kind.AUDIT
    label = label_to_act_on(task, verdict, questions)
    written = fetch(
        _SETTLE,
        {
            "lease": lease.pk,
            "user": review.user_id,
            "blind": review.blind,
            "seconds": review.seconds,
            "note": review.note,
            "now": now,
            "questions": [answer.question_id for answer in answers],
            "kinds": [str(answer.kind) for answer in answers],
            "values": [answer.value for answer in answers],
            "model_values": [answer.model_value for answer in answers],
            "said": [answer.said for answer in answers],
            "are_asked": [answer.is_asked for answer in answers],
            "workflow": task.workflow_id,
            "item": task.item_id,
            "question_set": task.question_set_id,
            "route": task.route_id,
            "pi": task.route.pi,
            "label": label,
            "not_before": not_before,
            "is_audit": is_audit,
            "told": ITEM_SETTLED,
        },
    )
    if not written:
        raise LeaseLost("This item is no longer on your desk: its hold has ended. Your next item is waiting.")
    review.pk, review.revision, is_told, has_more, *member = written[0]
    if is_told and not is_audit:
        given = {key: verdict.values[key] for key in task.asked}
        tell_settled(task=task, label=label, answers=given, now=now, not_before=not_before)
    is_free = not has_more and member[0] is not None
    return Seeker.read(review.user, task.workflow, member) if is_free else None
