"""Who was taken for whom, and what it cost: rows are predicted, columns true."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from apps.stats.intervals import Floats
from apps.stats.rates import Rate, rate, unknown
from apps.stats.sampling import to_weights


@dataclass(frozen=True, slots=True)
class Confusion:
    """Weighted counts, raw counts and sums of squared weights (what intervals need), cell by cell."""

    labels: tuple[str, ...]
    weighted: Floats
    raw: Floats
    squared: Floats

    def precision(self, label: str) -> Rate:
        """Of the items predicted so, the share that is so; unknown for an empty row."""
        place = self.labels.index(label)
        return self._share(self.weighted[place], self.squared[place], place)

    def recall(self, label: str) -> Rate:
        """Of the items that are so, the share predicted so; unknown for an empty column."""
        place = self.labels.index(label)
        return self._share(self.weighted[:, place], self.squared[:, place], place)

    @staticmethod
    def _share(line: Floats, squared: Floats, place: int) -> Rate:
        total = float(line.sum())
        if total == 0:
            return unknown()
        n_eff = total**2 / float(squared.sum())
        return rate(float(line[place]) / total * n_eff, n_eff)

    @property
    def overrides(self) -> Rate:
        """Share of the raw answers where the person's label is not the predicted one."""
        n = float(self.raw.sum())
        return rate(n - float(np.trace(self.raw)), n)

    def total_cost(self, cost: ArrayLike) -> float:
        """Weighted cost of all answers; cost[predicted][true] in the unit the manager entered."""
        return float(np.sum(self.weighted * self._to_cost(cost)))

    def mean_cost(self, cost: ArrayLike) -> float | None:
        """Cost per item; None without answers."""
        total = float(self.weighted.sum())
        return self.total_cost(cost) / total if total else None

    def _to_cost(self, cost: ArrayLike) -> Floats:
        table = np.asarray(cost, np.float64)
        if table.shape != self.weighted.shape:
            raise ValueError(f"the cost table has shape {table.shape}, expected {self.weighted.shape}")
        return table


def confusion(
    predicted: Sequence[str], true: Sequence[str], labels: Sequence[str], weights: ArrayLike | None = None
) -> Confusion:
    """Counts in the order of `labels`; ValueError for a label that is not among them."""
    places = {label: place for place, label in enumerate(labels)}
    if missing := {*predicted, *true} - places.keys():
        raise ValueError(f"not among the labels: {sorted(missing)}")
    w = np.ones(len(predicted)) if weights is None else to_weights(weights)
    rows = np.asarray([places[label] for label in predicted], np.intp)
    columns = np.asarray([places[label] for label in true], np.intp)
    size = (len(places), len(places))
    tables = [np.zeros(size), np.zeros(size), np.zeros(size)]
    for table, amount in zip(tables, (w, np.ones_like(w), w * w), strict=True):
        np.add.at(table, (rows, columns), amount)
    return Confusion(tuple(labels), *tables)
