"""Alarms read the checks of what went by itself every minute: from an index of drawn routes alone."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("items", "0005_read_by_the_million")]

    operations = [
        migrations.AddIndex(
            model_name="route",
            index=models.Index(
                condition=models.Q(("drawn", True), ("superseded_at", None)),
                fields=["workflow", "created_at"],
                name="route_drawn_by_time",
            ),
        ),
    ]
