from __future__ import annotations

import uuid
from typing import ClassVar

from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import Q

from apps.workflows.models import Workflow


class Subscription(models.Model):
    """Who is told: an address that events are posted to, or mail addresses. The signing secret is the *name* of an
    environment variable. A dead one pauses itself (`paused_until`), and says why."""

    class Kind(models.TextChoices):
        WEBHOOK = "webhook"
        MAIL = "mail"

    workflow = models.ForeignKey(Workflow, on_delete=models.CASCADE, related_name="subscriptions")
    kind = models.CharField(max_length=10, choices=Kind)
    address = models.CharField(max_length=500, help_text="https://… or a mail address")
    secret_variable = models.CharField(max_length=80, blank=True)
    events = ArrayField(models.CharField(max_length=40))
    is_active = models.BooleanField(default=True)
    failures_in_a_row = models.PositiveIntegerField(default=0)
    paused_until = models.DateTimeField(null=True, blank=True)
    error = models.CharField(max_length=300, blank=True)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints: ClassVar[list[models.BaseConstraint]] = [
            models.UniqueConstraint(fields=["workflow", "kind", "address"], name="subscription_unique"),
        ]

    def __str__(self) -> str:
        return self.address


class Event(models.Model):
    """Something the outside may want to know, written in the transaction of what it tells. Never edited."""

    workflow = models.ForeignKey(Workflow, on_delete=models.CASCADE, related_name="events")
    public_id = models.UUIDField(default=uuid.uuid4, unique=True)
    type = models.CharField(max_length=40)
    data = models.JSONField()
    created_at = models.DateTimeField()

    class Meta:
        indexes: ClassVar[list[models.Index]] = [
            models.Index(fields=["workflow", "-id"], name="event_newest"),
            models.Index(fields=["created_at"], name="event_by_time"),
        ]

    def __str__(self) -> str:
        return f"{self.type} {self.public_id}"


class Sending(models.Model):
    """An event on its way to one subscriber. `attempts` of it are kept (`Attempt`)."""

    class Status(models.TextChoices):
        PENDING = "pending"
        SENT = "sent"
        GIVEN_UP = "given_up", "given up"

    event = models.ForeignKey(Event, on_delete=models.CASCADE, related_name="sendings")
    subscription = models.ForeignKey(Subscription, on_delete=models.CASCADE, related_name="sendings")
    status = models.CharField(max_length=10, choices=Status, default=Status.PENDING)
    tries = models.PositiveSmallIntegerField(default=0)
    next_try_at = models.DateTimeField()
    claim_token = models.UUIDField(null=True, blank=True)
    claimed_until = models.DateTimeField(null=True, blank=True)
    sent_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        constraints: ClassVar[list[models.BaseConstraint]] = [
            models.UniqueConstraint(fields=["event", "subscription"], name="sending_once"),
        ]
        indexes: ClassVar[list[models.Index]] = [
            models.Index(
                fields=["subscription", "next_try_at"], condition=Q(status="pending"), name="sending_to_do"
            ),
            models.Index(
                fields=["subscription"], condition=Q(claim_token__isnull=False), name="sending_claimed"
            ),
            models.Index(fields=["subscription"], condition=Q(status="given_up"), name="sending_given_up"),
            models.Index(fields=["subscription", "-id"], name="sending_newest"),
        ]

    def __str__(self) -> str:
        return f"sending {self.pk}"


class Attempt(models.Model):
    """One try to send: what came back."""

    sending = models.ForeignKey(Sending, on_delete=models.CASCADE, related_name="attempts")
    at = models.DateTimeField()
    http_status = models.PositiveSmallIntegerField(null=True)
    seconds = models.FloatField()
    error = models.CharField(max_length=300, blank=True)

    class Meta:
        ordering: ClassVar[list[str]] = ["pk"]

    def __str__(self) -> str:
        return f"attempt {self.pk}"
