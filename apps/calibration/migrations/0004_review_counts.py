"""Counts of reviews, and what decisions cost: all of it is counted anew."""

import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models

FORWARD = """
CREATE FUNCTION calibration_touch_reviewed() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO calibration_touched (workflow_id, item_id)
        SELECT DISTINCT task.workflow_id, task.item_id
        FROM changed JOIN reviews_reviewtask task ON task.id = changed.task_id;
    RETURN NULL;
END $$;
CREATE TRIGGER review_added_is_counted AFTER INSERT ON reviews_review
    REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION calibration_touch_reviewed();
CREATE TRIGGER review_changed_is_counted AFTER UPDATE ON reviews_review
    REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION calibration_touch_reviewed();
CREATE TRIGGER review_gone_is_counted AFTER DELETE ON reviews_review
    REFERENCING OLD TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION calibration_touch_reviewed();

TRUNCATE calibration_counted, calibration_daycount, calibration_touched;
INSERT INTO calibration_touched (workflow_id, item_id)
    SELECT workflow_id, item_id FROM items_route WHERE superseded_at IS NULL;
"""
BACKWARD = """
DROP TRIGGER review_gone_is_counted ON reviews_review;
DROP TRIGGER review_changed_is_counted ON reviews_review;
DROP TRIGGER review_added_is_counted ON reviews_review;
DROP FUNCTION calibration_touch_reviewed();
"""


class Migration(migrations.Migration):
    dependencies = [
        ("calibration", "0003_day_counts"),
        ("reviews", "0003_in_the_order_of_arrival"),
        ("workflows", "0003_comes_in"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.AddField(
            model_name="counted",
            name="cost",
            field=models.DecimalField(decimal_places=9, max_digits=14, null=True),
        ),
        migrations.AddField(
            model_name="daycount",
            name="cost",
            field=models.DecimalField(decimal_places=9, default=0, help_text="USD of those", max_digits=20),
            preserve_default=False,
        ),
        migrations.AddField(
            model_name="daycount",
            name="priced",
            field=models.IntegerField(default=0, help_text="with a cost; of all, `beside` included"),
            preserve_default=False,
        ),
        migrations.CreateModel(
            name="ReviewCount",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("day", models.DateField()),
                ("kind", models.CharField(help_text="of the task", max_length=10)),
                ("blind", models.BooleanField()),
                ("label", models.CharField(help_text='of the route, "" where it has none', max_length=120)),
                ("bin", models.SmallIntegerField()),
                ("pi", models.FloatField()),
                ("reviews", models.IntegerField()),
                ("answers", models.IntegerField()),
                ("agreed", models.IntegerField()),
                ("first", models.IntegerField()),
                ("first_agreed", models.IntegerField()),
                ("cannot_tell", models.IntegerField()),
                ("without_model", models.IntegerField()),
                (
                    "user",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
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
            name="CountedReview",
            fields=[
                (
                    "review",
                    models.OneToOneField(
                        db_constraint=False,
                        on_delete=django.db.models.deletion.DO_NOTHING,
                        primary_key=True,
                        related_name="+",
                        serialize=False,
                        to="reviews.review",
                    ),
                ),
                ("item_id", models.BigIntegerField(db_index=True)),
                ("state", models.SmallIntegerField()),
                ("seconds", models.FloatField(null=True)),
                (
                    "count",
                    models.ForeignKey(
                        db_constraint=False,
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to="calibration.reviewcount",
                    ),
                ),
            ],
        ),
        # Whoever takes a count away takes all of them: a check row by row would read the whole table for each.
        migrations.AlterField(
            model_name="counted",
            name="count",
            field=models.ForeignKey(
                db_constraint=False,
                db_index=False,
                on_delete=django.db.models.deletion.CASCADE,
                related_name="+",
                to="calibration.daycount",
            ),
        ),
        migrations.AddConstraint(
            model_name="reviewcount",
            constraint=models.UniqueConstraint(
                fields=("workflow", "day", "user", "kind", "blind", "label", "bin", "pi"),
                name="review_count_one",
            ),
        ),
        migrations.RunSQL(FORWARD, BACKWARD),
    ]
