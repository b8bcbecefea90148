from __future__ import annotations

from datetime import datetime
from typing import ClassVar

from django.contrib.postgres.fields import ArrayField
from django.core.validators import MaxValueValidator, MinValueValidator
from django.db import models
from django.db.models import Q

from apps.accounts.models import User


class Endpoint(models.Model):
    """A decision model's address. The secret is an environment variable's *name*; its value is never stored."""

    class Kind(models.TextChoices):
        WORKERS_AI = "workers-ai", "Cloudflare Workers AI"
        SYSTEMONE = "systemone", "/v1/systemone"

    name = models.CharField(max_length=80, unique=True)
    kind = models.CharField(max_length=20, choices=Kind)
    base_url = models.URLField(max_length=500)
    model = models.CharField(max_length=120)
    account_variable = models.CharField(max_length=80, blank=True)
    secret_variable = models.CharField(max_length=80, blank=True)
    price_per_million = models.DecimalField(
        max_digits=10, decimal_places=4, default=0, help_text="USD per million input tokens"
    )
    timeout_s = models.FloatField(default=10, validators=[MinValueValidator(0.1), MaxValueValidator(120)])
    reads_images = models.BooleanField(
        default=True, help_text="off for a server that ignores images: items that need them go to people"
    )
    concurrency = models.PositiveSmallIntegerField(
        default=8, validators=[MinValueValidator(1), MaxValueValidator(64)]
    )
    # While set and in the future nothing is asked; every page that lists waiting items shows the reason.
    paused_until = models.DateTimeField(null=True, blank=True)
    pause_reason = models.CharField(max_length=300, blank=True)
    failures_in_a_row = models.PositiveIntegerField(default=0)

    def __str__(self) -> str:
        return self.name


class Workflow(models.Model):
    """One stream of decisions: its questions, its model, its policy, its people."""

    slug = models.SlugField(max_length=60, unique=True)
    name = models.CharField(max_length=120)
    description = models.CharField(max_length=500, blank=True)
    time_zone = models.CharField(max_length=60, default="UTC", help_text="decides where a day begins")
    currency = models.CharField(max_length=3, default="EUR")
    content_language = models.CharField(max_length=35, default="en", help_text="BCP 47")
    endpoint = models.ForeignKey(Endpoint, on_delete=models.PROTECT, related_name="workflows")
    lease_s = models.PositiveIntegerField(
        default=300, validators=[MinValueValidator(30), MaxValueValidator(86_400)]
    )
    undo_s = models.PositiveIntegerField(default=10, validators=[MaxValueValidator(3_600)])
    due_hours = models.PositiveIntegerField(
        default=24, validators=[MinValueValidator(1), MaxValueValidator(8_760)]
    )
    # What the model reads of what came in; people always see all of it.
    reads_quoted = models.BooleanField(default=False, help_text="quoted history of mail")
    reads_signature = models.BooleanField(default=False, help_text="signatures of mail")
    reads_images = models.BooleanField(default=True, help_text="images, where the endpoint reads them")
    fits_images = models.BooleanField(
        default=True, help_text="images are scaled down for the model when a request could not hold them"
    )
    top_fields = ArrayField(
        models.CharField(max_length=100),
        default=list,
        blank=True,
        help_text="of an item that is a JSON object, what the desk shows first, in this order",
    )
    created_at = models.DateTimeField(auto_now_add=True)

    def __str__(self) -> str:
        return self.name


