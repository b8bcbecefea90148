"""How often people decided otherwise, per label, grid bin and stratum: what certificates are computed from.

Counted are routes in force that stand for the rule as it is now (`Basis`) and whose gates were open but
perhaps the threshold. R (`reviewed`) are those that people saw as a matter of course, A (`audited`) those that
were automatic when they came. An automatic item that nobody was drawn to check is in the items and nowhere
else: it is not an agreement. Of items that belong together (a thread, a chat) one counts. (recalibration.md
sections 0, 2.1, 2.2)

Of R both blind and visible answers are used, so pi is 1; where reviewers may be following the model (section 1.6)
only the blind ones, and pi is the chance of being blind (`blind_reviews`). Answers in A are blind by construction.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime
from functools import partial
from itertools import groupby

import numpy as np

from apps.calibration.counting.blind_reviews import only_blind
from apps.calibration.counting.evidence import Cell, basis_for, cells_of
from apps.calibration.counting.thinning import Thin, Wanted, kept_of
from apps.stats.rates import Rate, rate
from apps.stats.sampling import too_rare_to_thin
from apps.stats.thresholds import (
    GRID,
    BinCount,
    Counts,
    StratumName,
    counts_by_label,
    empty_counts,
    grid_bin,
)
from apps.workflows.models import Workflow

WINDOW_WEEKS = 8
ANSWERED_SHARE = 0.95
_SUMMED = ("items", "asked", "answered", "wrong", "late", "beside")

# Lower ends of the bands shown as reliability; every one but the first is a grid value.
_BANDS = (0.0, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.99)


@dataclass(frozen=True, slots=True)
class Band:
    """How often people decided otherwise where low <= p < high, of the answers there are.

    Reviews and checks apart: pooled without weights they would mislead. No unanswered check counts here.
    """

    low: float
    high: float
    items: int
    reviewed: Rate
    audited: Rate


@dataclass(frozen=True, slots=True)
class LabelCounts:
    """One label's window, from `start_on` to the last day by which 95 % of its reviews and audits were answered
    (None: there is no such day, and nothing is counted).

    `drawn` are audits answered or past their deadline, `unanswered` those of them without an answer (wrong in
    `rows`). `pending` are reviews and audits still waiting in the whole window, the days after `end_on`
    included; `asked` and `answered` are those of the whole window, `uncounted` the answered ones after `end_on`.
    `beside` are items left out because another one of their group counts.
    `left_out` are days whose audit rate was under a third of the typical one. `thinned_to` is the
    smallest rate, when rates differed and the audits were thinned to it. `blind_share`: where only blind reviews
    count, the chance of being blind that all were thinned to, 0 if none could be blind; else None.
    """

    rows: tuple[BinCount, ...]
    start_on: date
    end_on: date | None
    bands: tuple[Band, ...] = ()
    drawn: int = 0
    unanswered: int = 0
    pending: int = 0
    asked: int = 0
    answered: int = 0
    uncounted: int = 0
    beside: int = 0
    left_out: tuple[date, ...] = ()
    thinned_to: float | None = None
    blind_share: float | None = None

    @property
    def counts(self) -> Counts:
        return next(iter(counts_by_label(self.rows).values()), None) or empty_counts()

    @property
    def weeks(self) -> float:
        return 0.0 if self.end_on is None else ((self.end_on - self.start_on).days + 1) / 7


def count_labels(
    *,
    workflow: Workflow,
    now: datetime,
    weeks: int = WINDOW_WEEKS,
    since: Mapping[str, date] | None = None,
    is_blind_only: bool = False,
) -> dict[str, LabelCounts]:
    """Counts of every label that came in the last `weeks` whole weeks, today included; {} before the first answer.

    `since`: labels of which earlier days do not count any more (an alarm drops them), with their first day.
    `is_blind_only`: of reviews only blind ones count.
    """
    basis = basis_for(workflow=workflow, now=now, weeks=weeks)
    if basis is None:
        return {}
    cells = cells_of(basis)
    if is_blind_only:
        cells = only_blind(basis, cells)
    by_label = groupby(cells, key=lambda cell: cell.label)
    first_days = {} if since is None else since
    return {
        label: count_cells(
            list(mine),
            start_on=max(basis.start_on, first_days.get(label, date.min)),
            thin=partial(kept_of, basis, label),
            is_blind_only=is_blind_only,
        )
        for label, mine in by_label
    }


def count_cells(
    cells_of_label: Sequence[Cell],
    *,
    start_on: date,
    thin: Thin,
    is_blind_only: bool = False,
) -> LabelCounts:
    """One label's, from `start_on` on. `thin` is asked only where rates differed. `is_blind_only`: cells of reviews are
    of blind ones."""
    all_cells = [cell for cell in cells_of_label if cell.day >= start_on]
    beside = sum(cell.beside for cell in all_cells)
    cells = [cell for cell in all_cells if cell.items]
    days = _by_day(cells)
    asked, answered, late = (sum(each[place] for each in days.values()) for place in range(3))
    end_on = last_answered_day([(day, n, done + gone) for day, (n, done, gone) in days.items()])
    if end_on is None:
        return LabelCounts(
            (),
            start_on,
            None,
            pending=asked - answered - late,
            asked=asked,
            answered=answered,
            uncounted=answered,
            beside=beside,
            blind_share=0.0 if is_blind_only else None,
        )
    within = [cell for cell in cells if cell.day <= end_on]
    left_out = _days_left_out(within)
    kept = [cell for cell in within if cell.day not in left_out]
    # Days matter no more: a label's 56 become one, in an order that sums do not depend on.
    summed = _added_up(kept)
    rates = {cell.pi for cell in summed if cell.stratum == "audited"}
    chances = {cell.pi for cell in summed if cell.stratum == "reviewed" and cell.pi > 0}
    rows = [_to_row(cell) for cell in summed]
    thinned: tuple[tuple[StratumName, set[float]], ...] = (("audited", rates), ("reviewed", chances))
    for stratum, several in thinned:
        if len(several) > 1:
            wanted = Wanted(stratum, min(several), start_on, end_on, frozenset(left_out))
            rows = [each if each.stratum != stratum else replace(each, labelled=0, wrong=0) for each in rows]
            rows += [
                BinCount(summed[0].label, bin, stratum, 0, labelled, wrong, 0.0)
                for bin, labelled, wrong in sorted(thin(wanted))
            ]
    return LabelCounts(
        rows=tuple(rows),
        start_on=min((cell.day for cell in kept), default=start_on),
        end_on=end_on,
        bands=tuple(_bands(summed)),
        drawn=sum(cell.answered + cell.late for cell in summed if cell.stratum == "audited"),
        unanswered=sum(cell.late for cell in summed),
        pending=asked - answered - late,
        asked=asked,
        answered=answered,
        uncounted=sum(done for day, (_, done, _) in days.items() if day > end_on),
        beside=beside,
        left_out=tuple(sorted(left_out)),
        thinned_to=min(rates) if len(rates) > 1 else None,
        blind_share=min(chances, default=0.0) if is_blind_only else None,
    )


def last_answered_day(days: Iterable[tuple[date, int, int]]) -> date | None:
    """The last day up to which at least 95 % of what was asked since the start is answered.

    Rows are (day, asked, answered), in any order, a day as often as it comes. An audit past its deadline
    counts as answered here: it is an error, and too many of those refuse the certificate by themselves.
    """
    asked = answered = 0
    last = None
    for day, rows in groupby(sorted(days), key=lambda row: row[0]):
        for _, more_asked, more_answered in rows:
            asked, answered = asked + more_asked, answered + more_answered
        if answered >= ANSWERED_SHARE * asked:
            last = day
    return last


def _by_day(cells: Iterable[Cell]) -> dict[date, tuple[int, int, int]]:
    """Asked, answered and late."""
    days: dict[date, tuple[int, int, int]] = {}
    for cell in cells:
        asked, answered, late = days.get(cell.day, (0, 0, 0))
        days[cell.day] = (asked + cell.asked, answered + cell.answered, late + cell.late)
    return days


def _days_left_out(cells: Iterable[Cell]) -> set[date]:
    """Days with an audit rate so low that thinning to it would throw nearly every other answer away. So are days on
    which reviews were hardly ever blind, or never, while on others they were, where only blind ones count."""
    items: Counter[tuple[StratumName, float]] = Counter()
    days: defaultdict[tuple[StratumName, float], set[date]] = defaultdict(set)
    for cell in cells:
        items[cell.stratum, cell.pi] += cell.items
        days[cell.stratum, cell.pi].add(cell.day)
    audited = {each: n for each, n in items.items() if each[0] == "audited"}
    blind = {each: n for each, n in items.items() if each[0] == "reviewed" and each[1] > 0}
    rare = {*_rare(audited), *_rare(blind)}
    if blind:
        rare.add(("reviewed", 0.0))
    return {day for each in rare for day in days[each]}


def _rare(items: Mapping[tuple[StratumName, float], int]) -> list[tuple[StratumName, float]]:
    each = np.repeat([pi for _, pi in items], list(items.values()))
    rare = set(each[too_rare_to_thin(each)].tolist())
    return [(stratum, pi) for stratum, pi in items if pi in rare]


def _added_up(cells: Iterable[Cell]) -> list[Cell]:
    """One a bin, stratum and rate, in this order; its day is that of any of them."""
    alike: defaultdict[tuple[int, StratumName, float], list[Cell]] = defaultdict(list)
    for cell in cells:
        alike[cell.bin, cell.stratum, cell.pi].append(cell)
    return [
        mine[0]._replace(**{name: sum(getattr(cell, name) for cell in mine) for name in _SUMMED})
        for mine in (alike[key] for key in sorted(alike))
    ]


def _bands(cells: Sequence[Cell]) -> Iterator[Band]:
    """From the lowest probability up; bands without an item are left out."""
    bins = [int(grid_bin(low)) for low in _BANDS]
    for low, high, first, after in zip(
        _BANDS, (*_BANDS[1:], 1.0), bins, (*bins[1:], len(GRID) + 1), strict=True
    ):
        inside = [cell for cell in cells if first <= cell.bin < after]
        if inside:
            yield Band(
                low,
                high,
                sum(cell.items for cell in inside),
                _otherwise(inside, "reviewed"),
                _otherwise(inside, "audited"),
            )


def _otherwise(cells: Sequence[Cell], stratum: StratumName) -> Rate:
    mine = [cell for cell in cells if cell.stratum == stratum]
    return rate(sum(cell.wrong for cell in mine), sum(cell.answered for cell in mine))


def _to_row(cell: Cell) -> BinCount:
    return BinCount(
        label=cell.label,
        bin=cell.bin,
        # Where only blind reviews count: one that could not have been blind tells nothing.
        stratum=cell.stratum if cell.pi > 0 else "uncovered",
        items=cell.items,
        labelled=cell.answered + cell.late,
        wrong=cell.wrong + cell.late,
        pi_sum=cell.pi * cell.items,
    )
