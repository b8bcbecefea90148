"""Reviews that count where reviewers may be following the model: the blind ones, each with its chance of being blind.

Whether a review is blind is drawn when its task is made, by a chance that stands on the task. Where visible answers
cannot be relied on, that chance is the item's `pi`; items whose review could not have been blind are not covered, and
count as wrong in every bound (recalibration.md sections 0 and 1.6).
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date

from django.db.models import Sum

from apps.calibration.counting.days import refresh
from apps.calibration.counting.evidence import Basis, Cell, fetch
from apps.calibration.models_counts import ReviewCount
from apps.reviews.models import ReviewTask
from apps.stats.anchoring import Anchoring, anchoring
from apps.workflows.models import Workflow

# Who reviewed blind is a part of each day's counts.
_CELLS = """
SELECT label, day, bin, 'reviewed', blind_chance, sum(items), sum(blind), sum(blind_answered), sum(blind_wrong), 0, 0
FROM calibration_daycount
WHERE workflow_id = %(workflow)s AND day BETWEEN %(start_on)s AND %(today)s AND question_set_id = %(question_set)s
    AND model = %(model)s AND policy_id = ANY(%(policies)s) AND is_open AND stratum = 'reviewed'
GROUP BY label, day, bin, blind_chance HAVING sum(items) > 0
"""


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
    # Of the reviews only how many stand beside others is left.
    others = [
        cell._replace(items=0, asked=0, answered=0, wrong=0, late=0) if cell.stratum == "reviewed" else cell
        for cell in cells
        if cell.stratum != "reviewed" or cell.beside
    ]
    reviewed = map(Cell._make, fetch(_CELLS, basis))
    return sorted([*others, *reviewed], key=lambda cell: cell.label)
