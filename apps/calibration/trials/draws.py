"""Examples drawn from a workflow's items: those people have answered, or the newest ones, to be labelled anew."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from typing import Any

from django.db.models import CharField, Exists, F, OuterRef, QuerySet, Value
from django.db.models.functions import MD5, Cast, Concat

from apps.calibration.trials.files import Example
from apps.calibration.trials.values import belongs_nowhere, routing_of
from apps.core.errors import FieldProblem, InvalidInput
from apps.items.models import Attachment, Item, ItemContent
from apps.pipeline.limits import MAX_TRIAL_EXAMPLES, MAX_TRIAL_STATE_CHARACTERS
from apps.reviews.exports_query import LabelQuery, labels_for, to_instant
from apps.reviews.models import Label
from apps.workflows.models import Question, Workflow
from apps.workflows.selectors import current_question_set


@dataclass(frozen=True, slots=True)
class Draw:
    """`label` is a value of the routing question. With `only_blind`, answers given beside the model's are left out:
    they lean towards it. `seed` makes the draw one that can be made again."""

    size: int = 50
    seed: int = 1
    label: str = ""
    source: str = ""
    since: date | None = None
    until: date | None = None
    only_blind: bool = True


def draw_labelled(*, workflow: Workflow, draw: Draw) -> list[Example]:
    """Items with a label in force, by when it was settled. Raises InvalidInput when none is there.

    Items with pictures for the model are left out: a trial asks about text.
    """
    questions = list(current_question_set(workflow).questions.all())
    routing = routing_of(questions)
    if routing is None:
        return []
    query = LabelQuery(
        question=routing.key,
        value=draw.label or None,
        since=draw.since,
        until=draw.until,
        blind=True if draw.only_blind else None,
    )
    labels = labels_for(workflow=workflow, query=query).filter(question=routing)
    items = Item.objects.filter(pk__in=labels.values("item_id"))
    chosen = _drawn(_narrowed(items, draw), draw)
    return _labelled(chosen, questions, routing, only_blind=draw.only_blind)


def draw_recent(*, workflow: Workflow, draw: Draw) -> list[Example]:
    """The newest items that are decided, without any answer: to be labelled blind. Raises InvalidInput for none."""
    items = Item.objects.filter(workflow=workflow, decided_at__isnull=False)
    if draw.since:
        items = items.filter(received_at__gte=to_instant(draw.since, workflow))
    if draw.until:
        items = items.filter(received_at__lt=to_instant(draw.until, workflow, is_end=True))
    newest = _narrowed(items, draw).order_by("-received_at", "-pk")[: _size(draw)]
    return [
        Example(item.external_id, state, None, item_id=item.pk) for item, state in _with_states(list(newest))
    ]


def _narrowed(items: QuerySet[Item], draw: Draw) -> QuerySet[Item]:
    if draw.source:
        items = items.filter(source=draw.source)
    return items.exclude(Exists(Attachment.objects.filter(item=OuterRef("pk"), is_for_model=True)))


def _drawn(items: QuerySet[Item], draw: Draw) -> list[Item]:
    key = Concat(Value(f"{draw.seed}:"), Cast(F("pk"), CharField()))
    return list(items.annotate(drawn_by=MD5(key)).order_by("drawn_by")[: _size(draw)])


def _size(draw: Draw) -> int:
    if not 1 <= draw.size <= MAX_TRIAL_EXAMPLES:
        raise InvalidInput(FieldProblem("size", f"must be 1 to {MAX_TRIAL_EXAMPLES:,}"))
    return draw.size


def _with_states(items: Sequence[Item]) -> list[tuple[Item, Any]]:
    contents = ItemContent.objects.in_bulk([item.pk for item in items])
    kept = [
        (item, contents[item.pk].state)
        for item in items
        if item.pk in contents and 0 < len(contents[item.pk].text) <= MAX_TRIAL_STATE_CHARACTERS
    ]
    if not kept:
        raise InvalidInput(FieldProblem("items", "there are none of this kind; choose otherwise"))
    return kept


def _labelled(
    items: Sequence[Item], questions: Sequence[Question], routing: Question, *, only_blind: bool
) -> list[Example]:
    truths: dict[int, dict[str, str | None]] = defaultdict(dict)
    asked = Label.objects.filter(item__in=items, question__in=questions, is_asked=True)
    labels = asked.filter(taken_back_at=None)
    if only_blind:
        labels = labels.filter(blind=True)
    for item_id, key, kind, value in labels.values_list(
        "item_id", "question__key", "question__kind", "value"
    ):
        if value is not None or kind == Question.Kind.CHOICE:
            truths[item_id][key] = value
    return [
        Example(
            item.external_id,
            state,
            truths[item.pk],
            is_out_of_scope=belongs_nowhere(routing, truths[item.pk][routing.key]),
            item_id=item.pk,
        )
        for item, state in _with_states(items)
    ]
