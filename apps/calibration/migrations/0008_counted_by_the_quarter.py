"""What came in and what was begun is counted by triggers, by the quarter of an hour; an even part of reviews has an index.

Each statement appends what it changes, so none waits for another one's counts.
"""

import django.db.models.deletion
from django.db import migrations, models

FORWARD = """
CREATE FUNCTION calibration_quarter(at timestamptz) RETURNS timestamptz LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
RETURN date_bin('15 minutes', at, timestamptz '2000-01-01 00:00:00+00');

CREATE FUNCTION calibration_count_items() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO calibration_quartercount (workflow_id, at, what, n, is_sum)
        SELECT workflow_id, calibration_quarter(created_at), 'item',
               CASE WHEN TG_OP = 'INSERT' THEN count(*) ELSE -count(*) END, false
        FROM changed GROUP BY 1, 2;
    RETURN NULL;
END $$;
CREATE TRIGGER item_added_is_counted AFTER INSERT ON items_item
    REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION calibration_count_items();
CREATE TRIGGER item_gone_is_counted AFTER DELETE ON items_item
    REFERENCING OLD TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION calibration_count_items();

-- Items change often, when they came in does not: a trigger for each statement would cost every change.
CREATE FUNCTION calibration_move_item() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO calibration_quartercount (workflow_id, at, what, n, is_sum)
        VALUES (OLD.workflow_id, calibration_quarter(OLD.created_at), 'item', -1, false),
               (NEW.workflow_id, calibration_quarter(NEW.created_at), 'item', 1, false);
    RETURN NULL;
END $$;
CREATE TRIGGER item_moved_is_counted AFTER UPDATE OF workflow_id, created_at ON items_item FOR EACH ROW
    WHEN ((OLD.workflow_id, OLD.created_at) IS DISTINCT FROM (NEW.workflow_id, NEW.created_at))
    EXECUTE FUNCTION calibration_move_item();

CREATE FUNCTION calibration_count_runs() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO calibration_quartercount (workflow_id, at, what, n, is_sum)
        SELECT action.workflow_id, calibration_quarter(run.created_at), run.status,
               CASE WHEN TG_OP = 'INSERT' THEN count(*) ELSE -count(*) END, false
        FROM changed run JOIN actions_action action ON action.id = run.action_id GROUP BY 1, 2, 3;
    RETURN NULL;
END $$;
CREATE TRIGGER run_added_is_counted AFTER INSERT ON actions_actionrun
    REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION calibration_count_runs();
CREATE TRIGGER run_gone_is_counted AFTER DELETE ON actions_actionrun
    REFERENCING OLD TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION calibration_count_runs();

CREATE FUNCTION calibration_move_runs() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO calibration_quartercount (workflow_id, at, what, n, is_sum)
        SELECT action.workflow_id, calibration_quarter(run.created_at), run.status, sum(run.sign), false
        FROM (SELECT action_id, created_at, status, 1 AS sign FROM now_so
              UNION ALL SELECT action_id, created_at, status, -1 FROM was_so) run
        JOIN actions_action action ON action.id = run.action_id
        GROUP BY 1, 2, 3 HAVING sum(run.sign) <> 0;
    RETURN NULL;
END $$;
CREATE TRIGGER run_changed_is_counted AFTER UPDATE ON actions_actionrun
    REFERENCING OLD TABLE AS was_so NEW TABLE AS now_so FOR EACH STATEMENT EXECUTE FUNCTION calibration_move_runs();

INSERT INTO calibration_quartercount (workflow_id, at, what, n, is_sum)
    SELECT workflow_id, calibration_quarter(created_at), 'item', count(*), true FROM items_item GROUP BY 1, 2;
INSERT INTO calibration_quartercount (workflow_id, at, what, n, is_sum)
    SELECT action.workflow_id, calibration_quarter(run.created_at), run.status, count(*), true
    FROM actions_actionrun run JOIN actions_action action ON action.id = run.action_id GROUP BY 1, 2, 3;
"""
BACKWARD = """
DROP TRIGGER run_changed_is_counted ON actions_actionrun;
DROP TRIGGER run_gone_is_counted ON actions_actionrun;
DROP TRIGGER run_added_is_counted ON actions_actionrun;
DROP TRIGGER item_moved_is_counted ON items_item;
DROP TRIGGER item_gone_is_counted ON items_item;
DROP TRIGGER item_added_is_counted ON items_item;
DROP FUNCTION calibration_move_runs();
DROP FUNCTION calibration_count_runs();
DROP FUNCTION calibration_move_item();
DROP FUNCTION calibration_count_items();
DROP FUNCTION calibration_quarter(timestamptz);
"""


class Migration(migrations.Migration):
    dependencies = [
        ("calibration", "0007_noted_by_item"),
        ("reviews", "0005_seniors_only"),
        ("actions", "0001_initial"),
        ("items", "0008_backlog_from_an_index"),
        ("workflows", "0003_comes_in"),
    ]

    operations = [
        migrations.CreateModel(
            name="QuarterCount",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("at", models.DateTimeField()),
                (
                    "what",
                    models.CharField(help_text="item, or a status of ActionRun", max_length=10),
                ),
                ("n", models.IntegerField()),
                ("is_sum", models.BooleanField()),
            ],
        ),
        migrations.AddIndex(
            model_name="countedreview",
            index=models.Index(
                django.db.models.expressions.CombinedExpression(
                    models.F("review_id"),
                    "&",
                    django.db.models.expressions.CombinedExpression(
                        models.F("review_id"), "*", models.Value(-1)
                    ),
                ),
                include=("review_id", "count_id", "seconds"),
                name="counted_review_even_parts",
            ),
        ),
        migrations.AddField(
            model_name="quartercount",
            name="workflow",
            field=models.ForeignKey(
                db_constraint=False,
                db_index=False,
                on_delete=django.db.models.deletion.DO_NOTHING,
                related_name="+",
                to="workflows.workflow",
            ),
        ),
        migrations.AddIndex(
            model_name="quartercount",
            index=models.Index(
                condition=models.Q(("is_sum", False)), fields=["workflow"], name="quarter_count_to_add_up"
            ),
        ),
        migrations.AddConstraint(
            model_name="quartercount",
            constraint=models.UniqueConstraint(
                condition=models.Q(("is_sum", True)),
                fields=("workflow", "what", "at"),
                include=("n",),
                name="quarter_count_one_sum",
            ),
        ),
        migrations.RunSQL(FORWARD, BACKWARD),
    ]
