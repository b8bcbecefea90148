from __future__ import annotations

from typing import ClassVar

from django.db import models
from django.db.models import Q

from apps.items.models import Item, Route
from apps.workflows.models import Workflow


class Action(models.Model):
    """The effect an answer has outside. `tag` writes `settings["tag"]` on the item, a stand-in for the outside."""

    class Kind(models.TextChoices):
        TAG = "tag"

    workflow = models.ForeignKey(Workflow, on_delete=models.CASCADE, related_name="actions")
    label = models.CharField(max_length=120, help_text="the option of the routing question that starts it")
    kind = models.CharField(max_length=20, choices=Kind)
    settings = models.JSONField()

    class Meta:
        constraints: ClassVar[list[models.BaseConstraint]] = [
            models.UniqueConstraint(fields=["workflow", "label"], name="action_one_a_label"),
        ]

    def __str__(self) -> str:
        return f"{self.kind} for {self.label}"


class ActionRun(models.Model):
    """One attempt to have an effect: written, then read back. `verified` only after reading back what was meant."""

    class Status(models.TextChoices):
        PENDING = "pending"
        RUNNING = "running"
        APPLIED = "applied"
        VERIFIED = "verified"
        UNKNOWN = "unknown"
        FAILED = "failed"
        CANCELLED = "cancelled"

    class StartedBy(models.TextChoices):
        POLICY = "policy"
        PEOPLE = "people"

    # What still needs a worker; `verified`, `failed`, `cancelled` are ends.
    LIVE = (Status.PENDING, Status.RUNNING, Status.APPLIED, Status.UNKNOWN)

    item = models.ForeignKey(Item, on_delete=models.PROTECT, related_name="action_runs")
    action = models.ForeignKey(Action, on_delete=models.PROTECT, related_name="runs")
    route = models.ForeignKey(Route, on_delete=models.PROTECT, related_name="+")
    started_by = models.CharField(max_length=10, choices=StartedBy)
    status = models.CharField(max_length=10, choices=Status, default=Status.PENDING)
    settings = models.JSONField(help_text="the action's settings as they were when the run was made")
    not_before = models.DateTimeField()
    idempotency_key = models.UUIDField(unique=True)
    attempts = models.PositiveSmallIntegerField(default=0)
    claim_token = models.UUIDField(null=True, blank=True)
    claimed_until = models.DateTimeField(null=True, blank=True)
    read_back = models.JSONField(null=True, blank=True)
    error = models.CharField(max_length=500, blank=True)
    created_at = models.DateTimeField()
    finished_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        constraints: ClassVar[list[models.BaseConstraint]] = [
            models.UniqueConstraint(
                fields=["item", "action"],
                condition=Q(status__in=["pending", "running", "applied", "unknown"]),
                name="action_run_one_live",
            ),
            models.CheckConstraint(
                condition=~Q(status="verified") | Q(read_back__isnull=False),
                name="action_run_verified_was_read",
            ),
            models.CheckConstraint(
                condition=Q(status="running", claim_token__isnull=False, claimed_until__isnull=False)
                | (~Q(status="running") & Q(claim_token__isnull=True, claimed_until__isnull=True)),
                name="action_run_claim_only_while_running",
            ),
        ]
        indexes: ClassVar[list[models.Index]] = [
            models.Index(
                fields=["not_before"],
                condition=Q(status__in=["pending", "running", "applied", "unknown"]),
                name="action_run_to_do",
            ),
            models.Index(
                fields=["finished_at"], condition=Q(status__in=["failed", "unknown"]), name="action_run_alarm"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.action} on item {self.item_id}: {self.status}"


class ItemTag(models.Model):
    """The stand-in for the outside: a tag on an item, written by one connection and read back by another query."""

    item = models.ForeignKey(Item, on_delete=models.CASCADE, related_name="tags")
    tag = models.CharField(max_length=60)
    idempotency_key = models.UUIDField()
    created_at = models.DateTimeField()

    class Meta:
        constraints: ClassVar[list[models.BaseConstraint]] = [
            models.UniqueConstraint(fields=["item", "tag"], name="item_tag_unique"),
        ]

    def __str__(self) -> str:
        return self.tag
