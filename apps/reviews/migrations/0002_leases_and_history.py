"""Never two people on one item, and no answer rewritten: held by the database, whatever the code above does."""

from django.db import migrations

FORWARD = """
CREATE FUNCTION reviews_lease_guard() RETURNS trigger LANGUAGE plpgsql AS $$
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
CREATE TRIGGER lease_guard BEFORE INSERT OR UPDATE ON reviews_lease
    FOR EACH ROW EXECUTE FUNCTION reviews_lease_guard();

CREATE FUNCTION reviews_task_held_until(the_task bigint) RETURNS void LANGUAGE sql AS $$
    UPDATE reviews_reviewtask task SET held_until = (
        SELECT CASE WHEN task.reviews_done + count(*) >= task.reviews_needed THEN min(lease.expires_at) END
        FROM reviews_lease lease WHERE lease.task_id = task.id AND lease.expires_at > clock_timestamp()
    ) WHERE task.id = the_task;
$$;
CREATE FUNCTION reviews_lease_changed() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM reviews_task_held_until(COALESCE(NEW.task_id, OLD.task_id));
    RETURN NULL;
END $$;
CREATE TRIGGER lease_changed AFTER INSERT OR UPDATE OR DELETE ON reviews_lease
    FOR EACH ROW EXECUTE FUNCTION reviews_lease_changed();

CREATE FUNCTION reviews_answer_is_final() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'an answer is never edited: a change is a new revision'
        USING ERRCODE = 'integrity_constraint_violation';
END $$;
CREATE TRIGGER answer_is_final BEFORE UPDATE ON reviews_answer
    FOR EACH ROW EXECUTE FUNCTION reviews_answer_is_final();

CREATE FUNCTION reviews_label_is_final() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    kept reviews_label := NEW;
BEGIN
    kept.taken_back_at := OLD.taken_back_at;
    IF OLD.taken_back_at IS NOT NULL OR kept IS DISTINCT FROM OLD THEN
        RAISE EXCEPTION 'label % is never edited: it can only be taken back', OLD.id
            USING ERRCODE = 'integrity_constraint_violation';
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER label_is_final BEFORE UPDATE ON reviews_label
    FOR EACH ROW EXECUTE FUNCTION reviews_label_is_final();
"""
BACKWARD = """
DROP TRIGGER label_is_final ON reviews_label;
DROP FUNCTION reviews_label_is_final();
DROP TRIGGER answer_is_final ON reviews_answer;
DROP FUNCTION reviews_answer_is_final();
DROP TRIGGER lease_changed ON reviews_lease;
DROP FUNCTION reviews_lease_changed();
DROP FUNCTION reviews_task_held_until(bigint);
DROP TRIGGER lease_guard ON reviews_lease;
DROP FUNCTION reviews_lease_guard();
"""


class Migration(migrations.Migration):
    dependencies = [("reviews", "0001_initial")]
    operations = [migrations.RunSQL(FORWARD, BACKWARD)]
