from __future__ import annotations

import uuid
from typing import ClassVar

from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import F, Q

from apps.accounts.models import User
from apps.items.models import Item, Route
from apps.workflows.models import Question, QuestionSet, Workflow


class ReviewTask(models.Model):
    """An item waiting for people. `asked` and `blind` are drawn when it is made and stay."""

    class Kind(models.TextChoices):
        ROUTINE = "routine"
        SHADOW = "shadow"
        AUDIT = "audit"

    class Status(models.TextChoices):
        OPEN = "open"
        DONE = "done"
        CANCELLED = "cancelled"

    workflow = models.ForeignKey(Workflow, on_delete=models.PROTECT, related_name="tasks")
    item = models.ForeignKey(Item, on_delete=models.PROTECT, related_name="tasks")
    route = models.ForeignKey(Route, on_delete=models.PROTECT, related_name="tasks")
    question_set = models.ForeignKey(QuestionSet, on_delete=models.PROTECT, related_name="+")
    kind = models.CharField(max_length=10, choices=Kind)
    asked = ArrayField(models.CharField(max_length=100), help_text="keys of the questions to answer")
    blind = models.BooleanField()
    status = models.CharField(max_length=10, choices=Status, default=Status.OPEN)
    reviews_needed = models.PositiveSmallIntegerField(default=1)
    reviews_done = models.PositiveSmallIntegerField(default=0)
    priority = models.IntegerField(default=0)
    due_at = models.DateTimeField()
    # Kept by a trigger on leases: null while somebody may take it, else when the earliest lease runs out.
    held_until = models.DateTimeField(null=True, blank=True)
    created_at = models.DateTimeField()
    closed_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        constraints: ClassVar[list[models.BaseConstraint]] = [
            models.UniqueConstraint(fields=["item"], condition=Q(status="open"), name="task_one_open"),
            models.CheckConstraint(
                condition=Q(reviews_done__lte=F("reviews_needed")), name="task_reviews_within_needed"
            ),
            models.CheckConstraint(
                condition=Q(status="open", closed_at__isnull=True)
                | (~Q(status="open") & Q(closed_at__isnull=False)),
                name="task_closed_has_time",
            ),
            models.CheckConstraint(
                condition=~Q(kind__in=["audit", "shadow"]) | Q(blind=True), name="task_audit_is_blind"
            ),
        ]
        indexes: ClassVar[list[models.Index]] = [
            # The desk's question, answered from a partial index however many tasks are done.
            models.Index(
                fields=["workflow", "-priority", "due_at", "item"],
                condition=Q(status="open"),
                name="task_queue",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.kind} task {self.pk} of item {self.item_id}"


class Lease(models.Model):
    """A person has a task on their desk until `expires_at` by the database's clock.

    A trigger keeps live leases + reviews within `reviews_needed`, and a person's live leases within two.
    """

    task = models.ForeignKey(ReviewTask, on_delete=models.CASCADE, related_name="leases")
    user = models.ForeignKey(User, on_delete=models.CASCADE, related_name="leases")
    token = models.UUIDField(default=uuid.uuid4, unique=True)
    acquired_at = models.DateTimeField()
    expires_at = models.DateTimeField()

    class Meta:
        constraints: ClassVar[list[models.BaseConstraint]] = [
            models.UniqueConstraint(fields=["task", "user"], name="lease_one_a_person"),
        ]

    def __str__(self) -> str:
        return f"{self.user} has task {self.task_id}"


class Skip(models.Model):
    """A person passed on a task; it does not come back to them while others can take it."""

    task = models.ForeignKey(ReviewTask, on_delete=models.CASCADE, related_name="skips")
    user = models.ForeignKey(User, on_delete=models.CASCADE, related_name="+")
    reason = models.CharField(max_length=300, blank=True)
    created_at = models.DateTimeField()

    class Meta:
        constraints: ClassVar[list[models.BaseConstraint]] = [
            models.UniqueConstraint(fields=["task", "user"], name="skip_one_a_person"),
        ]

    def __str__(self) -> str:
        return f"{self.user} skipped task {self.task_id}"


class Review(models.Model):
    """One person's answer to a task. A change is a new revision; taking it back leaves it here with the time."""

    task = models.ForeignKey(ReviewTask, on_delete=models.PROTECT, related_name="reviews")
    user = models.ForeignKey(User, on_delete=models.PROTECT, related_name="reviews")
    revision = models.PositiveSmallIntegerField()
    blind = models.BooleanField()
    seconds = models.FloatField(null=True, help_text="from shown to answered; null when unknown")
    note = models.TextField(blank=True)
    lease_token = models.UUIDField(unique=True, help_text="a form sent twice is one review")
    created_at = models.DateTimeField()
    taken_back_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        constraints: ClassVar[list[models.BaseConstraint]] = [
            models.UniqueConstraint(fields=["task", "user", "revision"], name="review_revision_unique"),
            models.UniqueConstraint(
                fields=["task", "user"],
                condition=Q(taken_back_at__isnull=True),
                name="review_one_in_force_a_person",
            ),
        ]
        indexes: ClassVar[list[models.Index]] = [
            models.Index(fields=["user", "-created_at"], name="review_of_person"),
            models.Index(fields=["task"], name="review_of_task"),
        ]

    def __str__(self) -> str:
        return f"review {self.pk} by {self.user}"


class Answer(models.Model):
    """What a review says to one question; `model_value` is what the model had said, null when it could not."""

    class Kind(models.TextChoices):
        ACCEPT = "accept"
        CORRECT = "correct"
        NONE_OF_THESE = "none_of_these", "none of these"
        CANNOT_TELL = "cannot_tell", "cannot tell"

    review = models.ForeignKey(Review, on_delete=models.PROTECT, related_name="answers")
    question = models.ForeignKey(Question, on_delete=models.PROTECT, related_name="+")
    kind = models.CharField(max_length=15, choices=Kind)
    value = models.CharField(
        max_length=120, null=True, help_text="null: none of these, and no option means that"
    )
    model_value = models.CharField(max_length=120, null=True)

    class Meta:
        constraints: ClassVar[list[models.BaseConstraint]] = [
            models.UniqueConstraint(fields=["review", "question"], name="answer_one_a_question"),
        ]

    def __str__(self) -> str:
        return f"{self.question_id}: {self.value}"


class Label(models.Model):
    """The settled truth for (item, question). Only people make Labels.

    `pi` is the chance, known before the draw, with which the item could have been reviewed.
    """

    class Source(models.TextChoices):
        REVIEW = "review"
        CONSENSUS = "consensus"
        ADJUDICATION = "adjudication"
        IMPORT = "import"

    workflow = models.ForeignKey(Workflow, on_delete=models.PROTECT, related_name="labels")
    item = models.ForeignKey(Item, on_delete=models.PROTECT, related_name="labels")
    question = models.ForeignKey(Question, on_delete=models.PROTECT, related_name="labels")
    question_set = models.ForeignKey(QuestionSet, on_delete=models.PROTECT, related_name="+")
    value = models.CharField(max_length=120, null=True)
    source = models.CharField(max_length=15, choices=Source)
    review = models.ForeignKey(Review, on_delete=models.PROTECT, null=True, related_name="labels")
    blind = models.BooleanField()
    pi = models.FloatField()
    created_at = models.DateTimeField()
    taken_back_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        constraints: ClassVar[list[models.BaseConstraint]] = [
            models.UniqueConstraint(
                fields=["item", "question"],
                condition=Q(taken_back_at__isnull=True),
                name="label_one_authoritative",
            ),
            models.CheckConstraint(condition=Q(pi__gt=0, pi__lte=1), name="label_pi_is_a_probability"),
        ]
        indexes: ClassVar[list[models.Index]] = [
            models.Index(
                fields=["workflow", "id"], condition=Q(taken_back_at__isnull=True), name="label_in_force"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.question_id} of item {self.item_id}: {self.value}"
