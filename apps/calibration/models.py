from __future__ import annotations

from typing import ClassVar

from django.contrib.postgres.fields import ArrayField
from django.core.validators import MaxValueValidator, MinValueValidator
from django.db import models
from django.db.models import Q

from apps.accounts.models import User
from apps.calibration.models_counts import Counted as Counted
from apps.calibration.models_counts import CountedReview as CountedReview
from apps.calibration.models_counts import DayCount as DayCount
from apps.calibration.models_counts import QuarterCount as QuarterCount
from apps.calibration.models_counts import ReviewCount as ReviewCount
from apps.calibration.models_counts import Touched as Touched
from apps.items.models import Item
from apps.policies.models import Policy
from apps.workflows.models import Endpoint, Question, QuestionSet, Workflow


class CalibrationSettings(models.Model):
    """What a workflow's managers chose for its certificates; without a row the defaults hold.

    `looked_on` is the day of the workflow's time zone on which the nightly look was last done.
    """

    class Scope(models.TextChoices):
        PER_LABEL = "per_label", "for each label"
        ALL_LABELS = "all_labels", "for all labels at once"

    workflow = models.OneToOneField(Workflow, on_delete=models.CASCADE, related_name="calibration_settings")
    confidence = models.FloatField(
        default=0.95, validators=[MinValueValidator(0.80), MaxValueValidator(0.999)]
    )
    scope = models.CharField(max_length=10, choices=Scope, default=Scope.PER_LABEL)
    looked_on = models.DateField(null=True, blank=True)

    class Meta:
        constraints: ClassVar[list[models.BaseConstraint]] = [
            models.CheckConstraint(
                condition=Q(confidence__gte=0.80, confidence__lte=0.999),
                name="calibration_confidence_allowed",
            ),
        ]

    def __str__(self) -> str:
        return f"calibration of {self.workflow_id}"


class CalibrationRun(models.Model):
    """One computation of what people's answers allow, with everything it was computed from. Never edited (trigger)
    but for its proposal, which may be discarded.

    `inputs` are settings, window and the counts per label, stratum and grid bin: enough to compute `results` anew.
    `formula` is the version of how. `proposal` is the draft it ended in, where it proposes a change.
    """

    class Trigger(models.TextChoices):
        ASKED = "asked"
        SCHEDULED = "scheduled"
        RECOUNTED = "recounted", "recounted without visible reviews"

    workflow = models.ForeignKey(Workflow, on_delete=models.CASCADE, related_name="calibration_runs")
    question_set = models.ForeignKey(QuestionSet, on_delete=models.PROTECT, related_name="+")
    policy = models.ForeignKey(Policy, on_delete=models.PROTECT, related_name="+", help_text="in force then")
    model = models.CharField(max_length=120)
    trigger = models.CharField(max_length=10, choices=Trigger)
    started_by = models.ForeignKey(User, on_delete=models.PROTECT, null=True, related_name="+")
    formula = models.CharField(max_length=20)
    inputs = models.JSONField()
    results = models.JSONField()
    proposal = models.ForeignKey(
        Policy, on_delete=models.SET_NULL, null=True, related_name="proposed_by_runs"
    )
    seconds = models.FloatField(help_text="how long it took")
    created_at = models.DateTimeField()

    class Meta:
        indexes: ClassVar[list[models.Index]] = [models.Index(fields=["workflow", "-id"], name="run_newest")]

    def __str__(self) -> str:
        return f"calibration run {self.pk} of {self.workflow_id}"


