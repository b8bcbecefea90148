"""Who has answers in sight to decide between them is written down, and gives no independent one of the same task."""

from django.db import migrations, models

FORWARD = """
CREATE OR REPLACE FUNCTION reviews_lease_seniors() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    task reviews_reviewtask;
BEGIN
    SELECT * INTO task FROM reviews_reviewtask WHERE id = NEW.task_id;
    IF task.stage = 'review' THEN
        -- Who saw something is one who opened it beside another who answered.
        IF task.blind AND task.times_opened > 1 AND EXISTS (
            SELECT 1 FROM reviews_taskevent event WHERE event.task_id = NEW.task_id
                AND event.user_id = NEW.user_id AND event.kind = 'saw_answers')
        THEN
            RAISE EXCEPTION 'person % has seen the answers to task %', NEW.user_id, NEW.task_id
                USING ERRCODE = 'check_violation', CONSTRAINT = 'lease_of_who_saw';
        END IF;
        RETURN NEW;
    END IF;
    IF NOT EXISTS (
        SELECT 1 FROM workflows_membership member WHERE member.workflow_id = task.workflow_id
            AND member.user_id = NEW.user_id AND (member.is_senior OR member.role = 'manager'))
    THEN
        RAISE EXCEPTION 'task % waits for a senior', NEW.task_id
            USING ERRCODE = 'check_violation', CONSTRAINT = 'lease_of_seniors';
    END IF;
    IF task.stage = 'adjudication' THEN
        INSERT INTO reviews_taskevent (task_id, kind, user_id, note, created_at)
        SELECT NEW.task_id, 'saw_answers', NEW.user_id, '', clock_timestamp()
        WHERE NOT EXISTS (
            SELECT 1 FROM reviews_taskevent event WHERE event.task_id = NEW.task_id
                AND event.user_id = NEW.user_id AND event.kind = 'saw_answers');
    END IF;
    RETURN NEW;
END $$;
INSERT INTO reviews_taskevent (task_id, kind, user_id, note, created_at)
SELECT lease.task_id, 'saw_answers', lease.user_id, '', lease.acquired_at
FROM reviews_lease lease JOIN reviews_reviewtask task ON task.id = lease.task_id
WHERE task.stage = 'adjudication';
"""
BACKWARD = """
CREATE OR REPLACE FUNCTION reviews_lease_seniors() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF EXISTS (SELECT 1 FROM reviews_reviewtask task WHERE task.id = NEW.task_id AND task.stage <> 'review')
        AND NOT EXISTS (
            SELECT 1 FROM reviews_reviewtask task
            JOIN workflows_membership member ON member.workflow_id = task.workflow_id
            WHERE task.id = NEW.task_id AND member.user_id = NEW.user_id
                AND (member.is_senior OR member.role = 'manager'))
    THEN
        RAISE EXCEPTION 'task % waits for a senior', NEW.task_id
            USING ERRCODE = 'check_violation', CONSTRAINT = 'lease_of_seniors';
    END IF;
    RETURN NEW;
END $$;
DELETE FROM reviews_taskevent WHERE kind = 'saw_answers';
"""
KINDS = [
    ("handed_over", "handed over"),
    ("escalated", "Escalated"),
    ("prioritised", "Prioritised"),
    ("more_opinions", "opinions needed changed"),
    ("saw_answers", "opened to decide"),
]


class Migration(migrations.Migration):
    dependencies = [("reviews", "0007_opened_by_lease")]
    operations = [
        migrations.AlterField("taskevent", "kind", models.CharField(max_length=15, choices=KINDS)),
        migrations.RunSQL(FORWARD, BACKWARD),
    ]
