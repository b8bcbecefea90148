"""What a lease must be is looked at by one trigger, which writes the task once; nothing is written of a closed task."""

from django.db import migrations

FORWARD = """
DROP TRIGGER lease_seniors ON reviews_lease;
DROP FUNCTION reviews_lease_seniors();
DROP TRIGGER lease_changed ON reviews_lease;
DROP FUNCTION reviews_lease_changed();

CREATE OR REPLACE FUNCTION reviews_lease_guard() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    task reviews_reviewtask;
    on_task integer;
    on_desk integer;
    earliest timestamptz;
BEGIN
    -- The task's row is the lock every claim, answer and undo of it takes first.
    SELECT * INTO task FROM reviews_reviewtask WHERE id = NEW.task_id FOR UPDATE;
    IF task.status <> 'open' THEN
        RAISE EXCEPTION 'task % is not open', NEW.task_id
            USING ERRCODE = 'check_violation', CONSTRAINT = 'lease_of_open_task';
    END IF;
    PERFORM pg_advisory_xact_lock(hashtextextended('reviews_lease_of_person', NEW.user_id));
    SELECT of_task.live, of_task.earliest,
           (SELECT count(*) FROM reviews_lease
            WHERE user_id = NEW.user_id AND id <> NEW.id AND expires_at > clock_timestamp())
        INTO on_task, earliest, on_desk
        FROM (SELECT count(*) AS live, min(expires_at) AS earliest FROM reviews_lease
              WHERE task_id = NEW.task_id AND id <> NEW.id AND expires_at > clock_timestamp()) of_task;
    IF task.reviews_done + on_task >= task.reviews_needed THEN
        RAISE EXCEPTION 'task % has all the people it needs', NEW.task_id
            USING ERRCODE = 'check_violation', CONSTRAINT = 'lease_within_needed';
    END IF;
    IF on_desk >= 2 THEN
        RAISE EXCEPTION 'person % holds two tasks already', NEW.user_id
            USING ERRCODE = 'check_violation', CONSTRAINT = 'lease_two_a_person';
    END IF;
    -- Who saw something is one who opened it beside another who answered.
    IF TG_OP = 'INSERT' AND task.stage = 'review' AND task.blind AND task.times_opened > 1 THEN
        IF EXISTS (
            SELECT 1 FROM reviews_taskevent event WHERE event.task_id = NEW.task_id
                AND event.user_id = NEW.user_id AND event.kind = 'saw_answers')
        THEN
            RAISE EXCEPTION 'person % has seen the answers to task %', NEW.user_id, NEW.task_id
                USING ERRCODE = 'check_violation', CONSTRAINT = 'lease_of_who_saw';
        END IF;
    ELSIF TG_OP = 'INSERT' AND task.stage <> 'review' THEN
        IF NOT EXISTS (
            SELECT 1 FROM workflows_membership member WHERE member.workflow_id = task.workflow_id
                AND member.user_id = NEW.user_id AND (member.is_senior OR member.role = 'manager'))
        THEN
            RAISE EXCEPTION 'task % waits for a senior', NEW.task_id
                USING ERRCODE = 'check_violation', CONSTRAINT = 'lease_of_seniors';
        END IF;
        INSERT INTO reviews_taskevent (task_id, kind, user_id, note, created_at)
        SELECT NEW.task_id, 'saw_answers', NEW.user_id, '', clock_timestamp()
        WHERE task.stage = 'adjudication' AND NOT EXISTS (
            SELECT 1 FROM reviews_taskevent event WHERE event.task_id = NEW.task_id
                AND event.user_id = NEW.user_id AND event.kind = 'saw_answers');
    END IF;
    -- Null while somebody may take it. A fresh token is a task put on a desk; a lease that is renewed keeps its own.
    UPDATE reviews_reviewtask SET
        held_until = CASE
            WHEN NEW.expires_at > clock_timestamp() AND task.reviews_done + on_task + 1 >= task.reviews_needed
            THEN LEAST(earliest, NEW.expires_at) END,
        times_opened = task.times_opened + CASE
            WHEN TG_OP = 'INSERT' OR NEW.token <> OLD.token THEN 1 ELSE 0 END
        WHERE id = NEW.task_id;
    RETURN NEW;
END $$;

CREATE FUNCTION reviews_lease_gone() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    UPDATE reviews_reviewtask task SET held_until = (
        SELECT CASE WHEN task.reviews_done + count(*) >= task.reviews_needed THEN min(lease.expires_at) END
        FROM reviews_lease lease WHERE lease.task_id = OLD.task_id AND lease.expires_at > clock_timestamp())
        WHERE task.id = OLD.task_id AND task.status = 'open';
    RETURN NULL;
END $$;
CREATE TRIGGER lease_gone AFTER DELETE ON reviews_lease
    FOR EACH ROW EXECUTE FUNCTION reviews_lease_gone();
"""
BACKWARD = """
DROP TRIGGER lease_gone ON reviews_lease;
DROP FUNCTION reviews_lease_gone();
CREATE OR REPLACE FUNCTION reviews_lease_guard() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    task reviews_reviewtask;
    live integer;
BEGIN
    -- The task's row is the lock every claim, answer and undo of it takes first.
    SELECT * INTO task FROM reviews_reviewtask WHERE id = NEW.task_id FOR UPDATE;
    IF task.status <> 'open' THEN
        RAISE EXCEPTION 'task % is not open', NEW.task_id
            USING ERRCODE = 'check_violation', CONSTRAINT = 'lease_of_open_task';
    END IF;
    SELECT count(*) INTO live FROM reviews_lease
        WHERE task_id = NEW.task_id AND id <> NEW.id AND expires_at > clock_timestamp();
    IF task.reviews_done + live >= task.reviews_needed THEN
        RAISE EXCEPTION 'task % has all the people it needs', NEW.task_id
            USING ERRCODE = 'check_violation', CONSTRAINT = 'lease_within_needed';
    END IF;
    PERFORM pg_advisory_xact_lock(hashtextextended('reviews_lease_of_person', NEW.user_id));
    SELECT count(*) INTO live FROM reviews_lease
        WHERE user_id = NEW.user_id AND id <> NEW.id AND expires_at > clock_timestamp();
    IF live >= 2 THEN
        RAISE EXCEPTION 'person % holds two tasks already', NEW.user_id
            USING ERRCODE = 'check_violation', CONSTRAINT = 'lease_two_a_person';
    END IF;
    RETURN NEW;
END $$;
CREATE FUNCTION reviews_lease_changed() RETURNS trigger LANGUAGE plpgsql AS $$
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
CREATE TRIGGER lease_changed AFTER INSERT OR UPDATE OR DELETE ON reviews_lease
    FOR EACH ROW EXECUTE FUNCTION reviews_lease_changed();
CREATE FUNCTION reviews_lease_seniors() RETURNS trigger LANGUAGE plpgsql AS $$
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
CREATE TRIGGER lease_seniors BEFORE INSERT ON reviews_lease
    FOR EACH ROW EXECUTE FUNCTION reviews_lease_seniors();
"""


class Migration(migrations.Migration):
    dependencies = [("reviews", "0009_rules_for_new_items")]
    operations = [migrations.RunSQL(FORWARD, BACKWARD)]
