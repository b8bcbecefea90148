"""The place of what is open and answered blind told what the model expects a mistake with it to cost."""

from django.db import migrations

FORWARD = """
UPDATE reviews_reviewtask SET place_at = due_at WHERE status = 'open' AND blind AND place_at <> due_at;
"""


class Migration(migrations.Migration):
    dependencies = [("reviews", "0011_written_with_every_answer")]
    operations = [migrations.RunSQL(FORWARD, migrations.RunSQL.noop)]
