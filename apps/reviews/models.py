from __future__ import annotations

import uuid
from collections.abc import Sequence
from typing import Any, ClassVar

from django.contrib.postgres.fields import ArrayField
from django.contrib.postgres.indexes import GinIndex
from django.db import models
from django.db.models import F, Func, Q, Value
from django.db.models.functions import Collate, Lower

from apps.accounts.models import User
from apps.items.models import Item, Route
from apps.reviews.models_guidance import Guideline, GuidelineExample
from apps.reviews.models_rules import DeskPreferences, ReviewRules
from apps.workflows.models import Question, QuestionSet, Workflow

__all__ = [
    "Answer",
    "DeskPreferences",
    "Guideline",
    "GuidelineExample",
    "Label",
    "Lease",
    "Review",
    "ReviewRules",
    "ReviewTask",
    "Skip",
    "TaskEvent",
]


class ReviewTask(models.Model):
    """An item waiting for people. `asked` and `blind` are drawn when it is made and stay."""

    class Kind(models.TextChoices):
        ROUTINE = "routine"
        SHADOW = "shadow"
        AUDIT = "audit"

    class Stage(models.TextChoices):
        """Who may take it. The later two are for seniors and managers alone."""

        REVIEW = "review"
        ESCALATED = "escalated"
        ADJUDICATION = "adjudication"

    class Status(models.TextChoices):
        OPEN = "open"
        DONE = "done"
        CANCELLED = "cancelled"

    # Nothing is looked for by these among all the tasks there are: every index is one more write of every answer.
    workflow = models.ForeignKey(Workflow, on_delete=models.PROTECT, related_name="tasks", db_index=False)
    item = models.ForeignKey(Item, on_delete=models.PROTECT, related_name="tasks")
    route = models.ForeignKey(Route, on_delete=models.PROTECT, related_name="tasks")
    question_set = models.ForeignKey(QuestionSet, on_delete=models.PROTECT, related_name="+", db_index=False)
    kind = models.CharField(max_length=10, choices=Kind)
    asked = ArrayField(models.CharField(max_length=100), help_text="keys of the questions to answer")
    blind = models.BooleanField()
    blind_pi = models.FloatField(
        default=1.0, db_default=1.0, help_text="the chance, known before the draw, of being as blind as it is"
    )
    status = models.CharField(max_length=10, choices=Status, default=Status.OPEN)
    stage = models.CharField(max_length=12, choices=Stage, default=Stage.REVIEW, db_default=Stage.REVIEW)
    # What was asked for when it was made; disagreement and adjudication raise `reviews_needed` above it.
    reviews_wanted = models.PositiveSmallIntegerField(default=1, db_default=1)
    reviews_needed = models.PositiveSmallIntegerField(default=1)
    reviews_done = models.PositiveSmallIntegerField(default=0)
    priority = models.IntegerField(default=0)
    due_at = models.DateTimeField()
    place_at = models.DateTimeField(
        help_text="its place in the queue among equal priorities: due_at, sooner by what a wrong answer would cost"
    )
    language = models.CharField(
        max_length=35, blank=True, default="", db_default="", help_text="BCP 47; empty: not known"
    )
    # Kept by a trigger, whoever writes tasks: what people filter the queue by. Of a blind one nothing the model said.
    source = models.CharField(max_length=40, blank=True, default="", db_default="", help_text="its item's")
    reasons = ArrayField(
        models.TextField(),
        blank=True,
        default=list,
        db_default=[],
        help_text="codes of its route's; none where blind",
    )
    suggested = models.CharField(
        max_length=120,
        blank=True,
        default="",
        db_default="",
        help_text="its route's label; empty where blind",
    )
    # Handed over: only this person gets it until then; afterwards everyone does.
    assigned_to = models.ForeignKey(
        User, on_delete=models.SET_NULL, null=True, blank=True, related_name="assigned_tasks", db_index=False
    )
    assigned_until = models.DateTimeField(null=True, blank=True)
    times_opened = models.PositiveIntegerField(
        default=0, db_default=0, help_text="how often it was put on a desk"
    )
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
            # Opinions are independent only where nobody sees another's, nor the model's.
            models.CheckConstraint(
                condition=Q(reviews_wanted=1) | Q(blind=True), name="task_several_are_blind"
            ),
            models.CheckConstraint(
                condition=Q(reviews_wanted__gte=1) & Q(reviews_wanted__lte=F("reviews_needed")),
                name="task_wanted_within_needed",
            ),
            models.CheckConstraint(condition=Q(blind_pi__gt=0, blind_pi__lte=1), name="task_blind_pi"),
            models.CheckConstraint(
                condition=Q(assigned_to=None) | Q(assigned_until__isnull=False), name="task_assigned_ends"
            ),
        ]
        indexes: ClassVar[list[models.Index]] = [
            # The desk's question, answered from a partial index however many tasks are done. Behind the order stands
            # what the queue is filtered by: what does not match is passed over in the index.
            models.Index(
                F("workflow"),
                F("priority").desc(),
                F("place_at"),
                F("item"),
                Collate(
                    Func(
                        Lower("language"),
                        Value("-"),
                        Value(1),
                        function="split_part",
                        output_field=models.TextField(),
                    ),
                    "C",
                ),
                F("suggested"),
                F("source"),
                F("created_at"),
                condition=Q(status="open"),
                name="task_queue",
            ),
            models.Index(
                fields=["assigned_to"],
                condition=Q(status="open", assigned_to__isnull=False),
                name="task_assigned",
            ),
            # A reason that few have, or none, is found without the queue. A list of what is new, which every search
            # would read whole, is not kept.
            GinIndex(fields=["reasons"], fastupdate=False, condition=Q(status="open"), name="task_reasons"),
            # How people agree with each other is read from the few that several answered.
            models.Index(
                fields=["workflow", "created_at"], condition=Q(reviews_done__gt=1), name="task_of_several"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.kind} task {self.pk} of item {self.item_id}"


class Lease(models.Model):
    """A person has a task on their desk until `expires_at` by the database's clock.

    A trigger keeps live leases + reviews within `reviews_needed`, and a person's live leases within two.
    """

    # A unique constraint begins with it.
    task = models.ForeignKey(ReviewTask, on_delete=models.CASCADE, related_name="leases", db_index=False)
    user = models.ForeignKey(User, on_delete=models.CASCADE, related_name="leases")
    token = models.UUIDField(default=uuid.uuid4, unique=True)
    acquired_at = models.DateTimeField()
    expires_at = models.DateTimeField()

    read_along: Sequence[Any] | None = None
    """What `shown.COLUMNS` are, where the statement that placed this lease has just read them too."""

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


class TaskEvent(models.Model):
    """What people did with a task besides answering it: for the next person's eyes, and kept."""

    class Kind(models.TextChoices):
        HANDED_OVER = "handed_over", "handed over"
        ESCALATED = "escalated"
        PRIORITISED = "prioritised"
        MORE_OPINIONS = "more_opinions", "opinions needed changed"
        # Written by a trigger on leases: who had the answers in sight gives no independent one any more.
        SAW_ANSWERS = "saw_answers", "opened to decide"

    task = models.ForeignKey(ReviewTask, on_delete=models.CASCADE, related_name="events")
    kind = models.CharField(max_length=15, choices=Kind)
    user = models.ForeignKey(User, on_delete=models.PROTECT, null=True, related_name="+")
    to_user = models.ForeignKey(User, on_delete=models.PROTECT, null=True, related_name="+")
    note = models.TextField(blank=True)
    created_at = models.DateTimeField()

    def __str__(self) -> str:
        return f"task {self.task_id} {self.kind} by {self.user}"


class Review(models.Model):
    """One person's answer to a task. A change is a new revision; taking it back leaves it here with the time."""

    # What is below begins with them.
    task = models.ForeignKey(ReviewTask, on_delete=models.PROTECT, related_name="reviews", db_index=False)
    user = models.ForeignKey(User, on_delete=models.PROTECT, related_name="reviews", db_index=False)
    revision = models.PositiveSmallIntegerField()
    blind = models.BooleanField()
    seconds = models.FloatField(null=True, help_text="from shown to answered; null when unknown")
    note = models.TextField(blank=True)
    lease_token = models.UUIDField(unique=True, help_text="a form sent twice is one review")
    created_at = models.DateTimeField()
    taken_back_at = models.DateTimeField(null=True, blank=True)
    is_adjudication = models.BooleanField(
        default=False, db_default=False, help_text="given in sight of the others' answers, and decides"
    )

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

    # A unique constraint begins with it.
    review = models.ForeignKey(Review, on_delete=models.PROTECT, related_name="answers", db_index=False)
    question = models.ForeignKey(Question, on_delete=models.PROTECT, related_name="+")
    kind = models.CharField(max_length=15, choices=Kind)
    value = models.CharField(
        max_length=120, null=True, help_text="null: none of these, and no option means that"
    )
    model_value = models.CharField(max_length=120, null=True)
    said = models.CharField(
        max_length=200,
        blank=True,
        default="",
        db_default="",
        help_text="none of these: the option proposed; cannot tell: why, such as “not for us”",
    )
    is_asked = models.BooleanField(
        default=True,
        db_default=True,
        help_text="no: answered unasked, so chosen by a person and not by the draw",
    )

    class Meta:
        constraints: ClassVar[list[models.BaseConstraint]] = [
            models.UniqueConstraint(fields=["review", "question"], name="answer_one_a_question"),
        ]
        indexes: ClassVar[list[models.Index]] = [
            # Few say something, and managers read what: the newest of them, however many answers there are.
            models.Index(fields=["-id"], condition=~Q(said=""), name="answer_said"),
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

    # As with tasks, but for the item and the question, which labels are filtered by.
    workflow = models.ForeignKey(Workflow, on_delete=models.PROTECT, related_name="labels", db_index=False)
    item = models.ForeignKey(Item, on_delete=models.PROTECT, related_name="labels")
    question = models.ForeignKey(Question, on_delete=models.PROTECT, related_name="labels")
    question_set = models.ForeignKey(QuestionSet, on_delete=models.PROTECT, related_name="+", db_index=False)
    value = models.CharField(max_length=120, null=True)
    source = models.CharField(max_length=15, choices=Source)
    review = models.ForeignKey(Review, on_delete=models.PROTECT, null=True, related_name="labels")
    blind = models.BooleanField()
    pi = models.FloatField()
    is_asked = models.BooleanField(default=True, db_default=True, help_text="as its answer")
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
