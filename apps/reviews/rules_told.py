"""The rules of opinions in words, and what waits because of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from django.db.models import Exists, OuterRef

from apps.policies.readable import isolated
from apps.reviews.models import Review, ReviewRules, ReviewTask
from apps.reviews.settling import MAY_DECIDE
from apps.workflows.models import Membership, Workflow

NEWEST = 20
MOST_COUNTED = 1_000


@dataclass(frozen=True, slots=True)
class RulesTold:
    rules: ReviewRules
    sentences: tuple[str, ...]


def told_history(workflow: Workflow, names: Mapping[str, str]) -> list[RulesTold]:
    """The newest 20, the one in force first. `names` of labels by id; one that is gone stands by its id."""
    found = ReviewRules.objects.filter(workflow=workflow).select_related("created_by").order_by("-id")
    return [RulesTold(rules, tuple(_sentences(rules, names))) for rules in found[:NEWEST]]


def _sentences(rules: ReviewRules, names: Mapping[str, str]) -> list[str]:
    told = [f"{_people(rules.wanted)} for every item."]
    for label, wanted in rules.wanted_by_label.items():
        if wanted > rules.wanted:
            told.append(f"{_people(wanted)} where the model says {isolated(names.get(label, label))}.")
    if rules.second_share > 0:
        told.append(f"Two people for {round(rules.second_share * 100, 6):g} % of the others.")
    if most_wanted(rules) > 1:
        told.append(_how(rules))
    return told


def most_wanted(rules: ReviewRules) -> int:
    """The opinions that some item may need before anybody has answered."""
    by_label: dict[str, int] = rules.wanted_by_label
    return max(rules.wanted, *by_label.values(), 2 if rules.second_share > 0 else 1)


def _people(count: int) -> str:
    return "One person" if count == 1 else f"{count} people"


def _how(rules: ReviewRules) -> str:
    match rules.consensus:
        case ReviewRules.Consensus.MAJORITY:
            return f"More than half must agree; one more is asked up to {rules.most}, then a senior decides."
        case ReviewRules.Consensus.SENIOR:
            return "A senior among them decides; without one all must agree, else a senior is called."
    return "All must agree, else a senior decides."


@dataclass(frozen=True, slots=True)
class WaitingForSeniors:
    """Open items, counted up to MOST_COUNTED. `stuck`: of these, nobody is left who may decide and has not answered."""

    escalated: int
    adjudication: int
    stuck: int


def waiting_for_seniors(workflow: Workflow) -> WaitingForSeniors:
    tasks = ReviewTask.objects.filter(workflow=workflow, status=ReviewTask.Status.OPEN)
    above = tasks.exclude(stage=ReviewTask.Stage.REVIEW)
    answered = Review.objects.filter(task=OuterRef(OuterRef("pk")), user=OuterRef("user"), taken_back_at=None)
    able = Membership.objects.filter(MAY_DECIDE, workflow=workflow, user__is_active=True).exclude(
        Exists(answered)
    )
    return WaitingForSeniors(
        escalated=above.filter(stage=ReviewTask.Stage.ESCALATED)[:MOST_COUNTED].count(),
        adjudication=above.filter(stage=ReviewTask.Stage.ADJUDICATION)[:MOST_COUNTED].count(),
        stuck=above.filter(~Exists(able))[:MOST_COUNTED].count(),
    )
