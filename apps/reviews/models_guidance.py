"""What the labels mean, in the workflow's own words, with examples from settled items."""

from __future__ import annotations

from typing import ClassVar

from django.db import models

from apps.accounts.models import User
from apps.items.models import Item
from apps.workflows.models import Question


class Guideline(models.Model):
    """What people read about an option, or about the whole question. Never edited: the newest version counts.

    It hangs on the questions' version: new questions start from a copy.
    """

    question = models.ForeignKey(Question, on_delete=models.CASCADE, related_name="guidelines")
    option = models.CharField(max_length=120, blank=True, help_text="empty: the question as a whole")
    version = models.PositiveIntegerField()
    text = models.TextField(help_text="Markdown")
    created_by = models.ForeignKey(User, on_delete=models.PROTECT, null=True, related_name="+")
    created_at = models.DateTimeField()

    class Meta:
        constraints: ClassVar[list[models.BaseConstraint]] = [
            models.UniqueConstraint(
                fields=["question", "option", "version"], name="guideline_version_unique"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.question} {self.option} v{self.version}"


class GuidelineExample(models.Model):
    """A settled item that shows what an option means, or what it does not."""

    question = models.ForeignKey(Question, on_delete=models.CASCADE, related_name="guideline_examples")
    option = models.CharField(max_length=120)
    item = models.ForeignKey(Item, on_delete=models.CASCADE, related_name="+")
    is_good = models.BooleanField(help_text="no: looks like it, and is not")
    note = models.CharField(max_length=300, blank=True, help_text="why")
    created_by = models.ForeignKey(User, on_delete=models.PROTECT, null=True, related_name="+")
    created_at = models.DateTimeField()

    class Meta:
        constraints: ClassVar[list[models.BaseConstraint]] = [
            models.UniqueConstraint(fields=["question", "option", "item"], name="guideline_example_once"),
        ]

    def __str__(self) -> str:
        return f"{self.option}: item {self.item_id}"

    @property
    def option_name(self) -> str:
        return self.question.option_names.get(self.option, self.option)
