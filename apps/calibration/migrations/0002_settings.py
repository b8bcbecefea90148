"""What managers choose, and what was computed stays as it was computed: the database refuses to change it."""

import django.core.validators
import django.db.models.deletion
from django.db import migrations, models

FORWARD = """
CREATE FUNCTION calibration_run_is_final() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    kept calibration_calibrationrun := NEW;
BEGIN
    -- The draft it ended in may be discarded.
    kept.proposal_id := OLD.proposal_id;
    IF kept IS DISTINCT FROM OLD THEN
        RAISE EXCEPTION 'calibration run % is never edited', OLD.id USING ERRCODE = 'integrity_constraint_violation';
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER run_is_final BEFORE UPDATE ON calibration_calibrationrun
    FOR EACH ROW EXECUTE FUNCTION calibration_run_is_final();

CREATE FUNCTION calibration_certificate_is_final() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    kept calibration_certificate := NEW;
BEGIN
    -- The one thing that may happen to it: it ends, once.
    kept.ended_at := OLD.ended_at;
    kept.ended_because := OLD.ended_because;
    IF OLD.ended_at IS NOT NULL OR kept IS DISTINCT FROM OLD THEN
        RAISE EXCEPTION 'certificate % is written once, and ends once', OLD.id
            USING ERRCODE = 'integrity_constraint_violation';
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER certificate_is_final BEFORE UPDATE ON calibration_certificate
    FOR EACH ROW EXECUTE FUNCTION calibration_certificate_is_final();
"""
BACKWARD = """
DROP TRIGGER certificate_is_final ON calibration_certificate;
DROP FUNCTION calibration_certificate_is_final();
DROP TRIGGER run_is_final ON calibration_calibrationrun;
DROP FUNCTION calibration_run_is_final();
"""


class Migration(migrations.Migration):
    dependencies = [
        ("calibration", "0001_first"),
        ("workflows", "0003_comes_in"),
    ]

    operations = [
        migrations.AlterField(
            model_name="certificate",
            name="ended_because",
            field=models.CharField(
                blank=True,
                choices=[
                    ("renewed", "Renewed"),
                    ("expired", "Expired"),
                    ("alarm", "Alarm"),
                    ("changed", "model, questions or gates changed"),
                    ("held", "an earlier one goes further and stays"),
                ],
                max_length=10,
            ),
        ),
        migrations.AlterField(
            model_name="incident",
            name="kind",
            field=models.CharField(
                choices=[
                    ("broken_target", "target broken"),
                    ("expired", "certificate expired"),
                    ("changed", "model or questions changed"),
                    ("tightened", "threshold raised"),
                    ("recent_error", "recent error above the target"),
                    ("override_rate", "reviewers override more"),
                    ("confidence_mix", "probabilities shifted"),
                    ("label_mix", "mix of labels shifted"),
                ],
                max_length=20,
            ),
        ),
        migrations.CreateModel(
            name="CalibrationSettings",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                (
                    "confidence",
                    models.FloatField(
                        default=0.95,
                        validators=[
                            django.core.validators.MinValueValidator(0.8),
                            django.core.validators.MaxValueValidator(0.999),
                        ],
                    ),
                ),
                (
                    "scope",
                    models.CharField(
                        choices=[("per_label", "for each label"), ("all_labels", "for all labels at once")],
                        default="per_label",
                        max_length=10,
                    ),
                ),
                (
                    "is_scheduled",
                    models.BooleanField(default=True, help_text="runs that are due start by themselves"),
                ),
                ("looked_on", models.DateField(blank=True, null=True)),
                (
                    "workflow",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="calibration_settings",
                        to="workflows.workflow",
                    ),
                ),
            ],
            options={
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(("confidence__gte", 0.8), ("confidence__lte", 0.999)),
                        name="calibration_confidence_allowed",
                    )
                ],
            },
        ),
        migrations.RunSQL(FORWARD, BACKWARD),
    ]
