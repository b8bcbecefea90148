"""Yes-no questions that can hold an item: from which P(yes) on a yes stands by itself, and from which P(no) on a no.

A hold lets an item pass outside of low..high, so it has two sides with a threshold each, certified as a label's is:
A(t) of the side "true" are items with P(yes) >= t, of the side "false" those with P(no) >= t, wrong where people
answered otherwise. Counted are routes with every other gate open, as they were routed: what the hold kept back was
asked for certain, what it let through was asked when it was drawn for a check. An item that another gate kept back
is not one the hold decides about, and was not asked the question unless in doubt.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from apps.calibration.attempts import first_days
from apps.calibration.certs import promises_enough, settings_of
from apps.calibration.computing import Json, compute
from apps.calibration.counting.counts import WINDOW_WEEKS
from apps.calibration.counting.evidence import (
    model_in_use,
    same_gates_but_one_hold,
    window_days,
)
from apps.calibration.counting.judged import Stretch
from apps.calibration.counting.people_agree import following
from apps.calibration.counting.sides import SIDES, SideBasis, count_sides, low_for
from apps.calibration.looking import (
    attempt_entry,
    counts_entry,
    following_entry,
    risk_of_a_label,
    settings_entry,
)
from apps.calibration.models import Certificate
from apps.calibration.side_attempts import attempts_by_side, sides_in_force
from apps.policies.models import Policy
from apps.policies.selectors import active_policy
from apps.stats.thresholds import GRID
from apps.workflows.models import Question, Workflow
from apps.workflows.selectors import current_question_set

TARGET: Final = 0.05
"""The error allowed on each side: a hold has no target of its own."""
NAMES: Final = {"true": "yes", "false": "no"}


@dataclass(frozen=True, slots=True)
class HoldInForce:
    """One hold on a yes-no question. `asked` are entries of both sides, "true" and "false", as `computing` has them,
    with nothing counted yet."""

    policy: Policy
    question: Question
    model: str
    low: float
    high: float
    asked: tuple[Json, Json]
    settings: Json


@dataclass(frozen=True, slots=True)
class HoldLook:
    """`following` as `looking.following_entry` has it, of answers to this question. `entries` and
    `results` are of the sides "true" and "false", in the form of `computing`."""

    hold: HoldInForce
    following: Json
    entries: tuple[Json, Json]
    results: tuple[Json, Json]


def holds_in_force(*, workflow: Workflow, now: datetime) -> list[HoldInForce]:
    """Every hold of the policy in force on a yes-no question, in their order; counts nothing."""
    policy, model = active_policy(workflow), model_in_use(workflow)
    if policy is None or model is None:
        return []
    questions = {each.key: each for each in current_question_set(workflow).questions.all()}
    return [
        _in_force(workflow, policy, model, questions[hold["question"]], hold, now)
        for hold in policy.rules["holds"]
        if hold["question"] in questions and questions[hold["question"]].kind == Question.Kind.NOUL
    ]


def look_at_holds(*, workflow: Workflow, now: datetime) -> list[HoldLook]:
    """What a run at `now` would find. Reads every route of the window."""
    return [look_at_hold(hold, now) for hold in holds_in_force(workflow=workflow, now=now)]


def sides_relied_on(hold: HoldInForce) -> dict[str, Certificate]:
    """By side: certificates in force that promise what is asked now."""
    asked = {entry["label"]: entry for entry in hold.asked}
    return {
        side: certificate
        for side, certificate in sides_in_force(hold.question, hold.model, hold.policy).items()
        if promises_enough(certificate, asked[side])
    }


def limits_from(hold: HoldInForce) -> tuple[float, float]:
    """`low` and `high` as certificates allow them; a side that can rely on none keeps the limit it has.

    Where both sides would pass the same P(yes), the yes side's limit is above the no side's: `high` is at least `low`.
    """
    held = sides_relied_on(hold)
    high = min(held["true"].certified) if "true" in held else hold.high
    low = low_for(min(held["false"].certified)) if "false" in held else hold.low
    return low, max(low, high)


def _in_force(
    workflow: Workflow, policy: Policy, model: str, question: Question, hold: Mapping[str, Any], now: datetime
) -> HoldInForce:
    chosen = settings_of(workflow)
    risk = risk_of_a_label(chosen, len(SIDES))
    attempts = attempts_by_side(question, model, same_gates_but_one_hold(policy, question.key))
    held = sides_in_force(question, model, policy)
    limits = {"true": hold["high"], "false": low_for(hold["low"])}
    asked = [
        {
            "label": side,
            "name": NAMES[side],
            "question": question.key,
            "refusal": "",
            "threshold": limits[side],
            "autonomy": "",
            "target_error": TARGET,
            # No side costs more than another: the lowest certified value is the one to take.
            "cost_threshold": GRID[0],
            **attempt_entry(attempts[side], held.get(side), risk, workflow, now, is_forced=False),
        }
        for side in SIDES
    ]
    return HoldInForce(
        policy=policy,
        question=question,
        model=model,
        low=hold["low"],
        high=hold["high"],
        asked=(asked[0], asked[1]),
        settings=settings_entry(chosen, len(SIDES)),
    )


def look_at_hold(hold: HoldInForce, now: datetime) -> HoldLook:
    start_on, today = window_days(hold.policy.workflow, now, WINDOW_WEEKS)
    anchoring = following(Stretch(hold.policy.workflow, hold.question, hold.model, start_on, today)).anchoring
    policies = same_gates_but_one_hold(hold.policy, hold.question.key)
    basis = SideBasis(
        workflow=hold.policy.workflow,
        question=hold.question,
        model=hold.model,
        policies=policies,
        start_on=start_on,
        since=first_days(hold.policy.workflow, attempts_by_side(hold.question, hold.model, policies)),
        now=now,
        is_blind_only=anchoring.flagged,
    )
    counted = count_sides(basis)
    entries = [entry | counts_entry(counted[entry["label"]], today) for entry in hold.asked]
    results = compute({"labels": entries, "settings": hold.settings})
    return HoldLook(hold, following_entry(anchoring), (entries[0], entries[1]), (results[0], results[1]))
