from __future__ import annotations

from typing import ClassVar

from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import Q

from apps.policies.models import Policy
from apps.workflows.models import Endpoint, QuestionSet, Workflow


class Item(models.Model):
    """One incoming thing: what lists and counts need. Its content is apart (`ItemContent`)."""

    class Status(models.TextChoices):
        RECEIVED = "received"
        DECIDING = "deciding"
        IN_REVIEW = "in_review", "in review"
        SETTLED = "settled"

    class SettledBy(models.TextChoices):
        POLICY = "policy"
        PEOPLE = "people"

    # No index of its own: most of those below begin with it, and every row would pay for one more.
    workflow = models.ForeignKey(Workflow, on_delete=models.PROTECT, related_name="items", db_index=False)
    external_id = models.CharField(max_length=200)
    content_hash = models.CharField(max_length=64)
    title = models.CharField(max_length=200, help_text="the first words, for lists")
    source = models.CharField(max_length=40, help_text="api, file, demo, …")
    metadata = models.JSONField(default=dict)
    group_key = models.CharField(
        max_length=200,
        blank=True,
        help_text="what belongs together: a mail thread, a chat, an order's number",
    )
    priority = models.IntegerField(default=0)
    language = models.CharField(
        max_length=35,
        blank=True,
        default="",
        db_default="",
        help_text="BCP 47, as the source said; empty: not known",
    )
    status = models.CharField(max_length=10, choices=Status, default=Status.RECEIVED)
    settled_by = models.CharField(max_length=10, choices=SettledBy, null=True, blank=True)
    audit_open = models.BooleanField(default=False)
    received_at = models.DateTimeField(
        help_text="when it reached the source; created_at is when it reached us"
    )
    created_at = models.DateTimeField()
    due_at = models.DateTimeField()
    decided_at = models.DateTimeField(null=True, blank=True)
    settled_at = models.DateTimeField(null=True, blank=True)
    # Claiming (see pipeline.claims): results are written only by the holder of the token.
    claim_token = models.UUIDField(null=True, blank=True)
    claimed_until = models.DateTimeField(null=True, blank=True)
    attempts = models.PositiveIntegerField(default=0)
    next_try_at = models.DateTimeField(null=True, blank=True)
    wait_reason = models.CharField(max_length=300, blank=True)

    class Meta:
        constraints: ClassVar[list[models.BaseConstraint]] = [
            models.UniqueConstraint(fields=["workflow", "external_id"], name="item_external_id_unique"),
            models.CheckConstraint(
                condition=Q(status__in=["received", "deciding", "in_review", "settled"]),
                name="item_status_known",
            ),
            models.CheckConstraint(
                condition=Q(status="settled", settled_by__isnull=False, settled_at__isnull=False)
                | (~Q(status="settled") & Q(settled_by__isnull=True, settled_at__isnull=True)),
                name="item_settled_says_by_whom",
            ),
            models.CheckConstraint(
                condition=Q(status="deciding", claim_token__isnull=False, claimed_until__isnull=False)
                | (~Q(status="deciding") & Q(claim_token__isnull=True, claimed_until__isnull=True)),
                name="item_claim_only_while_deciding",
            ),
            models.CheckConstraint(
                condition=Q(audit_open=False) | Q(status="settled", settled_by="policy"),
                name="item_audit_is_of_settled",
            ),
        ]
        indexes: ClassVar[list[models.Index]] = [
            models.Index(fields=["workflow", "-id"], name="item_newest"),
            models.Index(fields=["workflow", "status", "-id"], name="item_by_status"),
            models.Index(fields=["workflow", "created_at"], name="item_by_arrival"),
            # What workers look for: a small index however many items are settled.
            models.Index(
                fields=["workflow", "-priority", "id"], condition=Q(status="received"), name="item_to_decide"
            ),
            models.Index(fields=["claimed_until"], condition=Q(status="deciding"), name="item_claimed"),
            # The backlog and its age, from the index alone.
            models.Index(
                fields=["workflow", "status"],
                include=["created_at"],
                condition=Q(status__in=["received", "deciding", "in_review"]),
                name="item_undone",
            ),
            models.Index(
                fields=["workflow", "group_key", "id"], condition=~Q(group_key=""), name="item_by_group"
            ),
        ]

    def __str__(self) -> str:
        return self.external_id


class ItemContent(models.Model):
    """What came in. `state` is what the model reads; `text` is the same as people and word rules read it."""

    item = models.OneToOneField(Item, on_delete=models.CASCADE, primary_key=True, related_name="content")
    state = models.JSONField()
    text = models.TextField()
    repairs = models.JSONField(
        default=list, help_text="sentences: what had to be changed for it to be stored or read"
    )

    def __str__(self) -> str:
        return f"content of item {self.item_id}"


