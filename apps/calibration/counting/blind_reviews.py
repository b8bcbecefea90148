"""Reviews that count where reviewers may be following the model: the blind ones, each with its chance of being blind.

Whether a review is blind is drawn when its task is made, by a chance that stands on the task. Where visible answers
cannot be relied on, that chance is the item's `pi`; items whose review could not have been blind are not covered, and
count as wrong in every bound (recalibration.md sections 0 and 1.6).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import date

from django.db.models import Sum

from apps.calibration.counting.days import refresh
from apps.calibration.counting.evidence import Audit, Basis, Cell, fetch
from apps.calibration.models_counts import ReviewCount
from apps.reviews.models import ReviewTask
from apps.stats.anchoring import Anchoring, anchoring
from apps.workflows.models import Workflow

CHANCE = "round(coalesce(CASE WHEN task.blind THEN task.blind_pi ELSE 1 - task.blind_pi END, 0)::numeric, 9)::float8"
"""Of a task, known before its draw; a task has the chance of being as blind as it is. Rounded, so that the chance of
being visible, taken from 1, is the same number."""

_REVIEWED = f"""
WITH seen AS (
    SELECT daycount.label, daycount.day, daycount.bin, {CHANCE} AS chance, coalesce(task.blind, false) AS is_blind,
           counted.state & %(answered)s > 0 AS is_answered, counted.state & %(wrong)s > 0 AS is_wrong, route.item_id
    FROM items_route route
    JOIN calibration_counted counted ON counted.item_id = route.item_id AND counted.state & %(asked)s > 0
    JOIN calibration_daycount daycount ON daycount.id = counted.count_id
    LEFT JOIN reviews_reviewtask task ON task.route_id = route.id AND task.status <> 'cancelled'
    WHERE route.workflow_id = %(workflow)s AND route.superseded_at IS NULL AND route.outcome = 'review'
        AND route.created_at >= (%(start_on)s::date::timestamp AT TIME ZONE %(zone)s)
        AND daycount.stratum = 'reviewed' AND daycount.day <= %(today)s AND daycount.model = %(model)s
        AND daycount.question_set_id = %(question_set)s AND daycount.policy_id = ANY(%(policies)s)
        AND daycount.is_open
)
"""  # noqa: S608 - put together from constants; what comes from outside are parameters
_CELLS = f"""{_REVIEWED}
SELECT label, day, bin, 'reviewed', chance, count(*), count(*) FILTER (WHERE is_blind),
       count(*) FILTER (WHERE is_blind AND is_answered), count(*) FILTER (WHERE is_blind AND is_wrong), 0, 0
FROM seen GROUP BY label, day, bin, chance
"""  # noqa: S608 - as above
_ANSWERS = f"""{_REVIEWED}
SELECT day, bin, chance, is_wrong, item.external_id FROM seen JOIN items_item item ON item.id = seen.item_id
WHERE label = %(label)s AND is_blind AND is_answered
"""  # noqa: S608 - as above


def following_between(workflow: Workflow, start_on: date, end_on: date) -> Anchoring:
    """Agreement with the model where its answer was visible and where it was hidden, of reviews whose mode was drawn
    and whose answers came on these days; to the question that picks the action."""
    refresh(workflow)
    drawn = ReviewCount.objects.filter(
        workflow=workflow, kind=ReviewTask.Kind.ROUTINE, day__range=(start_on, end_on)
    )
    rows = drawn.values_list("blind").annotate(Sum("first_agreed"), Sum("first"))
    found = {blind: (agreed, answered) for blind, agreed, answered in rows}
    return anchoring(*found.get(False, (0, 0)), *found.get(True, (0, 0)))


def only_blind(basis: Basis, cells: Sequence[Cell]) -> list[Cell]:
    """The cells with reviews as blind ones alone tell; checks as they are. One label after the other."""
    others = [
        replace(cell, items=0, asked=0, answered=0, wrong=0, late=0) if cell.stratum == "reviewed" else cell
        for cell in cells
    ]
    reviewed = [Cell(*row) for row in fetch(_CELLS, basis)]
    return sorted([*others, *reviewed], key=lambda cell: cell.label)


def blind_answers_of(basis: Basis, label: str) -> list[Audit]:
    """The label's blind reviews one by one, `pi` being the chance of each."""
    return [Audit(*row) for row in fetch(_ANSWERS, basis, label=label)]
