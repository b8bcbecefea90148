"""What was tried, and what was raised, counts for what may be tried next: the database lets none of it go."""

from django.db import migrations

FORWARD = """
CREATE FUNCTION calibration_never_gone() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION '% % is never deleted: what came after it rests on it', TG_TABLE_NAME, OLD.id
        USING ERRCODE = 'integrity_constraint_violation';
END $$;
CREATE TRIGGER run_stays BEFORE DELETE ON calibration_calibrationrun
    FOR EACH ROW EXECUTE FUNCTION calibration_never_gone();
CREATE TRIGGER certificate_stays BEFORE DELETE ON calibration_certificate
    FOR EACH ROW EXECUTE FUNCTION calibration_never_gone();
CREATE TRIGGER incident_stays BEFORE DELETE ON calibration_incident
    FOR EACH ROW EXECUTE FUNCTION calibration_never_gone();
"""
BACKWARD = """
DROP TRIGGER incident_stays ON calibration_incident;
DROP TRIGGER certificate_stays ON calibration_certificate;
DROP TRIGGER run_stays ON calibration_calibrationrun;
DROP FUNCTION calibration_never_gone();
"""


class Migration(migrations.Migration):
    dependencies = [("calibration", "0004_review_counts")]

    operations = [migrations.RunSQL(FORWARD, BACKWARD)]
