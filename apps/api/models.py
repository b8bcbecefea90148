from __future__ import annotations

from typing import ClassVar

from django.db import models
from django.db.models import Q

from apps.accounts.models import User
from apps.workflows.models import Workflow


class Export(models.Model):
    """A file of labels, asked for and made by a worker. `query` is the query string's parameters as they came."""

    class Status(models.TextChoices):
        PENDING = "pending"
        RUNNING = "running"
        DONE = "done"
        FAILED = "failed"

    workflow = models.ForeignKey(Workflow, on_delete=models.CASCADE, related_name="exports")
    created_by = models.ForeignKey(User, on_delete=models.PROTECT, related_name="+")
    format = models.CharField(max_length=20)
    query = models.JSONField()
    status = models.CharField(max_length=10, choices=Status, default=Status.PENDING)
    attempts = models.PositiveSmallIntegerField(default=0)
    claim_token = models.UUIDField(null=True, blank=True)
    claimed_until = models.DateTimeField(null=True, blank=True)
    row_count = models.PositiveBigIntegerField(null=True)
    byte_count = models.PositiveBigIntegerField(null=True)
    sha256 = models.CharField(max_length=64, blank=True)
    manifest = models.JSONField(null=True)
    error = models.CharField(max_length=500, blank=True)
    created_at = models.DateTimeField()
    finished_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        constraints: ClassVar[list[models.BaseConstraint]] = [
            models.CheckConstraint(
                condition=Q(status="running", claim_token__isnull=False, claimed_until__isnull=False)
                | (~Q(status="running") & Q(claim_token__isnull=True, claimed_until__isnull=True)),
                name="export_claim_only_while_running",
            ),
            models.CheckConstraint(
                condition=~Q(status="done") | Q(manifest__isnull=False, row_count__isnull=False),
                name="export_done_has_manifest",
            ),
        ]
        indexes: ClassVar[list[models.Index]] = [
            models.Index(
                fields=["id"], condition=Q(status__in=["pending", "running"]), name="export_to_make"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.format} export {self.pk} of {self.workflow_id}"


class ExportChunk(models.Model):
    """The file in pieces of at most `exporting.CHUNK_BYTES`: in the database, so that one backup holds everything."""

    export = models.ForeignKey(Export, on_delete=models.CASCADE, related_name="chunks")
    position = models.PositiveIntegerField()
    content = models.BinaryField()

    class Meta:
        constraints: ClassVar[list[models.BaseConstraint]] = [
            models.UniqueConstraint(fields=["export", "position"], name="export_chunk_position_unique"),
        ]

    def __str__(self) -> str:
        return f"chunk {self.position} of export {self.export_id}"
