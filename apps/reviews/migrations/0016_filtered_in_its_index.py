"""What people filter the queue by stands on the task, and in the index that gives the order: two indexes less."""

import django.contrib.postgres.fields
import django.contrib.postgres.indexes
from django.db import migrations, models
from django.db.models.functions import Collate, Lower

FORWARD = """
CREATE FUNCTION reviews_codes(reasons jsonb) RETURNS text[] LANGUAGE sql IMMUTABLE AS $$
    SELECT ARRAY(SELECT jsonb_array_elements_text(jsonb_path_query_array(reasons, '$[*].code')))
$$;
CREATE FUNCTION reviews_task_found_by() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    NEW.source := COALESCE((SELECT item.source FROM items_item item WHERE item.id = NEW.item_id), '');
    IF NOT NEW.blind THEN
        SELECT COALESCE(route.label, ''), reviews_codes(route.reasons) INTO NEW.suggested, NEW.reasons
            FROM items_route route WHERE route.id = NEW.route_id;
    END IF;
    RETURN NEW;
END $$;
DROP TRIGGER task_suggested ON reviews_reviewtask;
DROP FUNCTION reviews_task_suggested();
CREATE TRIGGER task_found_by BEFORE INSERT ON reviews_reviewtask
    FOR EACH ROW EXECUTE FUNCTION reviews_task_found_by();
UPDATE reviews_reviewtask task
    SET source = item.source, reasons = CASE WHEN task.blind THEN '{}' ELSE reviews_codes(route.reasons) END
    FROM items_item item, items_route route
    WHERE task.status = 'open' AND item.id = task.item_id AND route.id = task.route_id;
"""
BACKWARD = """
DROP TRIGGER task_found_by ON reviews_reviewtask;
DROP FUNCTION reviews_task_found_by();
DROP FUNCTION reviews_codes(jsonb);
CREATE FUNCTION reviews_task_suggested() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    NEW.suggested := COALESCE((SELECT route.label FROM items_route route WHERE route.id = NEW.route_id), '');
    RETURN NEW;
END $$;
CREATE TRIGGER task_suggested BEFORE INSERT ON reviews_reviewtask
    FOR EACH ROW WHEN (NOT NEW.blind) EXECUTE FUNCTION reviews_task_suggested();
"""


class Migration(migrations.Migration):
    dependencies = [
        ("items", "0009_language"),
        ("reviews", "0015_read_where_several_answered"),
    ]

    operations = [
        migrations.RemoveIndex(model_name="reviewtask", name="task_queue"),
        migrations.RemoveIndex(model_name="reviewtask", name="task_suggested"),
        migrations.RemoveIndex(model_name="reviewtask", name="task_language"),
        migrations.AddField(
            model_name="reviewtask",
            name="reasons",
            field=django.contrib.postgres.fields.ArrayField(
                base_field=models.TextField(),
                blank=True,
                db_default=[],
                default=list,
                help_text="codes of its route's; none where blind",
                size=None,
            ),
        ),
        migrations.AddField(
            model_name="reviewtask",
            name="source",
            field=models.CharField(
                blank=True, db_default="", default="", help_text="its item's", max_length=40
            ),
        ),
        migrations.RunSQL(FORWARD, BACKWARD),
        migrations.AddIndex(
            model_name="reviewtask",
            index=models.Index(
                models.F("workflow"),
                models.OrderBy(models.F("priority"), descending=True),
                models.F("place_at"),
                models.F("item"),
                Collate(
                    models.Func(
                        Lower("language"),
                        models.Value("-"),
                        models.Value(1),
                        function="split_part",
                        output_field=models.TextField(),
                    ),
                    "C",
                ),
                models.F("suggested"),
                models.F("source"),
                models.F("created_at"),
                condition=models.Q(("status", "open")),
                name="task_queue",
            ),
        ),
        migrations.AddIndex(
            model_name="reviewtask",
            index=django.contrib.postgres.indexes.GinIndex(
                condition=models.Q(("status", "open")),
                fastupdate=False,
                fields=["reasons"],
                name="task_reasons",
            ),
        ),
    ]
