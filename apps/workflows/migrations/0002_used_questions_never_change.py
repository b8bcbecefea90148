"""What a model was asked is evidence: once a version was used, the database refuses to change its questions."""

from django.db import migrations

FORWARD = """
CREATE FUNCTION workflows_question_is_unused() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    used record;
BEGIN
    -- FOR SHARE: a first use and a change at the same moment take turns.
    FOR used IN
        SELECT id, version, first_used_at FROM workflows_questionset
        WHERE id IN (
            CASE WHEN TG_OP <> 'INSERT' THEN OLD.question_set_id END,
            CASE WHEN TG_OP <> 'DELETE' THEN NEW.question_set_id END
        ) FOR SHARE
    LOOP
        IF used.first_used_at IS NOT NULL THEN
            RAISE EXCEPTION 'question set % (version %) was used and never changes: make a new version',
                used.id, used.version USING ERRCODE = 'integrity_constraint_violation';
        END IF;
    END LOOP;
    RETURN COALESCE(NEW, OLD);
END $$;
CREATE TRIGGER question_is_unused BEFORE INSERT OR UPDATE OR DELETE ON workflows_question
    FOR EACH ROW EXECUTE FUNCTION workflows_question_is_unused();

CREATE FUNCTION workflows_question_set_stays() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    kept workflows_questionset := NEW;
BEGIN
    -- The one thing that may happen to a used version: another one becomes current, or it does again.
    kept.is_current := OLD.is_current;
    IF TG_OP = 'DELETE' OR kept IS DISTINCT FROM OLD THEN
        RAISE EXCEPTION 'question set % (version %) was used: it neither changes nor goes',
            OLD.id, OLD.version USING ERRCODE = 'integrity_constraint_violation';
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER question_set_stays BEFORE UPDATE OR DELETE ON workflows_questionset
    FOR EACH ROW WHEN (OLD.first_used_at IS NOT NULL) EXECUTE FUNCTION workflows_question_set_stays();
"""
BACKWARD = """
DROP TRIGGER question_set_stays ON workflows_questionset;
DROP FUNCTION workflows_question_set_stays();
DROP TRIGGER question_is_unused ON workflows_question;
DROP FUNCTION workflows_question_is_unused();
"""


class Migration(migrations.Migration):
    dependencies = [("workflows", "0001_initial")]
    operations = [migrations.RunSQL(FORWARD, BACKWARD)]
