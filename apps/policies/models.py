from __future__ import annotations

from typing import ClassVar

from django.db import models
from django.db.models import Q

from apps.accounts.models import User
from apps.workflows.models import Workflow


class Policy(models.Model):
    """A version of the rules that turn a decision into a route (`rules.py` has their form).

    One is active a workflow; a version that was ever activated can neither change nor go (trigger).
    """

    class Status(models.TextChoices):
        DRAFT = "draft"
        PROPOSED = "proposed"
        ACTIVE = "active"
        RETIRED = "retired"

    workflow = models.ForeignKey(Workflow, on_delete=models.CASCADE, related_name="policies")
    version = models.PositiveIntegerField()
    status = models.CharField(max_length=10, choices=Status, default=Status.DRAFT)
    rules = models.JSONField()
    note = models.CharField(max_length=300, blank=True)
    based_on = models.ForeignKey("self", on_delete=models.PROTECT, null=True, blank=True, related_name="+")
    created_by = models.ForeignKey(User, on_delete=models.PROTECT, null=True, blank=True, related_name="+")
    created_at = models.DateTimeField(auto_now_add=True)
    activated_by = models.ForeignKey(User, on_delete=models.PROTECT, null=True, blank=True, related_name="+")
    activated_at = models.DateTimeField(
        null=True, blank=True, help_text="the last time it became the active one"
    )

    class Meta:
        verbose_name_plural = "policies"
        constraints: ClassVar[list[models.BaseConstraint]] = [
            models.UniqueConstraint(fields=["workflow", "version"], name="policy_version_unique"),
            models.UniqueConstraint(
                fields=["workflow"], condition=Q(status="active"), name="policy_one_active"
            ),
            models.CheckConstraint(
                condition=Q(status__in=["draft", "proposed"], activated_at__isnull=True)
                | Q(status__in=["active", "retired"], activated_at__isnull=False),
                name="policy_activated_has_time",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.workflow} policy v{self.version}"
