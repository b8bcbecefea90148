"""Counts of reviews by the day, kept with those of routes (`days`): what the overview says of people."""

from __future__ import annotations

ANSWER, AGREED, FIRST, CANNOT_TELL, WITHOUT_MODEL = 1, 2, 4, 8, 16
"""Bits of `CountedReview.state`."""

_KEY = 'day, user_id, kind, blind, label, "bin", pi'

# Every review in force of the items given; of its answers only the one to the question that picks the action, and
# none that is to a route which another one replaced, was not asked for, or was given in sight of the others'. The first
# usable answer to a task is that of its item.
COUNT_REVIEWS = f"""
WITH affected AS (
    SELECT unnest(%(items)s::bigint[]) AS item_id
), given AS (
    SELECT review.id AS review_id, task.item_id,
           (review.created_at AT TIME ZONE %(zone)s)::date AS day,
           review.user_id, review.blind,
           -- Where several opinions are the rule, nothing about blindness was drawn: as with shadow reviews.
           CASE WHEN task.kind = 'routine' AND task.reviews_wanted > 1 AND task.blind_pi = 1 THEN 'shadow'
                ELSE task.kind END AS kind,
           coalesce(route.label, '') AS label,
           coalesce(width_bucket(route.p, %(grid)s::float8[]), -1) AS "bin",
           route.pi, review.seconds, task.id AS task_id,
           answer.id IS NOT NULL AND answer.kind = 'cannot_tell' AS cannot_tell,
           answer.id IS NOT NULL AND answer.kind <> 'cannot_tell' AND answer.model_value IS NULL AS without_model,
           answer.id IS NOT NULL AND answer.kind <> 'cannot_tell' AND answer.model_value IS NOT NULL AS usable,
           answer.value = answer.model_value AS agreed
    FROM affected
    JOIN reviews_reviewtask task ON task.item_id = affected.item_id
    JOIN reviews_review review ON review.task_id = task.id AND review.taken_back_at IS NULL
    JOIN items_route route ON route.id = task.route_id
    LEFT JOIN workflows_question question ON question.question_set_id = task.question_set_id AND question.is_routing
    LEFT JOIN reviews_answer answer ON answer.review_id = review.id AND answer.question_id = question.id
        AND route.superseded_at IS NULL AND answer.is_asked AND NOT review.is_adjudication
), now AS (
    SELECT review_id, item_id, {_KEY}, seconds,
           usable::int * {ANSWER} + (usable AND coalesce(agreed, false))::int * {AGREED}
           + (usable AND row_number() OVER (PARTITION BY task_id, usable ORDER BY review_id) = 1)::int * {FIRST}
           + cannot_tell::int * {CANNOT_TELL} + without_model::int * {WITHOUT_MODEL} AS state
    FROM given
), had AS MATERIALIZED (
    SELECT count_id, state, -count(*) AS n
    FROM calibration_countedreview WHERE item_id = ANY(%(items)s::bigint[]) GROUP BY count_id, state
), change AS (
    SELECT {_KEY}, state, 1 AS n FROM now
    UNION ALL
    SELECT {_KEY}, had.state, had.n
    FROM had JOIN calibration_reviewcount reviewcount ON reviewcount.id = had.count_id
), cell AS (
    INSERT INTO calibration_reviewcount AS before
        (workflow_id, {_KEY}, reviews, answers, agreed, first, first_agreed, cannot_tell, without_model)
    SELECT %(workflow)s, {_KEY}, sum(n),
           sum(n * (state & {ANSWER} > 0)::int), sum(n * (state & {AGREED} > 0)::int),
           sum(n * (state & {FIRST} > 0)::int),
           sum(n * (state & {FIRST | AGREED} = {FIRST | AGREED})::int),
           sum(n * (state & {CANNOT_TELL} > 0)::int), sum(n * (state & {WITHOUT_MODEL} > 0)::int)
    FROM change GROUP BY {_KEY}
    ON CONFLICT (workflow_id, {_KEY}) DO UPDATE SET
        reviews = before.reviews + excluded.reviews, answers = before.answers + excluded.answers,
        agreed = before.agreed + excluded.agreed, first = before.first + excluded.first,
        first_agreed = before.first_agreed + excluded.first_agreed,
        cannot_tell = before.cannot_tell + excluded.cannot_tell,
        without_model = before.without_model + excluded.without_model
    RETURNING id, {_KEY}
), gone AS (
    DELETE FROM calibration_countedreview
    WHERE item_id = ANY(%(items)s::bigint[]) AND review_id NOT IN (SELECT review_id FROM now)
), kept AS (
    INSERT INTO calibration_countedreview AS before (review_id, item_id, count_id, state, seconds)
    SELECT review_id, item_id, cell.id, state, seconds FROM now JOIN cell USING ({_KEY})
    ON CONFLICT (review_id) DO UPDATE SET count_id = excluded.count_id, state = excluded.state
        WHERE (before.count_id, before.state) <> (excluded.count_id, excluded.state)
)
SELECT 1
"""  # noqa: S608 - put together from constants; what comes from outside are parameters
