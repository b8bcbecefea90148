"""Everything a calibration run is computed from, read at one moment. Writes nothing."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

from django.utils import timezone

from apps.calibration.attempts import Attempts, attempts_by_label, first_days
from apps.calibration.certs import in_force_under, settings_of
from apps.calibration.computing import Json, compute
from apps.calibration.counting.blind_reviews import following_between
from apps.calibration.counting.counts import WINDOW_WEEKS, LabelCounts, count_labels
from apps.calibration.counting.evidence import Basis, basis_for, window_days
from apps.calibration.fair_chance import ASSUMED, FULL_WEEKS, POWER
from apps.calibration.models import CalibrationSettings, Certificate
from apps.core.errors import Conflict, FieldProblem, InvalidInput
from apps.policies.models import Policy
from apps.policies.rules import to_rules
from apps.policies.selectors import active_policy
from apps.routing.types import LabelRule, Rules
from apps.stats.anchoring import Anchoring
from apps.stats.costs import chow_threshold
from apps.stats.spending import attempt_delta, label_delta
from apps.workflows.models import Question, Workflow
from apps.workflows.selectors import current_question_set

DEFAULT_COST = 1.0


@dataclass(frozen=True, slots=True)
class Look:
    """`basis` is None before the first answer of a model. `certificates` are those in force. `counted`: the labels
    that came, with all that was counted of each. `following`: whether reviewers may be following the model."""

    policy: Policy
    question: Question
    rules: Rules
    basis: Basis | None
    certificates: dict[str, Certificate]
    counted: dict[str, LabelCounts]
    following: Anchoring
    inputs: Json
    results: list[Json]

    @property
    def attempts(self) -> list[Json]:
        return [result for result in self.results if result["is_attempt"]]

    def entry(self, label: str) -> Json:
        found: Json = next(entry for entry in self.inputs["labels"] if entry["label"] == label)
        return found


def look(*, workflow: Workflow, now: datetime, forced: Collection[str] = ()) -> Look:
    """What a run at `now` would be computed from and find. `forced`: labels to be tried before their time.

    Raises Conflict without a policy in force that names a label, InvalidInput for a forced label it does not name.
    """
    policy = active_policy(workflow)
    if policy is None or not policy.rules["labels"]:
        raise Conflict(f"Workflow {workflow.slug} has no policy in force that names a label.")
    questions = current_question_set(workflow)
    question = next(each for each in questions.questions.all() if each.is_routing)
    rules = to_rules(policy.rules, questions)
    for label in forced:
        if label not in rules.labels:
            raise InvalidInput(FieldProblem(f"forced.{label}", "is no label of the policy in force"))
    basis = basis_for(workflow=workflow, now=now, weeks=WINDOW_WEEKS)
    certificates = {} if basis is None else in_force_under(basis)
    attempts = {} if basis is None else attempts_by_label(basis)
    following = following_between(workflow, *window_days(workflow, now, WINDOW_WEEKS))
    counted = count_labels(
        workflow=workflow,
        now=now,
        since=first_days(workflow, attempts),
        is_blind_only=following.flagged,
    )
    inputs = _inputs(workflow, question, rules, attempts, certificates, counted, now, forced)
    inputs["following"] = following_entry(following)
    return Look(policy, question, rules, basis, certificates, counted, following, inputs, compute(inputs))


def _inputs(
    workflow: Workflow,
    question: Question,
    rules: Rules,
    attempts: dict[str, Attempts],
    certificates: dict[str, Certificate],
    counted: dict[str, LabelCounts],
    now: datetime,
    forced: Collection[str],
) -> Json:
    labels = [label for label in question.option_ids if label in rules.labels]
    refusals = {label: refusal(label, rules.labels[label], rules.none_of_these) for label in labels}
    settings = settings_of(workflow)
    promised = sum(not each for each in refusals.values())
    start_on, end_on = window_days(workflow, now, WINDOW_WEEKS)
    nothing = LabelCounts((), start_on, None)
    delta = risk_of_a_label(settings, promised)
    return {
        "forced": sorted(forced),
        "window": {"start_on": start_on.isoformat(), "end_on": end_on.isoformat(), "weeks": WINDOW_WEEKS},
        "settings": settings_entry(settings, promised),
        "labels": [
            {
                "label": label,
                "name": question.option_names[label],
                "refusal": refusals[label],
                **_rule_entry(label, rules, question),
                **attempt_entry(
                    attempts.get(label, Attempts()),
                    certificates.get(label),
                    delta,
                    workflow,
                    now,
                    is_forced=label in forced,
                ),
                **counts_entry(counted.get(label, nothing), end_on),
            }
            for label in labels
        ],
    }


def following_entry(found: Anchoring) -> Json:
    """[agreed, answered] where the model's answer was visible and where it was hidden, and what follows from it."""
    return {
        "visible": [found.visible.numerator, found.visible.denominator],
        "blind": [found.blind.numerator, found.blind.denominator],
        "is_flagged": found.flagged,
    }


