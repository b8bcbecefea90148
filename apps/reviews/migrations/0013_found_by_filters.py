"""What people filter the queue by has an index among the open tasks: the suggestion stands on the task for it."""

import django.db.models.functions.comparison
import django.db.models.functions.text
from django.conf import settings
from django.db import migrations, models

FORWARD = """
CREATE FUNCTION reviews_task_suggested() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    NEW.suggested := COALESCE((SELECT route.label FROM items_route route WHERE route.id = NEW.route_id), '');
    RETURN NEW;
END $$;
CREATE TRIGGER task_suggested BEFORE INSERT ON reviews_reviewtask
    FOR EACH ROW WHEN (NOT NEW.blind) EXECUTE FUNCTION reviews_task_suggested();
UPDATE reviews_reviewtask task SET suggested = route.label FROM items_route route
    WHERE task.status = 'open' AND NOT task.blind AND route.id = task.route_id AND route.label IS NOT NULL;
"""
BACKWARD = """
DROP TRIGGER task_suggested ON reviews_reviewtask;
DROP FUNCTION reviews_task_suggested();
"""


class Migration(migrations.Migration):
    dependencies = [
        ("items", "0009_language"),
        ("reviews", "0012_blind_by_due_time"),
        ("workflows", "0004_seniors"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.AddField(
            model_name="reviewtask",
            name="suggested",
            field=models.CharField(
                blank=True,
                db_default="",
                default="",
                help_text="its route's label; empty where blind",
                max_length=120,
            ),
        ),
        migrations.RunSQL(FORWARD, BACKWARD),
        migrations.AddIndex(
            model_name="reviewtask",
            index=models.Index(
                condition=models.Q(("status", "open"), models.Q(("suggested", ""), _negated=True)),
                fields=["workflow", "suggested"],
                name="task_suggested",
            ),
        ),
        migrations.AddIndex(
            model_name="reviewtask",
            index=models.Index(
                models.F("workflow"),
                django.db.models.functions.comparison.Collate(
                    django.db.models.functions.text.Lower("language"), "C"
                ),
                condition=models.Q(("status", "open")),
                name="task_language",
            ),
        ),
    ]
