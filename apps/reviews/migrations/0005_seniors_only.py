"""What was escalated or is adjudicated lies on the desk of a senior or a manager alone."""

from django.db import migrations

FORWARD = """
CREATE FUNCTION reviews_lease_seniors() RETURNS trigger LANGUAGE plpgsql AS $$
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
CREATE TRIGGER lease_seniors BEFORE INSERT ON reviews_lease
    FOR EACH ROW EXECUTE FUNCTION reviews_lease_seniors();
"""
BACKWARD = """
DROP TRIGGER lease_seniors ON reviews_lease;
DROP FUNCTION reviews_lease_seniors();
"""


class Migration(migrations.Migration):
    dependencies = [("reviews", "0004_opinions_and_desk")]
    operations = [migrations.RunSQL(FORWARD, BACKWARD)]
