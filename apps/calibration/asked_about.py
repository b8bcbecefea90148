"""The answered items that speak of one question as it is asked now: eight weeks, the model in use."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from apps.calibration.counting.counts import WINDOW_WEEKS
from apps.calibration.counting.evidence import AUDIT_DEADLINE, model_in_use, window_days
from apps.calibration.counting.judged import Judged, Stretch, judged, open_tasks
from apps.calibration.quality import last_counted_day
from apps.workflows.models import Question, Workflow


@dataclass(frozen=True, slots=True)
class Spoken:
    """Up to the last day by which 95 % of what was asked is answered. `late` are checks until then that nobody
    answered by their deadline."""

    model: str
    found: Judged
    late: int


def spoken_of(*, workflow: Workflow, question: Question, now: datetime) -> Spoken:
    first, today = window_days(workflow, now, WINDOW_WEEKS)
    model = model_in_use(workflow) or ""
    stretch = Stretch(workflow, question, model, first, today)
    every, is_cut = judged(stretch)
    if is_cut:
        stretch = stretch.between(min(every.days), today)
    waiting = open_tasks(stretch, now - AUDIT_DEADLINE)
    end = last_counted_day(every, waiting)
    if end is None:
        return Spoken(model, Judged.nothing(question), 0)
    return Spoken(model, every.until(end), sum(each.late for each in waiting if each.day <= end))