class Certificate(models.Model):
    """One attempt to certify thresholds of one label: certified, or why not. Never edited but to be ended (trigger).

    `attempt` counts since the label's last reset and sets `delta`, what it spent (recalibration.md section 2.6).
    Of a noul `label` is a side: thresholds on P(yes) from above ("true") or on P(no) ("false").
    `certified` are grid values, strictest first; `steps` what the bound was computed from at each value walked.
    """

    class Outcome(models.TextChoices):
        CERTIFIED = "certified"
        NOT_ENOUGH = "not_enough", "not enough checks yet"
        NOT_SUPPORTED = "not_supported", "the checks do not support this"

    class Ended(models.TextChoices):
        RENEWED = "renewed"
        EXPIRED = "expired"
        ALARM = "alarm"
        CHANGED = "changed", "model, questions or gates changed"
        HELD = "held", "an earlier one goes further and stays"
        RECOUNTED = "recounted", "reviewers may be following the model: recounted without visible reviews"

    run = models.ForeignKey(CalibrationRun, on_delete=models.CASCADE, related_name="certificates")
    workflow = models.ForeignKey(Workflow, on_delete=models.CASCADE, related_name="certificates")
    question = models.ForeignKey(Question, on_delete=models.PROTECT, related_name="+")
    label = models.CharField(max_length=120)
    model = models.CharField(max_length=120)
    outcome = models.CharField(max_length=15, choices=Outcome)
    target_error = models.FloatField()
    confidence = models.FloatField(help_text="1 - delta as promised")
    attempt = models.PositiveSmallIntegerField()
    delta = models.FloatField(help_text="what this attempt spent")
    certified = ArrayField(models.FloatField())
    steps = models.JSONField()
    sentence = models.TextField()
    issued_at = models.DateTimeField()
    expires_at = models.DateTimeField(null=True)
    ended_at = models.DateTimeField(null=True, blank=True)
    ended_because = models.CharField(max_length=10, choices=Ended, blank=True)

    class Meta:
        constraints: ClassVar[list[models.BaseConstraint]] = [
            # What is relied on: at most one a label at any time.
            models.UniqueConstraint(
                fields=["workflow", "question", "label"],
                condition=Q(outcome="certified", ended_at__isnull=True),
                name="certificate_one_in_force",
            ),
            models.CheckConstraint(
                condition=Q(ended_at__isnull=True, ended_because="")
                | (Q(ended_at__isnull=False) & ~Q(ended_because="")),
                name="certificate_ended_says_why",
            ),
        ]
        indexes: ClassVar[list[models.Index]] = [
            models.Index(fields=["workflow", "label", "-issued_at"], name="certificate_history"),
        ]

    def __str__(self) -> str:
        return f"{self.outcome} certificate of {self.label}"


class Incident(models.Model):
    """What people must know about quality. Alarms acted at once (a label went back to people), warnings did not.

    `numbers` are what was compared. One open incident of a kind for a label; `label` is "" for the whole workflow.
    """

    class Level(models.TextChoices):
        ALARM = "alarm"
        WARNING = "warning"

    class Kind(models.TextChoices):
        BROKEN_TARGET = "broken_target", "target broken"
        EXPIRED = "expired", "certificate expired"
        CHANGED = "changed", "model or questions changed"
        TIGHTENED = "tightened", "threshold raised"
        ANCHORED = "anchored", "reviewers may be following the model"
        RECENT_ERROR = "recent_error", "recent error above the target"
        OVERRIDE_RATE = "override_rate", "reviewers override more"
        CONFIDENCE_MIX = "confidence_mix", "probabilities shifted"
        LABEL_MIX = "label_mix", "mix of labels shifted"
        SIDE_BROKEN = "side_broken", "target of a hold’s side broken"
        SIDE_ANCHORED = "side_anchored", "reviewers may be following the model, on a hold’s question"
        SIDE_ERROR = "side_error", "recent error of a hold’s side above the target"
        SIDE_OVERRIDES = "side_overrides", "reviewers override more of a hold’s side"
        SIDE_MIX = "side_mix", "probabilities of a hold’s question shifted"

    workflow = models.ForeignKey(Workflow, on_delete=models.CASCADE, related_name="incidents")
    level = models.CharField(max_length=10, choices=Level)
    kind = models.CharField(max_length=20, choices=Kind)
    label = models.CharField(max_length=120, blank=True)
    numbers = models.JSONField()
    sentence = models.TextField()
    policy_before = models.ForeignKey(Policy, on_delete=models.PROTECT, null=True, related_name="+")
    policy_after = models.ForeignKey(Policy, on_delete=models.PROTECT, null=True, related_name="+")
    opened_at = models.DateTimeField()
    closed_at = models.DateTimeField(null=True, blank=True)
    closed_by = models.ForeignKey(User, on_delete=models.PROTECT, null=True, related_name="+")
    note = models.CharField(max_length=500, blank=True)

    class Meta:
        constraints: ClassVar[list[models.BaseConstraint]] = [
            models.UniqueConstraint(
                fields=["workflow", "kind", "label"],
                condition=Q(closed_at__isnull=True),
                name="incident_one_open",
            ),
        ]
        indexes: ClassVar[list[models.Index]] = [
            models.Index(fields=["workflow", "-opened_at"], name="incident_newest"),
        ]

    def __str__(self) -> str:
        return f"{self.kind} of {self.label or 'the workflow'}"


