"""Counts for tests, from items as a plain list would hold them."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from apps.stats.thresholds import GRID, BinCount, Counts, counts_by_label, grid_bin


def audited_at(conf: float, n: int, k: int, *, items: int | None = None, label: str = "a") -> BinCount:
    """n audits, k of them wrong, all at one confidence; every item of the bin audited unless `items` is given."""
    number = int(grid_bin(conf))
    return BinCount(label, number, "audited", items or n, n, k, float(n))


def reviewed_at(conf: float, n: int, k: int, *, label: str = "a") -> BinCount:
    return BinCount(label, int(grid_bin(conf)), "reviewed", n, n, k, float(n))


def uncovered_at(conf: float, items: int, *, label: str = "a") -> BinCount:
    return BinCount(label, int(grid_bin(conf)), "uncovered", items, 0, 0, 0.0)


def counts_of(*rows: BinCount) -> Counts:
    return counts_by_label(rows)["a"]


def counts_from_items(
    conf: ArrayLike, wrong: ArrayLike, automatic: ArrayLike, drawn: ArrayLike, audit_rate: float
) -> Counts:
    """Every review answered; of the automatic items those drawn with `audit_rate`."""
    place = grid_bin(conf)
    rows = []
    for name, member in (("reviewed", ~np.asarray(automatic)), ("audited", np.asarray(automatic))):
        labelled = member & np.asarray(drawn) if name == "audited" else member
        columns = (member, labelled, labelled & np.asarray(wrong))
        items, n, k = (np.bincount(place[column], minlength=len(GRID) + 1) for column in columns)
        pi = audit_rate if name == "audited" else 1.0
        rows += [
            BinCount("a", b, "audited" if name == "audited" else "reviewed", *cell, pi_sum=pi * cell[0])
            for b, cell in enumerate(zip(items.tolist(), n.tolist(), k.tolist(), strict=True))
        ]
    return counts_of(*rows)
