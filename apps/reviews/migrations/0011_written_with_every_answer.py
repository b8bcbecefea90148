"""Indexes that another one begins as, or that nothing is looked for by: each was one more write of every answer."""

import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("reviews", "0010_one_trigger_for_leases"),
        ("workflows", "0004_seniors"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.RemoveIndex(
            model_name="review",
            name="review_of_task",
        ),
        migrations.AlterField(
            model_name="answer",
            name="review",
            field=models.ForeignKey(
                db_index=False,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="answers",
                to="reviews.review",
            ),
        ),
        migrations.AlterField(
            model_name="label",
            name="question",
            field=models.ForeignKey(
                db_index=False,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="labels",
                to="workflows.question",
            ),
        ),
        migrations.AlterField(
            model_name="label",
            name="question_set",
            field=models.ForeignKey(
                db_index=False,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="+",
                to="workflows.questionset",
            ),
        ),
        migrations.AlterField(
            model_name="label",
            name="workflow",
            field=models.ForeignKey(
                db_index=False,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="labels",
                to="workflows.workflow",
            ),
        ),
        migrations.AlterField(
            model_name="lease",
            name="task",
            field=models.ForeignKey(
                db_index=False,
                on_delete=django.db.models.deletion.CASCADE,
                related_name="leases",
                to="reviews.reviewtask",
            ),
        ),
        migrations.AlterField(
            model_name="review",
            name="task",
            field=models.ForeignKey(
                db_index=False,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="reviews",
                to="reviews.reviewtask",
            ),
        ),
        migrations.AlterField(
            model_name="review",
            name="user",
            field=models.ForeignKey(
                db_index=False,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="reviews",
                to=settings.AUTH_USER_MODEL,
            ),
        ),
        migrations.AlterField(
            model_name="reviewtask",
            name="assigned_to",
            field=models.ForeignKey(
                blank=True,
                db_index=False,
                null=True,
                on_delete=django.db.models.deletion.SET_NULL,
                related_name="assigned_tasks",
                to=settings.AUTH_USER_MODEL,
            ),
        ),
        migrations.AlterField(
            model_name="reviewtask",
            name="question_set",
            field=models.ForeignKey(
                db_index=False,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="+",
                to="workflows.questionset",
            ),
        ),
        migrations.AlterField(
            model_name="reviewtask",
            name="workflow",
            field=models.ForeignKey(
                db_index=False,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="tasks",
                to="workflows.workflow",
            ),
        ),
    ]
