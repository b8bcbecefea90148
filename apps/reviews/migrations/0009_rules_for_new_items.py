"""Rules of opinions hold for tasks made after them, so there is nothing to count of the open ones."""

from django.db import migrations


class Migration(migrations.Migration):
    dependencies = [("reviews", "0008_who_saw")]
    operations = [
        migrations.RemoveField("reviewrules", "changed_open"),
        migrations.RemoveField("reviewrules", "left_alone"),
    ]
