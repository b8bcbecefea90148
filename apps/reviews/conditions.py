"""Why a person may not take an open task, in SQL about a row called `task`: one set for every path to a desk."""

from __future__ import annotations

# The index `task_queue` answers it. What the queue is filtered by stands in it as well: what does not match is passed
# over there, without a look at the tasks themselves.
IN_ORDER = "ORDER BY task.priority DESC, task.place_at, task.item_id"
OPEN = "task.workflow_id = %(workflow)s AND task.status = 'open'"

# Each is true or false, never null. Next, take, hand-over, the counts and the queue's page are made of them. OFFSET 0
# has the index asked about each task that is looked at: made one join, all that a person ever answered may be read.
ANSWERED = """EXISTS (SELECT 1 FROM reviews_review review WHERE review.task_id = task.id
    AND review.user_id = %(user)s AND review.taken_back_at IS NULL OFFSET 0)"""
# Called to decide between answers that were taken back since: what they saw cannot be unseen.
SAW = """(task.stage = 'review' AND task.blind AND task.times_opened > 1 AND EXISTS (
    SELECT 1 FROM reviews_taskevent event WHERE event.task_id = task.id AND event.user_id = %(user)s
        AND event.kind = 'saw_answers'))"""
FOR_SENIORS = "(task.stage <> 'review' AND NOT %(is_senior)s)"
# The first part of a task's language, as the index has it: enough to pass over most of what somebody cannot read.
TONGUE = "split_part(lower(task.language), '-', 1) COLLATE \"C\""
IN_THEIR_TONGUE = f"{TONGUE} = ANY(%(tongues)s)"
UNREAD = """(task.language <> '' AND NOT (
    lower(task.language) = ANY(%(languages)s) OR lower(task.language) LIKE ANY(%(variants)s)))"""
# A hand-over binds while its person is here and has not answered: who left or was deactivated keeps nothing.
HANDED_OVER = """(task.assigned_to_id IS NOT NULL AND task.assigned_to_id <> %(user)s
    AND task.assigned_until > clock_timestamp() AND EXISTS (
        SELECT 1 FROM workflows_membership member
        JOIN accounts_user person ON person.id = member.user_id AND person.is_active
        WHERE member.workflow_id = task.workflow_id AND member.user_id = task.assigned_to_id
            AND NOT EXISTS (SELECT 1 FROM reviews_review review WHERE review.task_id = task.id
                            AND review.user_id = member.user_id AND review.taken_back_at IS NULL)))"""
HELD = "(task.held_until IS NOT NULL AND task.held_until > clock_timestamp())"
SKIPPED = """EXISTS (SELECT 1 FROM reviews_skip skip
    WHERE skip.task_id = task.id AND skip.user_id = %(user)s OFFSET 0)"""
MINE = """EXISTS (SELECT 1 FROM reviews_lease lease
    WHERE lease.task_id = task.id AND lease.user_id = %(user)s AND lease.expires_at > clock_timestamp())"""
TO_ME = "(task.assigned_to_id = %(user)s AND task.assigned_until > clock_timestamp())"
# Somebody else here could still take it: then what a person passed on does not come back to them.
_OTHERS_COULD = """EXISTS (
    SELECT 1 FROM workflows_membership member
    JOIN accounts_user person ON person.id = member.user_id AND person.is_active
    LEFT JOIN reviews_deskpreferences desk ON desk.user_id = member.user_id
    WHERE member.workflow_id = task.workflow_id
        AND (task.stage = 'review' OR member.is_senior OR member.role = 'manager')
        AND (task.language = '' OR COALESCE(desk.languages, '{}') = '{}' OR EXISTS (
            SELECT 1 FROM unnest(desk.languages) AS own
            WHERE starts_with(lower(own) || '-', lower(task.language) || '-')
               OR starts_with(lower(task.language) || '-', lower(own) || '-')))
        AND NOT EXISTS (SELECT 1 FROM reviews_skip skip WHERE skip.task_id = task.id AND skip.user_id = member.user_id)
        AND NOT EXISTS (SELECT 1 FROM reviews_review review WHERE review.task_id = task.id
                        AND review.user_id = member.user_id AND review.taken_back_at IS NULL)
        AND NOT (task.stage = 'review' AND task.blind AND EXISTS (
            SELECT 1 FROM reviews_taskevent event WHERE event.task_id = task.id AND event.user_id = member.user_id
                AND event.kind = 'saw_answers')))"""
COMES_BACK = f"({SKIPPED} AND NOT {_OTHERS_COULD})"
# Asked once and not of each task: most have passed on nothing that is open, and the queue is not walked for it.
_PASSED_ON = """EXISTS (SELECT 1 FROM reviews_skip own JOIN reviews_reviewtask passed ON passed.id = own.task_id
    WHERE own.user_id = %(user)s AND passed.workflow_id = %(workflow)s AND passed.status = 'open')"""
# What was handed to a person first; what they passed on comes back to them when nobody else is left who could take it.
# Of COALESCE's arguments none is looked at after the first that is something.
IN_TURN = ((TO_ME, f"NOT {SKIPPED}"), (f"{_PASSED_ON} AND {COMES_BACK}",))