class Mail(models.Model):
    """A mail as people read it; what the model reads of it is the content's state.

    `headers`: [[name, value], …], decoded, in their order. `parts`: [{"kind": "body" | "quoted" | "signature",
    "text"}, …]: joined they are the whole text. `html` is as it came, never to be served unsanitised.
    """

    item = models.OneToOneField(Item, on_delete=models.CASCADE, primary_key=True, related_name="mail")
    headers = models.JSONField()
    parts = models.JSONField()
    html = models.TextField(blank=True)
    sha256 = models.CharField(max_length=64, help_text="of the bytes as they came")
    size = models.PositiveIntegerField(help_text="bytes as they came")

    def __str__(self) -> str:
        return f"mail of item {self.item_id}"


class Image(models.Model):
    """A picture that was checked and written anew, kept once however many items carry it."""

    sha256 = models.CharField(max_length=64, primary_key=True, help_text="of `data`")
    content_type = models.CharField(max_length=20)
    width = models.PositiveIntegerField()
    height = models.PositiveIntegerField()
    size = models.PositiveIntegerField(help_text="bytes of `data`")
    data = models.BinaryField()
    thumbnail = models.BinaryField(help_text="WebP, at most 240 pixels a side")

    class Meta:
        constraints: ClassVar[list[models.BaseConstraint]] = [
            models.CheckConstraint(
                condition=Q(content_type__in=["image/png", "image/jpeg", "image/webp"]),
                name="image_content_type_known",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.content_type} {self.sha256[:12]}"


class Attachment(models.Model):
    """A file that came with an item: listed, and its picture kept when it is one. A page of a PDF is one, too."""

    item = models.ForeignKey(Item, on_delete=models.CASCADE, related_name="attachments")
    position = models.PositiveIntegerField()
    name = models.CharField(max_length=255, blank=True)
    content_type = models.CharField(max_length=120)
    size = models.PositiveBigIntegerField(help_text="bytes as they came")
    sha256 = models.CharField(max_length=64, help_text="of the bytes as they came")
    image = models.ForeignKey(Image, on_delete=models.PROTECT, null=True, related_name="attachments")
    page = models.PositiveIntegerField(null=True, help_text="of a PDF, from 1")
    content_id = models.CharField(max_length=255, blank=True, help_text="as HTML mail names it: cid:…")
    is_for_model = models.BooleanField(default=False)
    note = models.CharField(
        max_length=300, blank=True, help_text="what was done to it, or why it is not kept"
    )

    class Meta:
        constraints: ClassVar[list[models.BaseConstraint]] = [
            models.UniqueConstraint(fields=["item", "position"], name="attachment_position_unique"),
            models.CheckConstraint(
                condition=Q(is_for_model=False) | Q(image__isnull=False), name="attachment_model_reads_images"
            ),
        ]

    def __str__(self) -> str:
        return self.name or f"attachment {self.position} of item {self.item_id}"


class Decision(models.Model):
    """What one model answered for one item under one question set. Never edited (trigger).

    `answers`: {question key: {"kind", "probabilities": [[option id, p], …] in declared order, "raw_confidence"}}.
    """

    item = models.ForeignKey(Item, on_delete=models.PROTECT, related_name="decisions")
    question_set = models.ForeignKey(QuestionSet, on_delete=models.PROTECT, related_name="+")
    is_primary = models.BooleanField(default=True)
    endpoint = models.ForeignKey(Endpoint, on_delete=models.PROTECT, related_name="+")
    model_requested = models.CharField(max_length=120)
    model = models.CharField(max_length=120, help_text="as named in the reply")
    request_id = models.CharField(max_length=200, blank=True)
    http_status = models.PositiveSmallIntegerField()
    latency_s = models.FloatField(help_text="the call alone")
    input_tokens = models.PositiveIntegerField(null=True)
    output_tokens = models.PositiveIntegerField(null=True)
    cost = models.DecimalField(
        max_digits=14, decimal_places=9, null=True, help_text="USD, from the tokens and the price then"
    )
    warnings = models.JSONField(default=list)
    answers = models.JSONField()
    images = models.JSONField(
        default=list, help_text="as sent: [{sha256, width, height, size}], perhaps scaled down"
    )
    created_at = models.DateTimeField()

    class Meta:
        constraints: ClassVar[list[models.BaseConstraint]] = [
            models.UniqueConstraint(
                fields=["item", "question_set"], condition=Q(is_primary=True), name="decision_one_primary"
            ),
        ]

    def __str__(self) -> str:
        return f"decision {self.pk} of item {self.item_id}"


class DecisionPayload(models.Model):
    """The raw reply, apart so that erasure can clear it and lists never carry it.

    What was sent is not kept a second time: the item's state and the question set's version rebuild it.
    """

    decision = models.OneToOneField(
        Decision, on_delete=models.CASCADE, primary_key=True, related_name="payload"
    )
    reply = models.TextField()

    def __str__(self) -> str:
        return f"reply of decision {self.decision_id}"


class Route(models.Model):
    """Where the policy sent an item and why. Written once (trigger); a later one supersedes it.

    Everything `recalibration.md` section 0 needs: label, p, every gate with its numbers, `pi`, `drawn`.
    `decision` is null when the model could not answer this item.
    """

    class Outcome(models.TextChoices):
        AUTOMATIC = "automatic"
        REVIEW = "review"

    item = models.ForeignKey(Item, on_delete=models.PROTECT, related_name="routes")
    workflow = models.ForeignKey(Workflow, on_delete=models.PROTECT, related_name="+")
    decision = models.ForeignKey(Decision, on_delete=models.PROTECT, null=True, related_name="routes")
    policy = models.ForeignKey(Policy, on_delete=models.PROTECT, related_name="+")
    question_set = models.ForeignKey(QuestionSet, on_delete=models.PROTECT, related_name="+")
    outcome = models.CharField(max_length=10, choices=Outcome)
    label = models.CharField(max_length=120, null=True)
    p = models.FloatField(null=True)
    gates = models.JSONField()
    reasons = models.JSONField()
    pi = models.FloatField()
    drawn = models.BooleanField()
    open_but_threshold = models.BooleanField(help_text="every gate except the threshold was open")
    created_at = models.DateTimeField()
    superseded_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        constraints: ClassVar[list[models.BaseConstraint]] = [
            models.UniqueConstraint(
                fields=["item"], condition=Q(superseded_at__isnull=True), name="route_one_in_force"
            ),
            models.CheckConstraint(condition=Q(pi__gte=0, pi__lte=1), name="route_pi_is_a_probability"),
            models.CheckConstraint(
                condition=Q(p__isnull=True, label__isnull=True) | Q(p__gte=0, p__lte=1, label__isnull=False),
                name="route_p_is_a_probability",
            ),
            models.CheckConstraint(
                condition=Q(outcome="automatic") | Q(drawn=False), name="route_only_automatic_drawn"
            ),
        ]
        indexes: ClassVar[list[models.Index]] = [
            # Rows are wide, so what the overview counts is answered from the index alone.
            models.Index(
                fields=["workflow", "created_at"],
                include=["outcome", "label"],
                condition=Q(superseded_at=None),
                name="route_in_force_by_time",
            ),
            # What alarms follow, every minute: few rows among those that nobody was drawn to check.
            models.Index(
                fields=["workflow", "created_at"],
                condition=Q(superseded_at=None, drawn=True),
                name="route_drawn_by_time",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.outcome} route of item {self.item_id}"


class RouteColumns(models.Model):
    """What replays read of a route in force, in few bytes: a million routes as they are stored are gigabytes.

    Kept by a trigger, whoever writes routes; gone when another route takes its place. `model` is "" and `vector`
    empty where the model could not answer. `held` are the ids of the overrides that held the item.
    """

    route = models.OneToOneField(
        Route, on_delete=models.CASCADE, primary_key=True, db_constraint=False, related_name="columns"
    )
    item = models.ForeignKey(
        Item, on_delete=models.DO_NOTHING, db_constraint=False, db_index=False, related_name="+"
    )
    workflow = models.ForeignKey(
        Workflow, on_delete=models.DO_NOTHING, db_constraint=False, db_index=False, related_name="+"
    )
    policy = models.ForeignKey(
        Policy, on_delete=models.DO_NOTHING, db_constraint=False, db_index=False, related_name="+"
    )
    question_set = models.ForeignKey(
        QuestionSet, on_delete=models.DO_NOTHING, db_constraint=False, db_index=False, related_name="+"
    )
    created_at = models.DateTimeField()
    is_automatic = models.BooleanField()
    drawn = models.BooleanField()
    pi = models.FloatField()
    model = models.CharField(max_length=120)
    held = ArrayField(models.CharField(max_length=60), null=True)
    vector = models.BinaryField(
        help_text="every probability as 8 bytes, big-endian; questions by their keys' bytes, options as declared"
    )

    class Meta:
        indexes: ClassVar[list[models.Index]] = [
            models.Index(fields=["workflow", "created_at", "route"], name="route_columns_by_time"),
        ]

    def __str__(self) -> str:
        return f"columns of route {self.route_id}"
