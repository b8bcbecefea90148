"""How many people look at a task, and how their answers become one: the rules in force, and changing them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from apps.accounts.models import User
from apps.core.errors import FieldProblem, InvalidInput
from apps.reviews.models import ReviewRules
from apps.reviews.models_rules import MOST_OPINIONS
from apps.workflows.models import Question, Workflow


@dataclass(frozen=True, slots=True)
class RulesChange:
    """As ReviewRules has them; `second_share` in [0, 1]. Labels that want one opinion need no entry."""

    wanted: int
    wanted_by_label: Mapping[str, int]
    second_share: float
    most: int
    consensus: str


def rules_in_force(workflow: Workflow) -> ReviewRules:
    """The newest; where there never were any, one opinion as an unsaved row."""
    newest = ReviewRules.objects.filter(workflow=workflow).order_by("-id").first()
    return newest or ReviewRules(workflow=workflow)


def change_rules(*, workflow: Workflow, user: User, change: RulesChange, now: datetime) -> ReviewRules:
    """Puts the rules in force for tasks made from now on: what an open one hides, people may have seen already.

    Raises InvalidInput naming each number out of bounds.
    """
    _check(workflow, change)
    return ReviewRules.objects.create(
        workflow=workflow,
        wanted=change.wanted,
        wanted_by_label={label: n for label, n in change.wanted_by_label.items() if n > 1},
        second_share=change.second_share,
        most=change.most,
        consensus=change.consensus,
        created_by=user,
        created_at=now,
    )


def _check(workflow: Workflow, change: RulesChange) -> None:
    problems = []
    if not 1 <= change.most <= MOST_OPINIONS:
        problems.append(FieldProblem("most", f"must be from 1 to {MOST_OPINIONS}"))
    if not 1 <= change.wanted <= change.most:
        problems.append(FieldProblem("wanted", f"must be from 1 to {change.most}, the most there may be"))
    if not 0 <= change.second_share <= 1:
        problems.append(FieldProblem("second_share", "must be from 0 to 100 %"))
    if change.second_share > 0 and change.most < 2:
        problems.append(FieldProblem("second_share", "needs two opinions at most, or more"))
    if change.consensus not in ReviewRules.Consensus.values:
        problems.append(
            FieldProblem("consensus", f"must be one of {', '.join(ReviewRules.Consensus.values)}")
        )
    known = routing_labels(workflow)
    for label, wanted in change.wanted_by_label.items():
        if label not in known:
            problems.append(FieldProblem(f"wanted_by_label.{label}", "is not a label"))
        elif not 1 <= wanted <= change.most:
            problems.append(FieldProblem(f"wanted_by_label.{label}", f"must be from 1 to {change.most}"))
    if problems:
        raise InvalidInput(*problems)


def routing_labels(workflow: Workflow) -> dict[str, str]:
    """Names by id of what the question that picks the action may be answered with now."""
    question = Question.objects.filter(
        question_set__workflow=workflow, question_set__is_current=True, is_routing=True
    ).first()
    return question.option_names if question else {}
