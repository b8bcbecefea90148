"""Tasks that several people answered are found without a look at all of their time."""

from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("items", "0009_language"),
        ("reviews", "0014_labels_by_question"),
        ("workflows", "0004_seniors"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.AddIndex(
            model_name="reviewtask",
            index=models.Index(
                condition=models.Q(("reviews_done__gt", 1)),
                fields=["workflow", "created_at"],
                name="task_of_several",
            ),
        ),
    ]
