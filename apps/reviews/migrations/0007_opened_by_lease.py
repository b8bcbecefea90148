"""One write of the task's row when it comes to a desk: what keeps `held_until` counts `times_opened`, too."""

from django.db import migrations

FORWARD = """
CREATE OR REPLACE FUNCTION reviews_lease_changed() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    the_task bigint := COALESCE(NEW.task_id, OLD.task_id);
BEGIN
    -- A fresh token is a task put on a desk; a lease that is renewed keeps its own.
    UPDATE reviews_reviewtask task SET
        held_until = (
            SELECT CASE WHEN task.reviews_done + count(*) >= task.reviews_needed THEN min(lease.expires_at) END
            FROM reviews_lease lease WHERE lease.task_id = task.id AND lease.expires_at > clock_timestamp()),
        times_opened = task.times_opened + CASE
            WHEN TG_OP = 'INSERT' OR TG_OP = 'UPDATE' AND NEW.token <> OLD.token THEN 1 ELSE 0 END
        WHERE task.id = the_task;
    RETURN NULL;
END $$;
DROP FUNCTION reviews_task_held_until(bigint);
"""
BACKWARD = """
CREATE FUNCTION reviews_task_held_until(the_task bigint) RETURNS void LANGUAGE sql AS $$
    UPDATE reviews_reviewtask task SET held_until = (
        SELECT CASE WHEN task.reviews_done + count(*) >= task.reviews_needed THEN min(lease.expires_at) END
        FROM reviews_lease lease WHERE lease.task_id = task.id AND lease.expires_at > clock_timestamp()
    ) WHERE task.id = the_task;
$$;
CREATE OR REPLACE FUNCTION reviews_lease_changed() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM reviews_task_held_until(COALESCE(NEW.task_id, OLD.task_id));
    RETURN NULL;
END $$;
"""


class Migration(migrations.Migration):
    dependencies = [("reviews", "0006_answers_that_say_more")]
    operations = [migrations.RunSQL(FORWARD, BACKWARD)]
