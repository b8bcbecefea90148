"""Labels are filtered by their question, of which some have few: those are not looked for among all."""

import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("reviews", "0013_found_by_filters"),
        ("workflows", "0004_seniors"),
    ]

    operations = [
        migrations.AlterField(
            model_name="label",
            name="question",
            field=models.ForeignKey(
                on_delete=django.db.models.deletion.PROTECT, related_name="labels", to="workflows.question"
            ),
        ),
    ]
