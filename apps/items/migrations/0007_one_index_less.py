"""What finds the items of a workflow are the indexes that begin with it; the one on it alone cost every new row."""

import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("items", "0006_drawn_by_time"), ("workflows", "0003_comes_in")]

    operations = [
        migrations.AlterField(
            model_name="item",
            name="workflow",
            field=models.ForeignKey(
                db_index=False,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="items",
                to="workflows.workflow",
            ),
        ),
    ]
