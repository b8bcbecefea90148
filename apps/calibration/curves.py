"""What a label's threshold would let through, and how wrong that may be, at every value it could have."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from apps.stats.certificates import Step
from apps.stats.rates import Rate, exact_share
from apps.stats.thresholds import GRID, Counts, grid_value_at_least, two_stratum_bounds


@dataclass(frozen=True, slots=True)
class Curve:
    """One step a grid value, lowest first. `items` are all of the label that no other rule held, those below the
    grid included. `certified` are those of the certificate in force; `supported` those that today's reading
    would certify, which nobody may rely on.
    """

    steps: tuple[Step, ...]
    items: int
    in_force: float
    target: float
    certified: tuple[float, ...]
    supported: tuple[float, ...]

    @property
    def in_force_index(self) -> int:
        """Of the grid value that the threshold in force is, or is rounded up to; the last one above the grid."""
        value = grid_value_at_least(self.in_force)
        return len(GRID) - 1 if value is None else GRID.index(value)

    def share(self, step: Step) -> Rate:
        """Of the label's items, those that would act by themselves."""
        return exact_share(step.items, self.items)

    def standing(self, step: Step) -> str:
        """ "certified" by the certificate in force, "supported" by today's reading only, or ""."""
        if step.threshold in self.certified:
            return "certified"
        return "supported" if step.threshold in self.supported else ""


def curve_of(
    counts: Counts,
    *,
    items: int,
    delta: float,
    in_force: float,
    target: float,
    certified: Iterable[float] = (),
    supported: Iterable[float] = (),
) -> Curve:
    """`items` are those of any probability, `delta` is the risk the bounds are computed with. Each bound holds by
    itself only; what may be relied on is what the walk from the top certifies."""
    return Curve(
        steps=steps_of(counts, delta),
        items=items,
        in_force=in_force,
        target=target,
        certified=tuple(certified),
        supported=tuple(supported),
    )


def steps_of(counts: Counts, delta: float) -> tuple[Step, ...]:
    bounds = two_stratum_bounds(counts, delta)
    columns = zip(
        GRID,
        bounds.tolist(),
        *(
            [int(each) for each in column]
            for stratum in (counts.reviewed, counts.audited)
            for column in (stratum.items, stratum.labelled, stratum.wrong)
        ),
        [int(each) for each in counts.uncovered],
        strict=True,
    )
    return tuple(Step(*column) for column in columns)