def settings_entry(settings: CalibrationSettings, labels: int) -> Json:
    """What is promised, and when an attempt is worth making (see `fair_chance`)."""
    return {
        "confidence": settings.confidence,
        "scope": settings.scope,
        "labels": labels,
        "power": POWER,
        "assumed": ASSUMED,
    }


def risk_of_a_label(settings: CalibrationSettings, labels: int) -> float:
    """What all attempts for one label may spend together; `labels` share one promise where it is for all."""
    # Rounded, so that 1 - 0.95 is the 0.05 that people mean.
    delta = round(1 - settings.confidence, 12)
    if settings.scope == CalibrationSettings.Scope.ALL_LABELS and labels:
        return label_delta(delta, labels)
    return delta


def _rule_entry(label: str, rules: Rules, question: Question) -> Json:
    rule = rules.labels[label]
    return {
        "threshold": rule.threshold,
        "autonomy": rule.autonomy.value,
        "target_error": rule.target_error,
        "cost_threshold": cost_threshold(label, rules, question.option_ids),
    }


def cost_threshold(label: str, rules: Rules, labels: list[str]) -> float:
    """The probability below which no item of the label can be worth acting on: Chow's, for its cheapest mistake.

    Each item is weighed with all its costs when it is routed; this is where that could pass at all.
    """
    costs = rules.costs.get(label, {})
    cheapest = min((costs.get(true, DEFAULT_COST) for true in labels if true != label), default=DEFAULT_COST)
    if cheapest <= 0:
        return 1 / len(labels)
    return chow_threshold(cheapest, rules.review_cost, len(labels))


def attempt_entry(
    attempts: Attempts,
    certificate: Certificate | None,
    delta: float,
    workflow: Workflow,
    now: datetime,
    *,
    is_forced: bool,
) -> Json:
    """The part of an entry (see `computing`) that says which attempt it is, what it may spend and when it is due."""
    due_at = attempts.due_at(certificate)
    due_on = timezone.localtime(due_at or now, ZoneInfo(workflow.time_zone)).date()
    today = timezone.localtime(now, ZoneInfo(workflow.time_zone)).date()
    return {
        "attempt": attempts.next,
        "delta": attempt_delta(delta, attempts.next),
        "next_delta": attempt_delta(delta, attempts.next + 1),
        # By days: a run of the night is a minute earlier or later than the last one.
        "is_due": is_forced or due_on <= today,
        "is_forced": is_forced,
        "due_on": due_on.isoformat(),
    }


def counts_entry(counts: LabelCounts, today: date) -> Json:
    """The part of an entry that says what was counted."""
    return {
        "start_on": counts.start_on.isoformat(),
        "end_on": counts.end_on.isoformat() if counts.end_on else None,
        "weeks": counts.weeks,
        "is_full": counts.start_on <= today - timedelta(weeks=FULL_WEEKS),
        "drawn": counts.drawn,
        "unanswered": counts.unanswered,
        "pending": counts.pending,
        "thinned_to": counts.thinned_to,
        "beside": counts.beside,
        "blind_share": counts.blind_share,
        "rows": _rows(counts),
    }


def _rows(counts: LabelCounts) -> list[list[Any]]:
    """One a bin and stratum, in order."""
    added: dict[tuple[int, str], list[float]] = {}
    for row in counts.rows:
        cell = added.setdefault((row.bin, row.stratum), [0, 0, 0, 0.0])
        for place, value in enumerate((row.items, row.labelled, row.wrong, row.pi_sum)):
            cell[place] += value
    return [[bin, stratum, *cell] for (bin, stratum), cell in sorted(added.items())]


def refusal(label: str, rule: LabelRule, none_of_these: str | None) -> str:
    """Why there is nothing to certify, whatever the answers are; "" where there is."""
    if label == none_of_these:
        return "Never acts by itself: it means that no label fits."
    if rule.target_error <= 0:
        return "No number of checks can show that people would never have decided otherwise: a target of 0%."
    if rule.target_error >= 1:
        return "A target of 100% promises nothing, so there is nothing to certify."
    return ""
