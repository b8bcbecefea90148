"""Decisions and routes are evidence: the database itself refuses to change one."""

from django.db import migrations

FORWARD = """
CREATE FUNCTION items_decision_is_final() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'decision % is never edited', OLD.id USING ERRCODE = 'integrity_constraint_violation';
END $$;
CREATE TRIGGER decision_is_final BEFORE UPDATE ON items_decision
    FOR EACH ROW EXECUTE FUNCTION items_decision_is_final();

CREATE FUNCTION items_route_is_final() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    kept items_route := NEW;
BEGIN
    -- The one thing that may happen to a route: another one takes its place.
    kept.superseded_at := OLD.superseded_at;
    IF OLD.superseded_at IS NOT NULL OR kept IS DISTINCT FROM OLD THEN
        RAISE EXCEPTION 'route % is written once', OLD.id USING ERRCODE = 'integrity_constraint_violation';
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER route_is_final BEFORE UPDATE ON items_route
    FOR EACH ROW EXECUTE FUNCTION items_route_is_final();

CREATE EXTENSION IF NOT EXISTS pg_trgm;
CREATE INDEX item_content_text_search ON items_itemcontent USING gin (text gin_trgm_ops);
"""
BACKWARD = """
DROP INDEX item_content_text_search;
DROP TRIGGER route_is_final ON items_route;
DROP FUNCTION items_route_is_final();
DROP TRIGGER decision_is_final ON items_decision;
DROP FUNCTION items_decision_is_final();
"""


class Migration(migrations.Migration):
    dependencies = [("items", "0001_initial")]
    operations = [migrations.RunSQL(FORWARD, BACKWARD)]
