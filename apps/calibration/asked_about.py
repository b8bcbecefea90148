"""The answered items that speak of one question as it is asked now: eight weeks, the model in use."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from apps.calibration.counting.blind_reviews import following_between
from apps.calibration.counting.counts import WINDOW_WEEKS
from apps.calibration.counting.evidence import AUDIT_DEADLINE, model_in_use, window_days
from apps.calibration.counting.judged import Judged, Stretch, judged, open_tasks
from apps.calibration.counting.people_agree import following
from apps.calibration.quality import last_counted_day
from apps.workflows.models import Question, Workflow


@dataclass(frozen=True, slots=True)
class Spoken:
    """Up to the last day by which 95 % of what was asked is answered. `late` are checks until then that nobody
    answered by their deadline. `is_blind_only`: visible reviews are left out, as people may be following the model."""

    model: str
    found: Judged
    late: int
    is_blind_only: bool


def spoken_of(
    *, workflow: Workflow, question: Question, now: datetime, leaves_out_seen: bool = False
) -> Spoken:
    """`leaves_out_seen`: without visible reviews, where people may be following the model in this question."""
    first, today = window_days(workflow, now, WINDOW_WEEKS)
    model = model_in_use(workflow) or ""
    stretch = Stretch(workflow, question, model, first, today)
    is_blind_only = leaves_out_seen and is_followed(stretch)
    every, is_cut = judged(stretch, is_blind_only=is_blind_only)
    if is_cut:
        stretch = stretch.between(min(every.days), today)
    waiting = open_tasks(stretch, now - AUDIT_DEADLINE)
    end = last_counted_day(every, waiting)
    if end is None:
        return Spoken(model, Judged.nothing(question), 0, is_blind_only)
    late = sum(each.late for each in waiting if each.day <= end)
    return Spoken(model, every.until(end), late, is_blind_only)


def is_followed(stretch: Stretch) -> bool:
    """As certificates of its labels, or of its sides, have it."""
    if stretch.question.is_routing:
        return following_between(stretch.workflow, stretch.start_on, stretch.end_on).flagged
    return following(stretch).anchoring.flagged
