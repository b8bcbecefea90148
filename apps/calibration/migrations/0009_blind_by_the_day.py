"""Reviews that were blind are part of the counts of each day, which follow tasks as well: all of it is counted anew."""

from django.db import migrations, models

FORWARD = """
-- A task stands beside its route from the start; what decides about blindness never changes but by hand.
CREATE TRIGGER task_added_is_counted AFTER INSERT ON reviews_reviewtask
    REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION calibration_touch();
CREATE TRIGGER task_gone_is_counted AFTER DELETE ON reviews_reviewtask
    REFERENCING OLD TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION calibration_touch();

CREATE FUNCTION calibration_touch_task() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO calibration_touched (workflow_id, item_id) VALUES (NEW.workflow_id, NEW.item_id);
    RETURN NULL;
END $$;
-- An answer changes the task as well, so the row is looked at before anything is called.
CREATE TRIGGER task_changed_is_counted AFTER UPDATE OF kind, blind, blind_pi, reviews_wanted, status
    ON reviews_reviewtask FOR EACH ROW
    WHEN ((OLD.kind, OLD.blind, OLD.blind_pi, OLD.reviews_wanted, OLD.status = 'cancelled')
        IS DISTINCT FROM (NEW.kind, NEW.blind, NEW.blind_pi, NEW.reviews_wanted, NEW.status = 'cancelled'))
    EXECUTE FUNCTION calibration_touch_task();

TRUNCATE calibration_counted, calibration_daycount;
INSERT INTO calibration_touched (workflow_id, item_id)
    SELECT workflow_id, item_id FROM items_route WHERE superseded_at IS NULL;
"""
BACKWARD = """
DROP TRIGGER task_changed_is_counted ON reviews_reviewtask;
DROP FUNCTION calibration_touch_task();
DROP TRIGGER task_gone_is_counted ON reviews_reviewtask;
DROP TRIGGER task_added_is_counted ON reviews_reviewtask;

TRUNCATE calibration_counted, calibration_daycount;
INSERT INTO calibration_touched (workflow_id, item_id)
    SELECT workflow_id, item_id FROM items_route WHERE superseded_at IS NULL;
"""


class Migration(migrations.Migration):
    dependencies = [
        ("calibration", "0008_counted_by_the_quarter"),
        ("reviews", "0007_opened_by_lease"),
    ]

    operations = [
        migrations.RemoveConstraint(model_name="daycount", name="day_count_one"),
        migrations.AddField(
            model_name="daycount",
            name="blind_chance",
            field=models.FloatField(
                default=0, help_text="of the review being blind; 0 where it could not be"
            ),
            preserve_default=False,
        ),
        *(
            migrations.AddField(
                model_name="daycount",
                name=name,
                field=models.IntegerField(default=0),
                preserve_default=False,
            )
            for name in ("blind", "blind_answered", "blind_wrong")
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
                    "blind_chance",
                ),
                name="day_count_one",
            ),
        ),
        migrations.RunSQL(FORWARD, BACKWARD),
    ]
