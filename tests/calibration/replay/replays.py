"""Items with a past and every probability the model gave, for replays."""

from __future__ import annotations

import struct
from collections.abc import Sequence

from apps.items.models import Item, RouteColumns
from apps.workflows.models import Workflow
from tests.calibration.streams import Past, insert_past
from tests.factories import INTENT


def insert_replayable(workflow: Workflow, past: Sequence[Past], *, prefix: str = "item") -> None:
    """The label has its probability, the other options share what is left; no doubt that it is not about money."""
    insert_past(workflow, past, prefix=prefix)
    ids = dict(Item.objects.filter(workflow=workflow).values_list("external_id", "pk"))
    columns = {each.item_id: each for each in RouteColumns.objects.all()}
    for index, each in enumerate(past):
        columns[ids[f"{prefix}-{index}"]].vector = vector_of(each.label, each.p)
    RouteColumns.objects.bulk_update(columns.values(), ["vector"], batch_size=500)


def vector_of(label: str, p: float, *, money: float = 0.1) -> bytes:
    rest = (1 - p) / (len(INTENT) - 1)
    intent = [p if option["id"] == label else rest for option in INTENT]
    return struct.pack(">6d", *intent, money, 1 - money)
