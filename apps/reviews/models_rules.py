"""How many people look, how they agree, and how a person likes their desk."""

from __future__ import annotations

from typing import ClassVar

from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import F, Q

from apps.accounts.models import User
from apps.workflows.models import Workflow

MOST_OPINIONS = 7


class ReviewRules(models.Model):
    """How many independent opinions a workflow's tasks need. Never edited: the newest row is in force.

    A task needs the most that any part asks for: `wanted`, its suggested label's entry in `wanted_by_label`, and
    two where the draw falls within `second_share`.
    """

    class Consensus(models.TextChoices):
        UNANIMOUS = "unanimous", "all must agree"
        MAJORITY = "majority", "more than half must agree"
        SENIOR = "senior", "a senior among them decides"

    workflow = models.ForeignKey(Workflow, on_delete=models.CASCADE, related_name="review_rules")
    wanted = models.PositiveSmallIntegerField(default=1)
    wanted_by_label = models.JSONField(
        default=dict, help_text="{option id of the routing question: opinions}"
    )
    second_share = models.FloatField(
        default=0.0, help_text="of the other tasks, drawn at random: two opinions"
    )
    most = models.PositiveSmallIntegerField(
        default=3, help_text="while more than half do not agree, one more person is asked up to this many"
    )
    consensus = models.CharField(max_length=10, choices=Consensus, default=Consensus.MAJORITY)
    created_by = models.ForeignKey(User, on_delete=models.PROTECT, null=True, related_name="+")
    created_at = models.DateTimeField()

    class Meta:
        constraints: ClassVar[list[models.BaseConstraint]] = [
            models.CheckConstraint(
                condition=Q(wanted__gte=1, wanted__lte=F("most"), most__lte=MOST_OPINIONS),
                name="review_rules_opinions_in_range",
            ),
            models.CheckConstraint(
                condition=Q(second_share__gte=0, second_share__lte=1), name="review_rules_share_is_a_share"
            ),
        ]
        indexes: ClassVar[list[models.Index]] = [
            models.Index(fields=["workflow", "-id"], name="review_rules_newest"),
        ]

    def __str__(self) -> str:
        return f"{self.workflow}: {self.wanted} opinions, {self.consensus}"


class DeskPreferences(models.Model):
    """A person's own keys and the languages they read, on every desk."""

    user = models.OneToOneField(User, on_delete=models.CASCADE, related_name="desk_preferences")
    keys = models.JSONField(default=dict, help_text="{what it does: key}, only where it is not the usual one")
    languages = ArrayField(
        models.CharField(max_length=35), default=list, help_text="BCP 47; none: every language"
    )

    def __str__(self) -> str:
        return f"desk of {self.user}"
