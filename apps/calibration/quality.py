"""Are a question's probabilities any good, and how often is the model wrong? From people's answers, weighted.

Every answered item stands for 1 / pi items, so that what nobody looked at is represented by the checks, and never
taken for right (recalibration.md sections 0, 1.3, 1.4 and 1.5). All of it is for display: intervals here never decide
about a threshold, certificates do. Items of one group all count.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from datetime import date, datetime

from apps.calibration.counting.counts import WINDOW_WEEKS, last_answered_day
from apps.calibration.counting.evidence import AUDIT_DEADLINE, model_in_use, window_days
from apps.calibration.counting.judged import Judged, Open, Stretch, judged, open_tasks, routed_counts
from apps.calibration.counting.people_agree import Following, PeopleAgree, following, people_agree
from apps.calibration.quality_measures import Confused, Probabilities, confused, measure_probabilities
from apps.policies.rules import to_rules
from apps.policies.selectors import active_policy
from apps.routing.types import Rules
from apps.stats.rates import Rate, exact_share, unknown
from apps.stats.sampling import weighted_rate
from apps.workflows.models import Question, Workflow


@dataclass(frozen=True, slots=True)
class Quality:
    """One question, one model, whole days of the workflow.

    `end_on`: the last day by which 95 % of what was asked is answered; None where there is none, and then nothing
    counts. `waiting` are asked and unanswered, `uncounted` answered outside of the days that count.
    `is_cut`: there are too many answers to read at once, so `start_on` is later than was asked for.
    `items` are those that were answered. `covered`: routed items that could get an answer, of all routed; the
    figures say nothing about the others. `error` is among all items, `automatic_error` among those nobody held.
    """

    question: Question
    model: str | None
    start_on: date
    end_on: date | None
    is_cut: bool
    waiting: int
    uncounted: int
    items: int
    automatic_items: int
    covered: Rate
    error: Rate
    automatic_error: Rate
    probabilities: Probabilities
    confusion: Confused
    people: PeopleAgree
    following: Following


def quality(
    *,
    workflow: Workflow,
    question: Question,
    now: datetime,
    start_on: date | None = None,
    end_on: date | None = None,
    model: str | None = None,
) -> Quality:
    """Of the last eight weeks and the model in use, unless told otherwise.

    `question` may be of any of the workflow's versions: only answers to that version count.
    """
    first, today = window_days(workflow, now, WINDOW_WEEKS)
    model = model or model_in_use(workflow)
    stretch = Stretch(workflow, question, model or "", start_on or first, min(end_on or today, today))
    every, is_cut = judged(stretch)
    if is_cut:
        stretch = stretch.between(min(every.days), stretch.end_on)
    waiting = open_tasks(stretch, now - AUDIT_DEADLINE)
    end = last_counted_day(every, waiting)
    found = Judged.nothing(question) if end is None else every.until(end)
    if end is not None:
        stretch = stretch.between(stretch.start_on, end)
    return Quality(
        question=question,
        model=model,
        start_on=stretch.start_on,
        end_on=end,
        is_cut=is_cut,
        waiting=sum(each.tasks - each.late for each in waiting),
        uncounted=len(every) - len(found),
        items=len(found),
        automatic_items=int(found.automatic.sum()),
        covered=_covered(stretch, found, waiting) if len(found) else unknown(),
        error=weighted_rate(found.weights, found.wrong),
        automatic_error=weighted_rate(found.weights[found.automatic], found.wrong[found.automatic]),
        probabilities=measure_probabilities(found),
        confusion=confused(found, question, _rules(workflow, question)),
        people=people_agree(stretch),
        following=following(stretch),
    )


def last_counted_day(every: Judged, waiting: list[Open]) -> date | None:
    """The last day by which 95 % is answered; None before the first answer."""
    days = [(day, n, n) for day, n in Counter(every.days).items()]
    days += [(each.day, each.tasks, each.late) for each in waiting]
    return last_answered_day(days) if len(every) else None


def _covered(stretch: Stretch, found: Judged, waiting: list[Open]) -> Rate:
    """Reviews that asked the question, and automatic items that could be drawn, where checks ask it at all."""
    routed, checkable = routed_counts(stretch)
    within = [each for each in waiting if each.day <= stretch.end_on]
    reviews = int((~found.automatic).sum()) + sum(each.tasks for each in within if not each.is_check)
    is_checked = bool(found.automatic.any()) or any(each.is_check for each in within)
    return exact_share(reviews + (checkable if is_checked else 0), routed)


def _rules(workflow: Workflow, question: Question) -> Rules | None:
    """The cost table in force is of the question that picks the action, as it is asked now."""
    policy = active_policy(workflow)
    if policy is None or not (question.is_routing and question.question_set.is_current):
        return None
    return to_rules(policy.rules, question.question_set)
