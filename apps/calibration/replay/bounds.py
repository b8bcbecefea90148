"""The bound of each label's error under a candidate, from the same answers and by the same steps as a certificate.

Counted here are the items whose gates would be open under the candidate, also where its gates differ from those in
force: what is stored with a route only says so of the rules it was made by. (recalibration.md sections 2.1 to 2.3)
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, date

import numpy as np
from django.conf import settings
from django.db import connection

from apps.calibration.counting.counts import last_answered_day
from apps.calibration.counting.evidence import AUDIT_DEADLINE
from apps.calibration.replay.routes import Routed
from apps.calibration.replay.rows import NOBODY, Source, day_of
from apps.items.models import Item
from apps.routing.bulk import Bools, Floats
from apps.routing.draw import group_hash_pads, thin_draw
from apps.routing.types import LabelRule, Rules
from apps.stats.certificates import certify
from apps.stats.sampling import too_rare_to_thin
from apps.stats.thresholds import (
    BinCount,
    Stratum,
    StratumName,
    counts_by_label,
    empty_counts,
    grid_bin,
    stratified_bounds,
)


@dataclass(frozen=True, slots=True)
class LabelBound:
    """Of one label that would act by itself. `bound` is of its error at the candidate's threshold, 1 where nothing
    is known. `certified`: the walk from the top reaches this very threshold. Counts are those at the threshold."""

    label: str
    name: str
    rule: LabelRule
    items: int
    labelled: int
    wrong: int
    bound: float
    certified: bool
    end_on: date | None

    @property
    def is_within(self) -> bool:
        return self.bound <= self.rule.target_error


@dataclass(frozen=True, slots=True)
class _Counted:
    """One entry an item of the label that counts, in its stratum, after thinning."""

    p: Floats
    reviewed: Bools
    audited: Bools
    labelled: Bools
    wrong: Bools
    pi: Floats


def label_bounds(
    routed: Routed, source: Source, rules: Rules, *, delta: float, since: Mapping[str, date]
) -> tuple[LabelBound, ...]:
    """For each label the candidate lets act, in the order of the question's options. `since`: the first day that
    counts, for labels that an alarm reset."""
    names, options = source.routing.option_names, source.routing.option_ids
    counts_once = _one_of_each_group(routed, source)
    late = routed.drawn & (routed.answer == NOBODY) & (routed.at < _deadline(source))
    return tuple(
        _bound(
            routed,
            source,
            options.index(label),
            names[label],
            rule,
            routed.is_open & counts_once & _not_before(routed, since.get(label)),
            late,
            delta,
        )
        for label, rule in rules.labels.items()
        if rule.autonomy.may_act and label in names and 0 < rule.target_error < 1
    )


def _not_before(routed: Routed, day: date | None) -> Bools:
    first = -1 if day is None else (day - day_of(0)).days
    return np.asarray(routed.day >= first, np.bool_)


def _bound(
    routed: Routed,
    source: Source,
    at: int,
    name: str,
    rule: LabelRule,
    counts: Bools,
    late: Bools,
    delta: float,
) -> LabelBound:
    mine = counts & (routed.label == at)
    label = source.routing.option_ids[at]
    end = last_answered_day([*_asked_by_day(routed, mine, late)])
    if end is None:
        return LabelBound(label, name, rule, 0, 0, 0, 1.0, certified=False, end_on=None)
    mine &= routed.day <= (end - day_of(0)).days
    mine &= ~_left_out(routed, mine)
    counted = _counted(routed, source, np.flatnonzero(mine), late)
    drawn = routed.drawn[mine] & (routed.answered | late)[mine]
    certificate = certify(
        counts_by_label([*_rows(label, counted)]).get(label) or empty_counts(),
        alpha=rule.target_error,
        delta=delta,
        drawn=int(drawn.sum()),
        unanswered=int(late[mine].sum()),
    )
    above = counted.p >= rule.threshold
    return LabelBound(
        label=label,
        name=name,
        rule=rule,
        items=int(above.sum()),
        labelled=int((above & counted.labelled).sum()),
        wrong=int((above & counted.wrong).sum()),
        bound=_bound_above(counted, above, delta),
        certified=rule.threshold in certificate.certified,
        end_on=end,
    )


def _bound_above(counted: _Counted, above: Bools, delta: float) -> float:
    def stratum(those: Bools) -> Stratum:
        inside = above & those
        return Stratum(
            np.array([inside.sum()], np.float64),
            np.array([(inside & counted.labelled).sum()], np.float64),
            np.array([(inside & counted.wrong).sum()], np.float64),
        )

    uncovered = float((above & ~counted.reviewed & ~counted.audited).sum())
    bounds = stratified_bounds(
        stratum(counted.reviewed), stratum(counted.audited), delta, uncovered=uncovered
    )
    return float(bounds[0])


def _asked_by_day(routed: Routed, mine: Bools, late: Bools) -> Iterator[tuple[date, int, int]]:
    asked = mine & routed.asked & (routed.pi > 0)
    done = asked & (routed.answered | late)
    if not mine.any():
        return
    first = int(routed.day[mine].min())
    size = int(routed.day[mine].max()) - first + 1
    every, mine_asked, mine_done = (
        np.bincount(routed.day[those] - first, minlength=size) for those in (mine, asked, done)
    )
    for offset in np.flatnonzero(every).tolist():
        yield day_of(first + offset), int(mine_asked[offset]), int(mine_done[offset])


def _left_out(routed: Routed, mine: Bools) -> Bools:
    """Items of days on which so few were asked that thinning to it would throw nearly every other answer away; and of
    days on which no review counts, where on others some do."""
    covered, reviewed = mine & (routed.pi > 0), mine & ~routed.was_automatic
    left_out = np.zeros(len(routed), np.bool_)
    for those in (covered & routed.was_automatic, covered & reviewed):
        rare = too_rare_to_thin(routed.pi[those])
        left_out |= np.isin(routed.day, np.unique(routed.day[those][rare]))
    if (covered & reviewed).any():
        left_out |= np.isin(routed.day, np.unique(routed.day[reviewed & ~covered]))
    return left_out


def _counted(routed: Routed, source: Source, rows: np.ndarray, late: Bools) -> _Counted:
    automatic, pi = routed.was_automatic[rows], routed.pi[rows]
    audited, reviewed = automatic & (pi > 0), ~automatic & (pi > 0)
    labelled = (routed.answered | late)[rows]
    for those in (audited, reviewed):
        rates = np.unique(pi[those])
        if rates.size > 1:
            labelled = labelled & (~those | _kept(routed, source, rows, those & labelled, float(rates[0])))
    return _Counted(
        p=routed.p[rows],
        reviewed=reviewed,
        audited=audited,
        labelled=labelled,
        wrong=labelled & (routed.wrong | late)[rows],
        pi=pi,
    )


def _kept(routed: Routed, source: Source, rows: np.ndarray, asked: Bools, smallest: float) -> Bools:
    """Each one asked kept with chance smallest / pi, by a hash of the item: nobody can draw again."""
    key, slug = settings.SECRET_KEY.encode(), source.workflow.slug
    ids = routed.item_id[rows[asked]].tolist()
    external = dict(Item.objects.filter(pk__in=ids).values_list("pk", "external_id"))
    draws = np.array([thin_draw(key, slug, external[pk]) for pk in ids], np.float64)
    kept = np.zeros(len(rows), np.bool_)
    kept[asked] = draws < smallest / routed.pi[rows[asked]]
    return kept


def _rows(label: str, counted: _Counted) -> Iterator[BinCount]:
    bins = grid_bin(counted.p)
    strata: Mapping[StratumName, Bools] = {
        "reviewed": counted.reviewed,
        "audited": counted.audited,
        "uncovered": ~counted.reviewed & ~counted.audited,
    }
    for stratum, those in strata.items():
        items, labelled, wrong = (
            np.bincount(bins[those & more]) for more in (those, counted.labelled, counted.wrong)
        )
        masses = np.bincount(bins[those], weights=counted.pi[those])
        for at in np.flatnonzero(items).tolist():
            yield BinCount(
                label=label,
                bin=at,
                stratum=stratum,
                items=int(items[at]),
                labelled=int(labelled[at]) if at < len(labelled) else 0,
                wrong=int(wrong[at]) if at < len(wrong) else 0,
                pi_sum=float(masses[at]),
            )


# The hash of `draw.group_hash`; its first 8 bytes order a group as the whole does.
_GROUPED = """
SELECT string_agg(int8send(id), ''), string_agg(int8send(hashtextextended(group_key, 0)), ''),
    string_agg(substr(sha256(%(outer)s || sha256(%(inner)s || int4send(octet_length(external_id))
        || convert_to(external_id, 'UTF8'))), 1, 8), '')
