"""How far down a label's threshold may go: counts, the two-stratum exact bound, the walk from the top.

Every figure is about A(t): items of one label with `conf >= t` and every gate but the threshold open.
Nothing here assumes that probabilities are calibrated or that error falls as confidence grows.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from apps.stats.intervals import Floats, check_share, upper_bounds

# Fixed in advance: choosing the grid after seeing answers would break the promise. i / 100 is the very
# float that "0.57" is read as, so a confidence exactly on a grid value compares equal to it and counts as
# `>= t`, here, in PostgreSQL and in the router alike. No tolerance is added: 0.8999999999999999 is below 0.9.
GRID: tuple[float, ...] = (*(i / 100 for i in range(50, 100)), 0.995, 0.999)

# Of the risk delta, the part spent on the reviewed stratum when both strata hold items.
REVIEWED_SHARE = 0.15

StratumName = Literal["reviewed", "audited", "uncovered"]


def grid_bin(conf: ArrayLike) -> NDArray[np.intp]:
    """Bin of each confidence: 0 below the grid, else b with GRID[b-1] <= conf < GRID[b].

    The same numbers as PostgreSQL's `width_bucket(conf, array_of_GRID)` on double precision.
    """
    return np.searchsorted(np.asarray(GRID), np.asarray(conf, np.float64), side="right")


@dataclass(frozen=True, slots=True)
class BinCount:
    """One row of an aggregation: how many items of a label fell into one grid bin of one stratum.

    `reviewed`: looked at as a matter of course, with one constant chance. `audited`: automatic when they
    came, with `labelled` and `wrong` counted after thinning to equal chances. `uncovered`: could never be
    labelled (pi = 0). `wrong` and `labelled` both include audits
    that were drawn and stayed unanswered past their deadline.
    `pi_sum` adds up pi over all items of the row, labelled or not.
    """

    label: str
    bin: int
    stratum: StratumName
    items: int
    labelled: int
    wrong: int
    pi_sum: float


@dataclass(frozen=True, slots=True)
class Stratum:
    """Counts at every grid value, cumulative from the top: entry i is about conf >= GRID[i]."""

    items: Floats
    labelled: Floats
    wrong: Floats

    def __post_init__(self) -> None:
        if not np.all((self.wrong >= 0) & (self.wrong <= self.labelled) & (self.labelled <= self.items)):
            raise ValueError("a stratum needs 0 <= wrong <= labelled <= items at every grid value")


@dataclass(frozen=True, slots=True)
class Counts:
    """What one label's certificate is computed from, one entry a grid value; `uncovered` counts as wrong."""

    reviewed: Stratum
    audited: Stratum
    uncovered: Floats
    pi_sum: Floats

    @property
    def items(self) -> Floats:
        return self.reviewed.items + self.audited.items + self.uncovered

    @property
    def labelled(self) -> Floats:
        return self.reviewed.labelled + self.audited.labelled

    @property
    def wrong(self) -> Floats:
        return self.reviewed.wrong + self.audited.wrong


def cumulative(per_bin: ArrayLike) -> Floats:
    """Counts per bin (last axis: 0 below the grid, then one bin a grid value) to counts of conf >= t."""
    table = np.asarray(per_bin, np.float64)
    if table.shape[-1] != len(GRID) + 1:
        raise ValueError(f"expected {len(GRID) + 1} bins, got {table.shape[-1]}")
    return np.flip(np.cumsum(np.flip(table[..., 1:], axis=-1), axis=-1), axis=-1)


def counts_by_label(rows: Iterable[BinCount]) -> dict[str, Counts]:
    """Rows in any order, several for the same cell added up. A label without rows is not in the answer."""
    columns = {"reviewed": 0, "audited": 3, "uncovered": 6}
    tables: dict[str, Floats] = {}
    for row in rows:
        if not 0 <= row.bin <= len(GRID):
            raise ValueError(f"bin {row.bin} is not one of 0..{len(GRID)}")
        table = tables.setdefault(row.label, np.zeros((10, len(GRID) + 1)))
        column = columns[row.stratum]
        table[column : column + 3, row.bin] += (row.items, row.labelled, row.wrong)
        table[9, row.bin] += row.pi_sum
    return {label: _to_counts(cumulative(table)) for label, table in tables.items()}


def empty_counts() -> Counts:
    """A label nothing is known about."""
    return _to_counts(np.zeros((10, len(GRID))))


def _to_counts(table: Floats) -> Counts:
    if np.any(table[7]):
        raise ValueError("an item that could never be labelled (pi = 0) has a label")
    return Counts(
        reviewed=Stratum(table[0], table[1], table[2]),
        audited=Stratum(table[3], table[4], table[5]),
        uncovered=table[6],
        pi_sum=table[9],
    )


def two_stratum_bounds(counts: Counts, delta: float) -> Floats:
    """Upper bound of the error of A(t) at confidence 1 - delta, per grid value; 1 where A(t) is empty."""
    check_share("delta", delta)
    return stratified_bounds(counts.reviewed, counts.audited, delta, uncovered=counts.uncovered)


def stratified_bounds(
    reviewed: Stratum, audited: Stratum, delta: float, *, uncovered: ArrayLike = 0.0
) -> Floats:
    """Exact bounds weighted by the strata's items; an empty stratum leaves all of delta to the other."""
    delta_r, delta_a = split_delta(reviewed.items, audited.items, delta)
    bound_r = upper_bounds(reviewed.wrong, reviewed.labelled, delta_r)
    bound_a = upper_bounds(audited.wrong, audited.labelled, delta_a)
    unknown = np.asarray(uncovered, np.float64)
    items = reviewed.items + audited.items + unknown
    expected = reviewed.items * bound_r + audited.items * bound_a + unknown
    return np.asarray(np.where(items > 0, expected / np.maximum(items, 1), 1.0), np.float64)


def split_delta(reviewed_items: ArrayLike, audited_items: ArrayLike, delta: float) -> tuple[Floats, Floats]:
    """Risk for the reviewed and for the audited stratum."""
    both = (np.asarray(reviewed_items) > 0) & (np.asarray(audited_items) > 0)
    return np.where(both, REVIEWED_SHARE * delta, delta), np.where(both, (1 - REVIEWED_SHARE) * delta, delta)


def start_mass(alpha: float, delta: float) -> float:
    """Sum of inclusion probabilities the first grid value needs, 2 ln(1/delta) / alpha: about twice the
    answers that certify alpha without a mistake."""
    check_share("alpha", alpha)
    check_share("delta", delta)
    return 2 * math.log(1 / delta) / alpha


def start_index(pi_sum: Floats, alpha: float, delta: float) -> int | None:
    """Highest grid value with enough draws to begin at; never looks at an answer. None: nowhere enough."""
    enough = np.flatnonzero(pi_sum >= start_mass(alpha, delta))
    return int(enough[-1]) if enough.size else None


def fixed_sequence(passes: Sequence[bool]) -> int | None:
    """Index of the last pass before the first failure, in the order tested; None if the first one fails.

    Looking past a failure for a lucky pass is what would break the promise.
    """
    last = None
    for index, passed in enumerate(passes):
        if not passed:
            break
        last = index
    return last


def grid_value_at_least(threshold: float) -> float | None:
    """The threshold rounded up on the grid; None when it is above the highest grid value."""
    return next((value for value in GRID if value >= threshold), None)
