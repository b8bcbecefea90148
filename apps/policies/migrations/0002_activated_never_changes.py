"""A policy that was in force explains routes: the database itself refuses to change it or let it go."""

from django.db import migrations

FORWARD = """
CREATE FUNCTION policies_activated_stays() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    kept policies_policy := NEW;
BEGIN
    -- What may happen to it: it retires, and somebody puts it in force again.
    kept.status := OLD.status;
    kept.activated_at := OLD.activated_at;
    kept.activated_by_id := OLD.activated_by_id;
    IF TG_OP = 'DELETE' OR kept IS DISTINCT FROM OLD OR NEW.activated_at IS NULL THEN
        RAISE EXCEPTION 'policy % (version %) was activated: it neither changes nor goes, make a new version',
            OLD.id, OLD.version USING ERRCODE = 'integrity_constraint_violation';
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER activated_stays BEFORE UPDATE OR DELETE ON policies_policy
    FOR EACH ROW WHEN (OLD.activated_at IS NOT NULL) EXECUTE FUNCTION policies_activated_stays();
"""
BACKWARD = """
DROP TRIGGER activated_stays ON policies_policy;
DROP FUNCTION policies_activated_stays();
"""


class Migration(migrations.Migration):
    dependencies = [("policies", "0001_initial")]
    operations = [migrations.RunSQL(FORWARD, BACKWARD)]
