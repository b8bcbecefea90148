"""What a manager reads before a policy is activated: the replay in plain words, and the items behind each figure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np

from apps.calibration.models import CalibrationRun
from apps.calibration.replay.held import Held, overrides_by_policy
from apps.calibration.replay.replaying import SLOW_BATCH, Replayed, rules_in_force, source_for
from apps.calibration.replay.routes import Routed, routes_of
from apps.calibration.replay.rows import NOBODY, OTHER, Batch, Source, batches
from apps.items.models import Item
from apps.policies.models import Policy
from apps.policies.rules import to_rules
from apps.workflows.models import Workflow

CELLS: Mapping[str, tuple[bool, bool]] = {
    "newly-automatic": (False, True),
    "newly-reviewed": (True, False),
    "still-automatic": (True, True),
    "still-reviewed": (False, False),
}
"""By the name in an address: whether it goes on by itself under the policy in force, and under the candidate."""
PAGE = 50
LOOKED_AT = 20_000
"""Items one page looks through for those of its cell."""
LOAD_CHANGE = 0.25
"""Above it people may answer otherwise than they did, which no replay can know."""
MAX_NOT_COVERED = 0.02
_EPOCH = datetime(2000, 1, 1, tzinfo=UTC)

Place = tuple[int, int]
"""Where a page ends: microseconds since 2000 in UTC, and the route's id."""


@dataclass(frozen=True, slots=True)
class CellItem:
    """`answer` is what people said, None where nobody did; "" is "none of these"."""

    item: Item
    label: str
    p: float
    answer: str | None


@dataclass(frozen=True, slots=True)
class CellPage:
    """`next` is where to look further, None at the end of the window; `looked_at` are the items gone through."""

    items: tuple[CellItem, ...]
    looked_at: int
    next: Place | None


def sentences(replayed: Replayed) -> Iterator[str]:
    """What would change, in the words of a page; one sentence says there is nothing, if there is nothing."""
    new, held = replayed.newly_automatic, replayed.newly_reviewed
    if new.items:
        yield (
            f"Would let {_weekly(new.per_week)} more items a week through by themselves. {_wrong_of(replayed)}"
        )
    if held.items:
        found = (
            f"{held.caught.numerator:,} of the {held.caught.denominator:,} checks of such items found a mistake."
            if held.caught.denominator
            else "No check of such an item is answered."
        )
        yield f"Would hold {_weekly(held.per_week)} items a week that go on by themselves now; {found}"
    if not new.items and not held.items:
        yield "Would send every one of these items where the policy in force sends it."
    before, after = (side.reviews.mean + side.audits.mean for side in (replayed.current, replayed.candidate))
    yield f"People would see {after:,.1f} items a day instead of {before:,.1f}."


def _wrong_of(replayed: Replayed) -> str:
    new = replayed.newly_automatic
    if not new.error.denominator:
        return "Nobody has answered any of them, so how many are wrong is unknown."
    return (
        f"Of {new.error.denominator:,} of them that people answered {new.error.numerator:,} were decided otherwise: "
        f"with 95 % confidence at most {100 * new.bound:.1f} % are."
    )


def _weekly(per_week: float) -> str:
    return f"{per_week:,.0f}" if per_week >= 1 else f"{per_week:.2f}"


def changes_load(replayed: Replayed) -> bool:
    return replayed.load_change is not None and abs(replayed.load_change) > LOAD_CHANGE


def is_in_sample(policy: Policy, replayed: Replayed) -> bool:
    """Whether its thresholds were chosen from answers that are replayed here."""
    return CalibrationRun.objects.filter(proposal=policy, created_at__gt=replayed.start).exists()


def items_of_cell(
    *, workflow: Workflow, rules: Mapping[str, Any], cell: str, now: datetime, before: Place | None = None
) -> CellPage:
    """The newest items of one of CELLS, after `before`; a rare cell takes several pages, some of them empty."""
    source = source_for(workflow, now=now)
    current = rules_in_force(source) if source else None
    if source is None or current is None:
        return CellPage((), 0, None)
    candidate = to_rules(rules, source.question_set)
    held = Held(overrides_by_policy(workflow, source.question_set))
    found: list[CellItem] = []
    looked_at = 0
    for batch in batches(source, size=SLOW_BATCH, before=_to_key(before)):
        routed = routes_of(batch, source, held, current, candidate)
        order, is_full = _places_in(batch, routed, CELLS[cell], PAGE - len(found))
        found += _to_items(source, routed, order)
        looked_at += len(batch)
        if is_full:
            return CellPage(tuple(found), looked_at, _place(batch, int(order[-1])))
        if looked_at >= LOOKED_AT:
            last = int(np.lexsort((batch.route_id, batch.at))[0])
            return CellPage(tuple(found), looked_at, _place(batch, last))
    return CellPage(tuple(found), looked_at, None)


def _places_in(batch: Batch, routed: Routed, cell: tuple[bool, bool], wanted: int) -> tuple[np.ndarray, bool]:
    """Newest first; whether there are as many as wanted."""
    places = np.flatnonzero((routed.current == cell[0]) & (routed.candidate == cell[1]))
    newest = places[np.lexsort((batch.route_id[places], batch.at[places]))[::-1]]
    return newest[:wanted], len(newest) >= wanted


def _to_items(source: Source, routed: Routed, places: np.ndarray) -> Iterator[CellItem]:
    items = Item.objects.in_bulk(routed.item_id[places].tolist())
    names = list(source.routing.option_names.values())
    for place in places.tolist():
        answer = int(routed.answer[place])
        said = None if answer == NOBODY else "" if answer == OTHER else names[answer]
        item = items[int(routed.item_id[place])]
        yield CellItem(item, names[routed.label[place]], float(routed.p[place]), said)


def _place(batch: Batch, at: int) -> Place:
    return int(batch.at[at]), int(batch.route_id[at])


def _to_key(before: Place | None) -> tuple[datetime, int] | None:
    return None if before is None else (_EPOCH + timedelta(microseconds=before[0]), before[1])