FROM items_item WHERE workflow_id = %(workflow)s AND group_key <> '' AND id >= %(oldest)s
"""


def _one_of_each_group(routed: Routed, source: Source) -> Bools:
    """Of the open items that belong together the one whose hash is lowest; every item that stands alone."""
    counts = np.ones(len(routed), np.bool_)
    inner, outer = group_hash_pads(settings.SECRET_KEY.encode(), source.workflow.slug)
    with connection.cursor() as cursor:
        cursor.execute(
            _GROUPED,
            {
                "inner": inner,
                "outer": outer,
                "workflow": source.workflow.pk,
                "oldest": int(routed.item_id.min(initial=0)),
            },
        )
        ids, groups, hashes = cursor.fetchone()
    if ids is None:
        return counts
    order = np.argsort(routed.item_id)
    item_ids = np.frombuffer(ids, ">i8").astype(np.int64)
    places = np.minimum(np.searchsorted(routed.item_id[order], item_ids), len(order) - 1)
    rows = order[places]
    there = (routed.item_id[rows] == item_ids) & routed.is_open[rows]
    rows, item_ids = rows[there], item_ids[there]
    group = np.frombuffer(groups, ">i8").astype(np.int64)[there]
    by_hash = np.lexsort((item_ids, np.frombuffer(hashes, ">u8").astype(np.uint64)[there], group))
    is_first = np.ones(len(by_hash), np.bool_)
    is_first[1:] = group[by_hash][1:] != group[by_hash][:-1]
    counts[rows[by_hash[~is_first]]] = False
    return counts


def _deadline(source: Source) -> int:
    """In the unit of `Batch.at`."""
    epoch = np.datetime64(day_of(0).isoformat(), "us")
    limit = np.datetime64((source.now - AUDIT_DEADLINE).astimezone(UTC).replace(tzinfo=None), "us")
    return int((limit - epoch).astype(np.int64))
