"""Counts that follow the rows: triggers note each item whose route or label changes, `daycounts.refresh` counts it."""

import django.db.models.deletion
from django.db import migrations, models

# A statement's changes at once, so that writing a thousand routes costs one more insert. What is noted is committed
# with its cause, or with neither.
FORWARD = """
CREATE FUNCTION calibration_touch() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO calibration_touched (workflow_id, item_id) SELECT DISTINCT workflow_id, item_id FROM changed;
    RETURN NULL;
END $$;
CREATE TRIGGER route_added_is_counted AFTER INSERT ON items_route
    REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION calibration_touch();
CREATE TRIGGER route_changed_is_counted AFTER UPDATE ON items_route
    REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION calibration_touch();
CREATE TRIGGER route_gone_is_counted AFTER DELETE ON items_route
    REFERENCING OLD TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION calibration_touch();
CREATE TRIGGER label_added_is_counted AFTER INSERT ON reviews_label
    REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION calibration_touch();
CREATE TRIGGER label_changed_is_counted AFTER UPDATE ON reviews_label
    REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION calibration_touch();
CREATE TRIGGER label_gone_is_counted AFTER DELETE ON reviews_label
    REFERENCING OLD TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION calibration_touch();

-- Another time zone has other days.
CREATE FUNCTION calibration_touch_all() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO calibration_touched (workflow_id, item_id)
        SELECT workflow_id, item_id FROM items_route WHERE workflow_id = NEW.id AND superseded_at IS NULL;
    RETURN NULL;
END $$;
CREATE TRIGGER zone_changed_is_counted AFTER UPDATE OF time_zone ON workflows_workflow
    FOR EACH ROW WHEN (OLD.time_zone IS DISTINCT FROM NEW.time_zone) EXECUTE FUNCTION calibration_touch_all();

INSERT INTO calibration_touched (workflow_id, item_id)
    SELECT workflow_id, item_id FROM items_route WHERE superseded_at IS NULL;
"""
BACKWARD = """
DROP TRIGGER zone_changed_is_counted ON workflows_workflow;
DROP FUNCTION calibration_touch_all();
DROP TRIGGER label_gone_is_counted ON reviews_label;
DROP TRIGGER label_changed_is_counted ON reviews_label;
DROP TRIGGER label_added_is_counted ON reviews_label;
DROP TRIGGER route_gone_is_counted ON items_route;
DROP TRIGGER route_changed_is_counted ON items_route;
DROP TRIGGER route_added_is_counted ON items_route;
DROP FUNCTION calibration_touch();
"""


class Migration(migrations.Migration):
    dependencies = [
        ("calibration", "0002_settings"),
        ("items", "0004_comes_in"),
        ("policies", "0002_activated_never_changes"),
        ("reviews", "0003_in_the_order_of_arrival"),
        ("workflows", "0003_comes_in"),
    ]

    operations = [
        migrations.CreateModel(
            name="DayCount",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("day", models.DateField()),
                ("model", models.CharField(max_length=120)),
                ("label", models.CharField(max_length=120)),
                ("bin", models.SmallIntegerField(help_text="of stats.thresholds.grid_bin")),
                ("stratum", models.CharField(help_text="reviewed, audited, uncovered", max_length=10)),
                ("pi", models.FloatField()),
                ("is_open", models.BooleanField(help_text="every gate except the threshold was open")),
                ("items", models.IntegerField()),
                ("asked", models.IntegerField()),
                ("answered", models.IntegerField()),
                ("wrong", models.IntegerField()),
                ("undone", models.IntegerField()),
                ("beside", models.IntegerField()),
                (
                    "policy",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to="policies.policy",
                    ),
                ),
                (
                    "question_set",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to="workflows.questionset",
                    ),
                ),
                (
                    "workflow",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to="workflows.workflow",
                    ),
                ),
            ],
        ),
        migrations.CreateModel(
            name="Counted",
            fields=[
                (
                    "item",
                    models.OneToOneField(
                        db_constraint=False,
                        on_delete=django.db.models.deletion.DO_NOTHING,
                        primary_key=True,
                        related_name="+",
                        serialize=False,
                        to="items.item",
                    ),
                ),
                ("state", models.SmallIntegerField()),
                (
                    "count",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to="calibration.daycount",
                    ),
                ),
            ],
        ),
        migrations.CreateModel(
            name="Touched",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("item_id", models.BigIntegerField()),
                (
                    "workflow",
                    models.ForeignKey(
                        db_constraint=False,
                        db_index=False,
                        on_delete=django.db.models.deletion.DO_NOTHING,
                        related_name="+",
                        to="workflows.workflow",
                    ),
                ),
            ],
        ),
        migrations.AddConstraint(
            model_name="daycount",
            constraint=models.UniqueConstraint(
                fields=(
                    "workflow",
                    "day",
                    "question_set",
                    "policy",
                    "model",
                    "label",
                    "bin",
                    "stratum",
                    "pi",
                    "is_open",
                ),
                name="day_count_one",
            ),
        ),
        migrations.AddIndex(
            model_name="touched",
            index=models.Index(fields=["workflow", "id"], name="touched_in_order"),
        ),
        migrations.RunSQL(FORWARD, BACKWARD),
    ]
