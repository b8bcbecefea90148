"""A trial's examples as the first labels of a workflow: settled items, their labels marked as brought in.

They were chosen, not drawn, so their source is "import", which no certificate counts.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from django.db import transaction

from apps.calibration.models import Trial, TrialExample
from apps.core.errors import Conflict
from apps.items.models import Item
from apps.pipeline.incoming import Incoming
from apps.pipeline.intake import add_items
from apps.reviews.models import Label

SOURCE = "trial"


@dataclass(frozen=True, slots=True)
class Adopted:
    """`there` counts examples whose item the workflow has already; it is left as it is."""

    items: int
    labels: int
    there: int


@transaction.atomic
def adopt(*, trial: Trial, now: datetime) -> Adopted:
    """Once, however often it is asked for. Raises Conflict when nobody labelled any of it yet.

    The items are settled by people before any worker sees them: nothing is decided, and no action begins.
    """
    trial = Trial.objects.select_for_update().get(pk=trial.pk)
    labelled = list(trial.examples.exclude(truth__isnull=True).exclude(truth={}).order_by("position"))
    if not labelled:
        raise Conflict("None of its examples has a label yet.")
    fresh = [each for each in labelled if each.item_id is None]
    incoming = [
        Incoming(each.external_id, each.state, {"trial": trial.name, "trial_id": trial.pk}) for each in fresh
    ]
    intake = add_items(workflow=trial.workflow, incoming=incoming, source=SOURCE, now=now)
    made = {each.item_id: fresh[each.index] for each in intake.added if each.created}
    Item.objects.filter(pk__in=made).update(
        status=Item.Status.SETTLED, settled_by=Item.SettledBy.PEOPLE, settled_at=now
    )
    labels = _labels(trial, made, now)
    Label.objects.bulk_create(labels)
    for item_id, example in made.items():
        example.item_id = item_id
    TrialExample.objects.bulk_update(made.values(), ["item"], batch_size=500)
    return Adopted(items=len(made), labels=len(labels), there=len(labelled) - len(made))


def _labels(trial: Trial, made: dict[int, TrialExample], now: datetime) -> list[Label]:
    """`blind`: whoever labelled them saw no model's answer. `pi` is 1: nothing was drawn."""
    questions = {each.key: each for each in trial.question_set.questions.all()}
    return [
        Label(
            workflow_id=trial.workflow_id,
            item_id=item_id,
            question=questions[key],
            question_set_id=trial.question_set_id,
            value=value,
            source=Label.Source.IMPORT,
            blind=example.labelled_by_id is not None,
            pi=1.0,
            created_at=now,
        )
        for item_id, example in made.items()
        for key, value in (example.truth or {}).items()
    ]