class QuestionSet(models.Model):
    """A version of a workflow's questions.

    Clef reads ids, order and wording, so a version that was used never changes (trigger).
    """

    workflow = models.ForeignKey(Workflow, on_delete=models.CASCADE, related_name="question_sets")
    version = models.PositiveIntegerField()
    is_current = models.BooleanField(default=False)
    first_used_at = models.DateTimeField(null=True, blank=True)
    created_by = models.ForeignKey(User, on_delete=models.PROTECT, null=True, blank=True, related_name="+")
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints: ClassVar[list[models.BaseConstraint]] = [
            models.UniqueConstraint(fields=["workflow", "version"], name="question_set_version_unique"),
            models.UniqueConstraint(
                fields=["workflow"], condition=Q(is_current=True), name="question_set_one_current"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.workflow} questions v{self.version}"


class Question(models.Model):
    """A typed question. `options` holds, in the order sent: choice [{id, name, description, examples}],
    noul [{id: "true"…}, {id: "false"…}], score [{id: "0"…}, …] lowest first."""

    class Kind(models.TextChoices):
        CHOICE = "choice"
        NOUL = "noul"
        SCORE = "score"

    question_set = models.ForeignKey(QuestionSet, on_delete=models.CASCADE, related_name="questions")
    key = models.CharField(max_length=100, help_text="the id that Clef reads")
    position = models.PositiveSmallIntegerField()
    kind = models.CharField(max_length=10, choices=Kind)
    is_routing = models.BooleanField(default=False)
    instructions = models.TextField()
    options = models.JSONField()
    none_of_these = models.CharField(
        max_length=120, blank=True, help_text="the option that means out of scope"
    )

    class Meta:
        ordering: ClassVar[list[str]] = ["position"]
        constraints: ClassVar[list[models.BaseConstraint]] = [
            models.UniqueConstraint(fields=["question_set", "key"], name="question_key_unique"),
            models.UniqueConstraint(fields=["question_set", "position"], name="question_position_unique"),
            models.UniqueConstraint(
                fields=["question_set"], condition=Q(is_routing=True), name="question_one_routing"
            ),
            models.CheckConstraint(
                condition=Q(is_routing=False) | Q(kind="choice"), name="question_routing_is_choice"
            ),
        ]

    def __str__(self) -> str:
        return self.key

    @property
    def option_ids(self) -> list[str]:
        return [option["id"] for option in self.options]

    @property
    def option_names(self) -> dict[str, str]:
        """What people read for each value an answer may have."""
        return {option["id"]: option["name"] for option in self.options}


class Role(models.TextChoices):
    REVIEWER = "reviewer"
    MANAGER = "manager"


class Membership(models.Model):
    """A person's role in a workflow; a manager may do all that a reviewer may."""

    user = models.ForeignKey(User, on_delete=models.CASCADE, related_name="memberships")
    workflow = models.ForeignKey(Workflow, on_delete=models.CASCADE, related_name="memberships")
    role = models.CharField(max_length=10, choices=Role)
    is_senior = models.BooleanField(
        default=False,
        db_default=False,
        help_text="takes what reviewers escalate or disagree on; managers may too",
    )

    class Meta:
        constraints: ClassVar[list[models.BaseConstraint]] = [
            models.UniqueConstraint(fields=["user", "workflow"], name="membership_unique"),
            models.CheckConstraint(
                condition=Q(role__in=["reviewer", "manager"]), name="membership_role_known"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.user}: {self.role} of {self.workflow}"


class Scope(models.TextChoices):
    INGEST = "ingest"
    READ = "read"
    EXPORT = "export"


class ApiToken(models.Model):
    """A key of one workflow. Only the SHA-256 of the secret is kept: of 256 random bits, a slow hash adds nothing."""

    workflow = models.ForeignKey(Workflow, on_delete=models.CASCADE, related_name="tokens")
    user = models.ForeignKey(User, on_delete=models.CASCADE, related_name="tokens")
    name = models.CharField(max_length=80)
    prefix = models.CharField(max_length=12, help_text="shown in lists so that a leaked key can be found")
    digest = models.CharField(max_length=64, unique=True)
    scopes = ArrayField(models.CharField(max_length=10, choices=Scope))
    created_at = models.DateTimeField(auto_now_add=True)
    expires_at = models.DateTimeField(null=True, blank=True)
    revoked_at = models.DateTimeField(null=True, blank=True)
    last_used_at = models.DateTimeField(null=True, blank=True)

    def __str__(self) -> str:
        return f"{self.name} ({self.prefix}…)"

    def is_valid(self, now: datetime) -> bool:
        return self.revoked_at is None and (self.expires_at is None or self.expires_at > now)
