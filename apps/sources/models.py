from __future__ import annotations

import uuid
from typing import ClassVar

from django.db import models
from django.db.models import Q

from apps.accounts.models import User
from apps.workflows.models import Workflow

CLAIM_ONLY_WHILE_RUNNING = Q(status="running", claim_token__isnull=False, claimed_until__isnull=False) | (
    ~Q(status="running") & Q(claim_token__isnull=True, claimed_until__isnull=True)
)


class Source(models.Model):
    """Where items come from by themselves: a mailbox that is read, or an address that others post to.

    `settings` are those of its kind; secrets stand there as *names* of environment variables, never as values.
    `cursor` is how far it was read, written in the transaction that adds what was read.
    """

    class Kind(models.TextChoices):
        IMAP = "imap", "Mailbox (IMAP)"
        WEBHOOK = "webhook", "Webhook (Standard Webhooks)"
        WHATSAPP = "whatsapp", "WhatsApp Business"

    workflow = models.ForeignKey(Workflow, on_delete=models.CASCADE, related_name="sources")
    name = models.CharField(max_length=80)
    kind = models.CharField(max_length=10, choices=Kind)
    public_id = models.UUIDField(default=uuid.uuid4, unique=True, help_text="in the address others post to")
    settings = models.JSONField(default=dict)
    is_paused = models.BooleanField(default=False)
    cursor = models.JSONField(default=dict)
    # Claiming, as everywhere: who holds the token until then may write.
    claim_token = models.UUIDField(null=True, blank=True)
    claimed_until = models.DateTimeField(null=True, blank=True)
    next_look_at = models.DateTimeField(null=True, blank=True)
    looked_at = models.DateTimeField(null=True, blank=True, help_text="the last time all went well")
    failures_in_a_row = models.PositiveIntegerField(default=0)
    error = models.CharField(max_length=300, blank=True, help_text="what went wrong last, until it goes well")
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints: ClassVar[list[models.BaseConstraint]] = [
            models.UniqueConstraint(fields=["workflow", "name"], name="source_name_unique"),
            models.CheckConstraint(
                condition=Q(kind__in=["imap", "webhook", "whatsapp"]), name="source_kind_known"
            ),
        ]

    def __str__(self) -> str:
        return self.name


class Delivery(models.Model):
    """One thing that a source brought: a signed post, or a mail of a mailbox that could not be taken as it was.

    The row is written before the sender is answered and worked off later, so nothing is lost in between;
    `message_id` is unique in the source, so a replay is the same delivery. `body` is emptied once it is done.
    """

    class Status(models.TextChoices):
        PENDING = "pending"
        DONE = "done"
        REFUSED = "refused"

    source = models.ForeignKey(Source, on_delete=models.CASCADE, related_name="deliveries")
    message_id = models.CharField(max_length=300)
    sha256 = models.CharField(max_length=64, help_text="of the body")
    body = models.BinaryField()
    status = models.CharField(max_length=10, choices=Status, default=Status.PENDING)
    items = models.PositiveIntegerField(default=0, help_text="new items it brought")
    note = models.CharField(max_length=500, blank=True, help_text="why it was refused, or what was left out")
    attempts = models.PositiveSmallIntegerField(default=0)
    next_try_at = models.DateTimeField(null=True, blank=True)
    received_at = models.DateTimeField()
    done_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        constraints: ClassVar[list[models.BaseConstraint]] = [
            models.UniqueConstraint(fields=["source", "message_id"], name="delivery_once"),
            models.CheckConstraint(
                condition=Q(status__in=["pending", "done", "refused"]), name="delivery_status_known"
            ),
        ]
        indexes: ClassVar[list[models.Index]] = [
            models.Index(fields=["id"], condition=Q(status="pending"), name="delivery_to_do"),
            models.Index(fields=["source", "-id"], name="delivery_newest"),
        ]

    def __str__(self) -> str:
        return f"delivery {self.message_id} of {self.source_id}"