class Trial(models.Model):
    """Labelled examples run through several models side by side before any is trusted. `questions` are its own copy."""

    class Status(models.TextChoices):
        DRAFT = "draft", "being put together"
        WAITING = "waiting"
        RUNNING = "running"
        DONE = "done"
        FAILED = "failed"

    workflow = models.ForeignKey(Workflow, on_delete=models.CASCADE, related_name="trials")
    question_set = models.ForeignKey(QuestionSet, on_delete=models.PROTECT, related_name="+")
    name = models.CharField(max_length=120)
    status = models.CharField(max_length=10, choices=Status, default=Status.DRAFT)
    created_by = models.ForeignKey(User, on_delete=models.PROTECT, null=True, related_name="+")
    costs = models.JSONField(default=dict, help_text="of the policy in force then")
    error = models.CharField(max_length=500, blank=True)
    attempts = models.PositiveSmallIntegerField(default=0)
    claim_token = models.UUIDField(null=True, blank=True)
    claimed_until = models.DateTimeField(null=True, blank=True)
    created_at = models.DateTimeField()
    finished_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        constraints: ClassVar[list[models.BaseConstraint]] = [
            models.CheckConstraint(
                condition=Q(status="running", claim_token__isnull=False, claimed_until__isnull=False)
                | (~Q(status="running") & Q(claim_token__isnull=True, claimed_until__isnull=True)),
                name="trial_claim_only_while_running",
            ),
        ]

    def __str__(self) -> str:
        return self.name


class TrialExample(models.Model):
    """`truth`: {question key: value}, null until somebody has labelled it; a value of null is out of scope."""

    trial = models.ForeignKey(Trial, on_delete=models.CASCADE, related_name="examples")
    position = models.PositiveIntegerField()
    external_id = models.CharField(max_length=200)
    state = models.JSONField()
    truth = models.JSONField(null=True)
    is_out_of_scope = models.BooleanField(default=False)
    labelled_by = models.ForeignKey(User, on_delete=models.PROTECT, null=True, related_name="+")
    item = models.ForeignKey(Item, on_delete=models.SET_NULL, null=True, related_name="+")

    class Meta:
        constraints: ClassVar[list[models.BaseConstraint]] = [
            models.UniqueConstraint(fields=["trial", "position"], name="trial_example_position_unique"),
            models.UniqueConstraint(fields=["trial", "external_id"], name="trial_example_id_unique"),
        ]

    def __str__(self) -> str:
        return self.external_id


class TrialModel(models.Model):
    """One column of a trial: an endpoint that is asked, or answers that were given ("what you use now")."""

    trial = models.ForeignKey(Trial, on_delete=models.CASCADE, related_name="models")
    position = models.PositiveSmallIntegerField()
    name = models.CharField(max_length=120)
    endpoint = models.ForeignKey(Endpoint, on_delete=models.PROTECT, null=True, related_name="+")
    model = models.CharField(max_length=120, blank=True, help_text="asked for; the endpoint's own when empty")

    class Meta:
        constraints: ClassVar[list[models.BaseConstraint]] = [
            models.UniqueConstraint(fields=["trial", "name"], name="trial_model_name_unique"),
        ]

    def __str__(self) -> str:
        return self.name


class TrialAnswer(models.Model):
    """What one model said of one example. `answers` as in `items.Decision`, or only values where no more was given."""

    trial_model = models.ForeignKey(TrialModel, on_delete=models.CASCADE, related_name="answers")
    example = models.ForeignKey(TrialExample, on_delete=models.CASCADE, related_name="answers")
    values = models.JSONField(default=dict, help_text="{question key: value}")
    answers = models.JSONField(null=True)
    model = models.CharField(max_length=120, blank=True, help_text="as named in the reply")
    latency_s = models.FloatField(null=True)
    input_tokens = models.PositiveIntegerField(null=True)
    cost = models.DecimalField(max_digits=14, decimal_places=9, null=True)
    error = models.CharField(max_length=300, blank=True)

    class Meta:
        constraints: ClassVar[list[models.BaseConstraint]] = [
            models.UniqueConstraint(fields=["trial_model", "example"], name="trial_answer_unique"),
        ]

    def __str__(self) -> str:
        return f"answer {self.pk}"
