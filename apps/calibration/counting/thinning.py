"""Answers drawn at unequal rates, thinned to the smallest of them (recalibration.md section 2.2): one drawn with
chance pi is kept with chance smallest / pi, by a hash of the item, which nobody can draw again.

An item's hash is kept with what was counted of it, so nothing is read item by item.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from datetime import date
from typing import NamedTuple

from django.conf import settings

from apps.calibration.counting.evidence import Basis, fetch
from apps.routing.draw import thin_draw
from apps.stats.thresholds import StratumName
from apps.workflows.models import Workflow


@dataclass(frozen=True, slots=True)
class Wanted:
    """Checks of automatic items, or blind reviews where only those count, of these days without those left out."""

    stratum: StratumName
    smallest: float
    start_on: date
    end_on: date
    left_out: frozenset[date]


class Kept(NamedTuple):
    bin: int
    labelled: int
    wrong: int


Thin = Callable[[Wanted], Iterable[Kept]]


@dataclass(frozen=True, slots=True)
class Single:
    """One answer, or a check past its deadline without one, which counts as wrong."""

    day: date
    bin: int
    pi: float
    wrong: bool
    external_id: str


# A check's deadline ends within a day, so of that one day the routes themselves are looked at.
_KEPT = """
SELECT daycount.bin, count(*),
       count(*) FILTER (WHERE counted.state & %(answered)s = 0 OR counted.state & %(wrong)s > 0)
FROM calibration_daycount daycount
JOIN calibration_counted counted ON counted.count_id = daycount.id AND counted.thin IS NOT NULL
WHERE daycount.workflow_id = %(workflow)s AND daycount.day BETWEEN %(first)s AND %(last)s
    AND daycount.day <> ALL (%(left_out)s::date[]) AND daycount.question_set_id = %(question_set)s
    AND daycount.model = %(model)s AND daycount.policy_id = ANY (%(policies)s) AND daycount.is_open
    AND daycount.label = %(label)s AND daycount.stratum = %(stratum)s
    AND counted.thin < %(smallest)s::float8
        / CASE daycount.stratum WHEN 'audited' THEN daycount.pi ELSE daycount.blind_chance END
    AND (counted.state & %(answered)s > 0 OR counted.state & %(undone)s > 0 AND (
        daycount.day < %(deadline_day)s OR daycount.day = %(deadline_day)s AND EXISTS (
            SELECT FROM items_route route WHERE route.item_id = counted.item_id AND route.superseded_at IS NULL
                AND route.created_at < %(deadline)s)))
GROUP BY daycount.bin
"""


def kept_of(basis: Basis, label: str, wanted: Wanted) -> list[Kept]:
    """Of the counts as `cells_of` left them."""
    more = {
        "label": label,
        "stratum": wanted.stratum,
        "smallest": wanted.smallest,
        "first": wanted.start_on,
        "last": wanted.end_on,
        "left_out": list(wanted.left_out),
    }
    return list(map(Kept._make, fetch(_KEPT, basis, **more)))


def kept_singly(workflow: Workflow, answers: Iterable[Single], wanted: Wanted) -> Iterator[Kept]:
    """Of answers that nothing was kept of."""
    key = settings.SECRET_KEY.encode()
    for each in answers:
        is_wanted = wanted.start_on <= each.day <= wanted.end_on and each.day not in wanted.left_out
        if is_wanted and thin_draw(key, workflow.slug, each.external_id) < wanted.smallest / each.pi:
            yield Kept(each.bin, 1, int(each.wrong))
