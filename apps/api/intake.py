"""Posted items, from JSON to the loop's own door (`pipeline.intake`) and back to JSON."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from apps.accounts.models import User
from apps.api.errors import ApiError, invalid, shortened, too_large
from apps.api.shapes import BatchAdded, BatchOut, ItemAdded, RowFailed
from apps.core.errors import FieldProblem
from apps.items.models import Item
from apps.pipeline import limits
from apps.pipeline.incoming import Incoming
from apps.pipeline.intake import Intake, add_items
from apps.reviews.models import ReviewTask
from apps.reviews.selectors import hidden_from
from apps.sources.posted import at, to_incoming
from apps.workflows.models import Workflow

SOURCE = "api"
MOST_PROBLEMS_A_ROW = 20
LOOK_S = 20.0
"""Of a batch: the pictures and mails of rows after that are not looked at. One more item may take 30 s."""
_NOT_LOOKED_AT = FieldProblem("", "was not looked at, the call took too long: send it again")
Address = Callable[[int], str]


@dataclass(frozen=True, slots=True)
class Posted:
    """`index` is the position in what was sent."""

    index: int
    incoming: Incoming


def take_item(*, workflow: Workflow, user: User, body: Any, address: Address, now: datetime) -> ItemAdded:
    """One item. Raises ApiError: 422 naming the fields, 409 naming those that differ from the item that is there."""
    incoming = to_incoming(body, workflow=workflow)
    if not isinstance(incoming, Incoming):
        raise invalid(*incoming)
    intake = add_items(workflow=workflow, incoming=[incoming], source=SOURCE, now=now)
    for refused in intake.refused:
        if refused.is_conflict:
            message = (
                "Another item has this external_id, with other content; see fields. Nothing was changed."
            )
            raise ApiError(409, "conflict", message, fields=refused.problems)
        raise invalid(*refused.problems)
    return _added(intake, user, address)[0]


def take_batch(
    *,
    workflow: Workflow,
    user: User,
    body: dict[str, Any],
    address: Address,
    now: datetime,
    clock: Callable[[], float] = time.monotonic,
) -> BatchOut:
    """Keeps the good rows and names each bad one. Raises ApiError when there is no batch to speak of."""
    rows = _rows(body)
    read = _read(rows, workflow, clock)
    posted = [Posted(index, each) for index, each in enumerate(read) if isinstance(each, Incoming)]
    failed = [
        _failed(index, problem)
        for index, each in enumerate(read)
        if not isinstance(each, Incoming)
        for problem in each[:MOST_PROBLEMS_A_ROW]
    ]
    intake = add_items(workflow=workflow, incoming=[each.incoming for each in posted], source=SOURCE, now=now)
    failed += [
        _failed(index, problem)
        for refused in intake.refused
        for index in (posted[refused.index].index,)
        for problem in refused.problems[:MOST_PROBLEMS_A_ROW]
    ]
    return BatchOut(
        created=intake.created,
        existing=intake.existing,
        failed=sorted(failed, key=lambda each: each.index),
        items=[
            BatchAdded(index=posted[added.index].index, **item.model_dump())
            for added, item in zip(intake.added, _added(intake, user, address), strict=True)
        ],
    )


def _read(
    rows: Sequence[Any], workflow: Workflow, clock: Callable[[], float]
) -> list[Incoming | list[FieldProblem]]:
    """Row by row; pictures and mails for `LOOK_S` seconds, so that no call keeps a thread for long."""
    until = clock() + LOOK_S
    read: list[Incoming | list[FieldProblem]] = []
    for row in rows:
        if isinstance(row, dict) and (row.get("images") or row.get("mail")) and clock() > until:
            read.append([_NOT_LOOKED_AT])
        else:
            read.append(to_incoming(row, workflow=workflow))
    return read


def _rows(body: dict[str, Any]) -> Sequence[Any]:
    unknown = [FieldProblem(name, "is not known beside items") for name in body if name != "items"]
    rows = body["items"]
    if not isinstance(rows, list):
        raise invalid(FieldProblem("items", "must be an array"), *unknown)
    if unknown:
        raise invalid(*unknown)
    if not rows:
        raise invalid(FieldProblem("items", "is empty"))
    if len(rows) > limits.MAX_BATCH:
        why = f"has {len(rows):,} items; the limit is {limits.MAX_BATCH:,}"
        raise too_large(f"The batch {why}.", FieldProblem("items", why))
    return rows


def _failed(index: int, problem: FieldProblem) -> RowFailed:
    placed = at(f"items[{index}]", problem)
    return RowFailed(index=index, path=shortened(placed.path), message=placed.message)


def _added(intake: Intake, user: User, address: Address) -> list[ItemAdded]:
    ids = [each.item_id for each in intake.added]
    known = {
        pk: (external_id, status)
        for pk, external_id, status in Item.objects.filter(pk__in=ids).values_list(
            "pk", "external_id", "status"
        )
    }
    hidden = set(ReviewTask.objects.filter(hidden_from(user), item__in=ids).values_list("item_id", flat=True))
    return [
        ItemAdded.model_validate(
            {
                "id": each.item_id,
                "external_id": known[each.item_id][0],
                # "Settled" would tell that the policy let a hidden item through.
                "status": Item.Status.IN_REVIEW if each.item_id in hidden else known[each.item_id][1],
                "created": each.created,
                "url": address(each.item_id),
            }
        )
        for each in intake.added
    ]
