"""Counts kept beside the rows they are of; `counting.days` and `counting.reviews` keep them."""

from __future__ import annotations

from typing import ClassVar

from django.db import models
from django.db.models.expressions import CombinedExpression

from apps.accounts.models import User
from apps.items.models import Item
from apps.policies.models import Policy
from apps.reviews.models import Review
from apps.workflows.models import QuestionSet, Workflow


class DayCount(models.Model):
    """How many routes in force of one day are alike, kept by `daycounts.refresh`. `day` is of the workflow's time zone.

    `label` and `model` are "" and `bin` is -1 where the model gave no answer. `items` are those that enter the counts,
    `beside` those of a group that another item stands for; the rest is of `items`. `undone`: drawn and not answered.
    `blind` are of the reviewed stratum: those whose review hid the model's answer.
    """

    workflow = models.ForeignKey(Workflow, on_delete=models.CASCADE, related_name="+", db_index=False)
    day = models.DateField()
    question_set = models.ForeignKey(QuestionSet, on_delete=models.CASCADE, related_name="+", db_index=False)
    policy = models.ForeignKey(Policy, on_delete=models.CASCADE, related_name="+", db_index=False)
    model = models.CharField(max_length=120)
    label = models.CharField(max_length=120)
    bin = models.SmallIntegerField(help_text="of stats.thresholds.grid_bin")
    stratum = models.CharField(max_length=10, help_text="reviewed, audited, uncovered")
    pi = models.FloatField()
    is_open = models.BooleanField(help_text="every gate except the threshold was open")
    blind_chance = models.FloatField(help_text="of the review being blind; 0 where it could not be")
    items = models.IntegerField()
    asked = models.IntegerField()
    answered = models.IntegerField()
    wrong = models.IntegerField()
    undone = models.IntegerField()
    beside = models.IntegerField()
    blind = models.IntegerField()
    blind_answered = models.IntegerField()
    blind_wrong = models.IntegerField()
    priced = models.IntegerField(help_text="with a cost; of all, `beside` included")
    cost = models.DecimalField(max_digits=20, decimal_places=9, help_text="USD of those")

    class Meta:
        constraints: ClassVar[list[models.BaseConstraint]] = [
            models.UniqueConstraint(
                fields=[
                    "workflow",
                    "day",
                    "question_set",
                    "policy",
                    "model",
                    "label",
                    "bin",
                    "stratum",
                    "pi",
                    "is_open",
                    "blind_chance",
                ],
                name="day_count_one",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.items} routes of {self.label or 'no answer'} on {self.day}"


class Counted(models.Model):
    """What an item has added to which `DayCount`, so that it can be taken off again. `state` is bits of `days`."""

    item = models.OneToOneField(
        Item, on_delete=models.DO_NOTHING, primary_key=True, related_name="+", db_constraint=False
    )
    count = models.ForeignKey(
        DayCount, on_delete=models.CASCADE, related_name="+", db_index=False, db_constraint=False
    )
    state = models.SmallIntegerField()
    cost = models.DecimalField(max_digits=14, decimal_places=9, null=True)
    thin = models.FloatField(
        null=True, help_text="routing.draw.thin_draw of a drawn check or a blind review, which may be thinned"
    )

    class Meta:
        indexes: ClassVar[list[models.Index]] = [
            models.Index(
                fields=["count"],
                include=["item", "state", "thin"],
                condition=models.Q(thin__isnull=False),
                name="counted_to_thin",
            )
        ]

    def __str__(self) -> str:
        return f"item {self.item_id} in {self.count_id}"


class ReviewCount(models.Model):
    """How many reviews of one day are alike, kept like `DayCount`. `day` is that of the review.

    All are in `reviews`. The rest is of the question that picks the action, for a route in force: `answers` are usable
    ones, `first` of them the first of its item; "cannot tell" and answers without a model's beside them are apart.
    """

    workflow = models.ForeignKey(Workflow, on_delete=models.CASCADE, related_name="+", db_index=False)
    day = models.DateField()
    user = models.ForeignKey(User, on_delete=models.CASCADE, related_name="+", db_index=False)
    kind = models.CharField(max_length=10, help_text="of the task")
    blind = models.BooleanField()
    label = models.CharField(max_length=120, help_text='of the route, "" where it has none')
    bin = models.SmallIntegerField()
    pi = models.FloatField()
    reviews = models.IntegerField()
    answers = models.IntegerField()
    agreed = models.IntegerField()
    first = models.IntegerField()
    first_agreed = models.IntegerField()
    cannot_tell = models.IntegerField()
    without_model = models.IntegerField()

    class Meta:
        constraints: ClassVar[list[models.BaseConstraint]] = [
            models.UniqueConstraint(
                fields=["workflow", "day", "user", "kind", "blind", "label", "bin", "pi"],
                name="review_count_one",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.reviews} reviews on {self.day}"


class CountedReview(models.Model):
    """What a review has added to which `ReviewCount`. `seconds` are its own, so that medians need no wide rows."""

    review = models.OneToOneField(
        Review, on_delete=models.DO_NOTHING, primary_key=True, related_name="+", db_constraint=False
    )
    item_id = models.BigIntegerField(db_index=True)
    count = models.ForeignKey(
        ReviewCount, on_delete=models.CASCADE, related_name="+", db_index=False, db_constraint=False
    )
    state = models.SmallIntegerField()
    seconds = models.FloatField(null=True)

    class Meta:
        indexes: ClassVar[list[models.Index]] = [
            # The lowest bit that is set: of all reviews every second one has 2 or more, every fourth 4 or more.
            models.Index(
                CombinedExpression(models.F("review_id"), "&", -models.F("review_id")),
                include=["review_id", "count_id", "seconds"],
                name="counted_review_even_parts",
            )
        ]

    def __str__(self) -> str:
        return f"review {self.review_id} in {self.count_id}"


class Touched(models.Model):
    """Written by triggers: this item's route or label is new or changed, and its counts are not yet."""

    workflow = models.ForeignKey(
        Workflow, on_delete=models.DO_NOTHING, related_name="+", db_constraint=False, db_index=False
    )
    item_id = models.BigIntegerField()

    class Meta:
        indexes: ClassVar[list[models.Index]] = [
            models.Index(fields=["workflow", "item_id"], name="touched_by_item")
        ]

    def __str__(self) -> str:
        return f"item {self.item_id} is to be counted"


class QuarterCount(models.Model):
    """How many items came in, or runs of actions of one status were begun, in the 15 minutes from `at` on.

    Written by triggers row after row (`n` may be negative), added up by `daycounts.refresh`: then `is_sum`.
    """

    workflow = models.ForeignKey(
        Workflow, on_delete=models.DO_NOTHING, related_name="+", db_constraint=False, db_index=False
    )
    at = models.DateTimeField()
    what = models.CharField(max_length=10, help_text="item, or a status of ActionRun")
    n = models.IntegerField()
    is_sum = models.BooleanField()

    class Meta:
        constraints: ClassVar[list[models.BaseConstraint]] = [
            models.UniqueConstraint(
                fields=["workflow", "what", "at"],
                include=["n"],
                condition=models.Q(is_sum=True),
                name="quarter_count_one_sum",
            ),
        ]
        indexes: ClassVar[list[models.Index]] = [
            models.Index(
                fields=["workflow"], condition=models.Q(is_sum=False), name="quarter_count_to_add_up"
            )
        ]

    def __str__(self) -> str:
        return f"{self.n} of {self.what} at {self.at}"