class Upload(models.Model):
    """A file somebody handed over: looked at first (nothing is written), then brought in when told to.

    `understood` is what was found out about it, or decided by the person: kind, encoding, delimiter, columns and
    which of them is what. Counts are of rows (or mails, or images) of the pass that runs or ran last.
    """

    class Status(models.TextChoices):
        UPLOADING = "uploading"
        WAITING = "waiting"
        RUNNING = "running"
        CHECKED = "checked"
        DONE = "done"
        CANCELLED = "cancelled"
        FAILED = "failed"

    class Stage(models.TextChoices):
        CHECK = "check"
        IMPORT = "import"

    workflow = models.ForeignKey(Workflow, on_delete=models.CASCADE, related_name="uploads")
    created_by = models.ForeignKey(User, on_delete=models.PROTECT, related_name="+")
    file_name = models.CharField(max_length=255)
    size = models.PositiveBigIntegerField(default=0, help_text="bytes")
    sha256 = models.CharField(max_length=64, blank=True)
    status = models.CharField(max_length=10, choices=Status, default=Status.UPLOADING)
    stage = models.CharField(max_length=10, choices=Stage, default=Stage.CHECK)
    understood = models.JSONField(default=dict)
    read_bytes = models.PositiveBigIntegerField(default=0)
    read = models.PositiveBigIntegerField(default=0)
    new = models.PositiveBigIntegerField(default=0)
    same = models.PositiveBigIntegerField(default=0)
    changed = models.PositiveBigIntegerField(default=0, help_text="their id is taken by other content")
    refused = models.PositiveBigIntegerField(default=0)
    repaired = models.PositiveBigIntegerField(default=0)
    is_cancel_asked = models.BooleanField(default=False)
    error = models.CharField(max_length=500, blank=True)
    attempts = models.PositiveSmallIntegerField(default=0)
    claim_token = models.UUIDField(null=True, blank=True)
    claimed_until = models.DateTimeField(null=True, blank=True)
    created_at = models.DateTimeField()
    started_at = models.DateTimeField(null=True, blank=True, help_text="when the pass began")
    finished_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        constraints: ClassVar[list[models.BaseConstraint]] = [
            models.CheckConstraint(
                condition=CLAIM_ONLY_WHILE_RUNNING, name="upload_claim_only_while_running"
            ),
        ]
        indexes: ClassVar[list[models.Index]] = [
            models.Index(
                fields=["id"], condition=Q(status__in=["waiting", "running"]), name="upload_to_work_on"
            ),
            models.Index(fields=["workflow", "-id"], name="upload_newest"),
        ]

    def __str__(self) -> str:
        return self.file_name


class UploadChunk(models.Model):
    """The file in pieces: in the database, so that any worker can read it and no shared disk is needed."""

    upload = models.ForeignKey(Upload, on_delete=models.CASCADE, related_name="chunks")
    position = models.PositiveIntegerField()
    content = models.BinaryField()

    class Meta:
        constraints: ClassVar[list[models.BaseConstraint]] = [
            models.UniqueConstraint(fields=["upload", "position"], name="upload_chunk_position_unique"),
        ]

    def __str__(self) -> str:
        return f"chunk {self.position} of upload {self.upload_id}"


class UploadRefusal(models.Model):
    """A row that was not taken, for the report."""

    upload = models.ForeignKey(Upload, on_delete=models.CASCADE, related_name="refusals")
    row = models.PositiveBigIntegerField(help_text="as a spreadsheet counts, or the mail's number")
    place = models.CharField(max_length=300, blank=True, help_text="the file in a folder, or the external id")
    path = models.CharField(max_length=300, help_text="the field")
    message = models.CharField(max_length=500)
    is_changed = models.BooleanField(default=False)

    class Meta:
        indexes: ClassVar[list[models.Index]] = [
            models.Index(fields=["upload", "id"], name="refusal_in_order")
        ]

    def __str__(self) -> str:
        return f"row {self.row} of upload {self.upload_id}"


class ColumnMapping(models.Model):
    """Which column is what, as decided last for files of this workflow with these columns."""

    workflow = models.ForeignKey(Workflow, on_delete=models.CASCADE, related_name="column_mappings")
    columns_sha256 = models.CharField(max_length=64, help_text="of the column names in their order")
    mapping = models.JSONField()
    saved_by = models.ForeignKey(User, on_delete=models.PROTECT, related_name="+")
    saved_at = models.DateTimeField()

    class Meta:
        constraints: ClassVar[list[models.BaseConstraint]] = [
            models.UniqueConstraint(fields=["workflow", "columns_sha256"], name="column_mapping_unique"),
        ]

    def __str__(self) -> str:
        return f"columns of {self.workflow_id}"
