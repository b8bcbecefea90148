"""Notes are taken item by item: one that was noted for its route, its review and its label is counted once."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("calibration", "0006_nights_always")]

    operations = [
        migrations.RemoveIndex(model_name="touched", name="touched_in_order"),
        migrations.AddIndex(
            model_name="touched", index=models.Index(fields=["workflow", "item_id"], name="touched_by_item")
        ),
    ]
