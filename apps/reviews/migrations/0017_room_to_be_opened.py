"""Being put on a desk changes nothing that an index holds: with room on its page, the task's row is all that is written."""

from django.db import migrations


class Migration(migrations.Migration):
    dependencies = [("reviews", "0016_filtered_in_its_index")]
    operations = [
        migrations.RunSQL(
            "ALTER TABLE reviews_reviewtask SET (fillfactor = 80)",
            "ALTER TABLE reviews_reviewtask RESET (fillfactor)",
        )
    ]
