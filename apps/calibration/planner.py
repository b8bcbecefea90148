"""How many checks a target takes, in how many weeks, at what load for reviewers (recalibration.md section 5.2).

A plan is an expectation, never a certificate: it assumes an error, and that as many items come as did in the window.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime
from functools import lru_cache
from typing import Any

from django.db import connection

from apps.calibration.attempts import Attempts, attempts_by_label
from apps.calibration.certs import settings_of
from apps.calibration.counting.counts import WINDOW_WEEKS
from apps.calibration.counting.days import refresh
from apps.calibration.counting.evidence import Basis, basis_for, window_days
from apps.calibration.expiring import CHECKED_WITHIN, LEAST_CHECKS
from apps.calibration.fair_chance import ASSUMED, POWER
from apps.calibration.looking import refusal, risk_of_a_label
from apps.calibration.replay.replaying import median_seconds
from apps.policies.rules import to_rules
from apps.policies.selectors import active_policy
from apps.routing.types import AUDIT_FLOOR, LabelRule, Rules
from apps.stats.intervals import AuditPlan, plan_audits, upper_bound
from apps.stats.rates import Rate, rate, unknown
from apps.stats.spending import attempt_delta
from apps.stats.thresholds import grid_bin, start_mass
from apps.workflows.models import Workflow
from apps.workflows.selectors import current_question_set

DEAREST = 0.8
"""Of the target: at a likely error above it checks run into many thousands, and no plan is made."""
LARGEST_STEP = 3
_STEPS = 20


@dataclass(frozen=True, slots=True)
class Wish:
    """What is planned for: a share of automatic items to check, and for every label at once, where given, another
    target, likely error or threshold than its own."""

    audit_rate: float
    target_error: float | None = None
    likely_error: float | None = None
    threshold: float | None = None


@dataclass(frozen=True, slots=True)
class Seen:
    """One label's items from a threshold on, in the window; `error` is weighted by how they could be seen."""

    items: int
    error: Rate


@dataclass(frozen=True, slots=True)
class LabelPlan:
    """`checks` certify with 80 % chance if the true error is `likely_error`; None where it is too near the target.

    `weeks` at the wished rate, `weeks_of_all` where people answer every item, as while the label does not act. Both
    are None without a number of checks or without items. `rate_needed` brings them within the window: above 1 even
    all items do not. `target_of_all` is then what all items of a window could show.
    `together` are weeks in which the rare labels of the same target have as many items in all.
    """

    label: str
    name: str
    rule: LabelRule
    per_week: float
    measured: Rate
    likely_error: float
    is_assumed: bool
    checks: int | None
    checks_per_week: float
    weeks: float | None = None
    weeks_of_all: float | None = None
    rate_needed: float | None = None
    target_of_all: float | None = None
    together: float | None = None

    @property
    def in_time(self) -> bool:
        """Whether the checks are there before the first of them are too old to count."""
        return self.weeks is not None and self.weeks <= WINDOW_WEEKS

    @property
    def is_rare(self) -> bool:
        return self.rate_needed is not None and self.rate_needed > 1

    @property
    def runs_out(self) -> bool:
        """Whether a certificate would end for want of checks."""
        return self.checks_per_week * CHECKED_WITHIN.days / 7 < LEAST_CHECKS


@dataclass(frozen=True, slots=True)
class Plans:
    """`hours` of people a week for the checks, None while nobody's time is known. `is_large_step`: days of the lower
    rate are left out of the counts while days of the higher one are in the window."""

    labels: tuple[LabelPlan, ...]
    weeks_seen: float
    checks_per_week: float
    seconds: float | None
    is_large_step: bool

    @property
    def hours(self) -> float | None:
        return None if self.seconds is None else self.checks_per_week * self.seconds / 3600


def plan(*, workflow: Workflow, wish: Wish, now: datetime) -> Plans | None:
    """One plan a label of the policy in force that can be certified at all; None without such a policy."""
    policy = active_policy(workflow)
    if policy is None:
        return None
    questions = current_question_set(workflow)
    names = next(question.option_names for question in questions.questions.all() if question.is_routing)
    rules = to_rules(policy.rules, questions)
    wished = {label: _wished(rules.labels[label], wish) for label in names if label in rules.labels}
    wished = {label: rule for label, rule in wished.items() if not refusal(label, rule, rules.none_of_these)}
    basis = basis_for(workflow=workflow, now=now, weeks=WINDOW_WEEKS)
    seen, first_day = _seen(basis, wished) if basis else ({}, None)
    attempts = attempts_by_label(basis) if basis else {}
    weeks = _weeks(first_day, workflow, now)
    risk = risk_of_a_label(settings_of(workflow), len(wished))
    plans = [
        plan_label(
            label,
            names[label],
            rule,
            seen.get(label, Seen(0, unknown())),
            weeks=weeks,
            delta=attempt_delta(risk, attempts.get(label, Attempts()).next),
            wish=wish,
        )
        for label, rule in wished.items()
    ]
    return Plans(
        labels=tuple(_pooled(plans)),
        weeks_seen=weeks,
        # Only what acts by itself is checked.
        checks_per_week=sum(each.checks_per_week for each in plans if each.rule.autonomy.may_act),
        seconds=median_seconds(workflow),
        is_large_step=_is_large_step(rules, wish.audit_rate),
    )


def plan_label(
    label: str, name: str, rule: LabelRule, seen: Seen, *, weeks: float, delta: float, wish: Wish
) -> LabelPlan:
    """`weeks` are those in which `seen` came; `delta` is what the next attempt may spend."""
    per_week = seen.items / weeks
    is_assumed = wish.likely_error is None and (seen.error.value is None or seen.error.has_few_labels)
    likely = _likely_error(rule.target_error, seen.error, wish)
    checks = _checks(rule.target_error, likely, delta)
    found = LabelPlan(
        label=label,
        name=name,
        rule=rule,
        per_week=per_week,
        measured=seen.error,
        likely_error=likely,
        is_assumed=is_assumed,
        checks=checks,
        checks_per_week=per_week * max(AUDIT_FLOOR, wish.audit_rate),
    )
    if checks is None or not per_week:
        return found
    of_all = per_week * WINDOW_WEEKS
    needed = max(AUDIT_FLOOR, checks / of_all)
    return replace(
        found,
        weeks=checks / found.checks_per_week,
        weeks_of_all=checks / per_week,
        rate_needed=needed,
        target_of_all=upper_bound(round(likely * of_all), math.floor(of_all), delta) if needed > 1 else None,
    )


def _wished(rule: LabelRule, wish: Wish) -> LabelRule:
    return replace(
        rule,
        target_error=rule.target_error if wish.target_error is None else wish.target_error,
        threshold=rule.threshold if wish.threshold is None else wish.threshold,
    )


def _likely_error(target: float, measured: Rate, wish: Wish) -> float:
    if wish.likely_error is not None:
        return wish.likely_error
    if measured.value is None or measured.has_few_labels:
        return ASSUMED * target
    # Half a mistake more, so that none seen is not taken for none there.
    return (measured.numerator + 0.5) / (measured.denominator + 1)


def _checks(target: float, likely: float, delta: float) -> int | None:
    # Rounded up, so that labels share plans: one takes milliseconds, and a page has up to 255.
    steps = math.ceil(round(likely / target * _STEPS, 9))
    if steps > DEAREST * _STEPS:
        return None
    found = _plan(target, steps, delta)
    return None if found is None else max(found.n, math.ceil(start_mass(target, delta)))


@lru_cache(maxsize=4_096)
def _plan(target: float, steps: int, delta: float) -> AuditPlan | None:
    return plan_audits(target, target * steps / _STEPS, delta, POWER, sustained=True)


def _pooled(plans: Sequence[LabelPlan]) -> list[LabelPlan]:
    """With the weeks that rare labels of one target would take together, where there are several."""
    rare: dict[float, list[LabelPlan]] = defaultdict(list)
    for each in plans:
        if each.is_rare:
            rare[each.rule.target_error].append(each)
    weeks = {
        target: max(each.checks or 0 for each in group) / sum(each.per_week for each in group)
        for target, group in rare.items()
        if len(group) > 1
    }
    return [
        replace(each, together=weeks.get(each.rule.target_error)) if each.is_rare else each for each in plans
    ]


def _is_large_step(rules: Rules, audit_rate: float) -> bool:
    acting = {rule.autonomy for rule in rules.labels.values() if rule.autonomy.may_act}
    rates = {"audited": rules.audit_rate, "automatic": rules.automatic_audit_rate}
    now = [max(AUDIT_FLOOR, rates[each.value]) for each in acting]
    return any(max(each, audit_rate) > LARGEST_STEP * min(each, audit_rate) for each in now)


def _weeks(first_day: date | None, workflow: Workflow, now: datetime) -> float:
    first, today = window_days(workflow, now, WINDOW_WEEKS)
    return ((today - max(first, first_day or first)).days + 1) / 7


_SEEN = """
SELECT label, sum(items), min(day),
       coalesce(sum(wrong / pi) FILTER (WHERE answered > 0), 0),
       coalesce(sum(answered / pi) FILTER (WHERE answered > 0), 0),
       coalesce(sum(answered / (pi * pi)) FILTER (WHERE answered > 0), 0)
FROM calibration_daycount
JOIN unnest(%(labels)s::text[], %(bins)s::int[]) AS wished (name, least) ON wished.name = label AND bin >= wished.least
WHERE workflow_id = %(workflow)s AND day BETWEEN %(start_on)s AND %(today)s AND question_set_id = %(question_set)s
    AND model = %(model)s AND policy_id = ANY(%(policies)s) AND is_open AND items > 0
GROUP BY label
"""


def _seen(basis: Basis, rules: Mapping[str, LabelRule]) -> tuple[dict[str, Seen], date | None]:
    refresh(basis.workflow)
    values: dict[str, Any] = {
        "labels": list(rules),
        "bins": [int(grid_bin(rule.threshold)) for rule in rules.values()],
        "workflow": basis.workflow.pk,
        "start_on": basis.start_on,
        "today": window_days(basis.workflow, basis.now, WINDOW_WEEKS)[1],
        "question_set": basis.question.question_set_id,
        "model": basis.model,
        "policies": list(basis.policies),
    }
    with connection.cursor() as cursor:
        cursor.execute(_SEEN, values)
        rows = cursor.fetchall()
    seen = {row[0]: Seen(int(row[1]), _weighted(*map(float, row[3:]))) for row in rows}
    return seen, min((row[2] for row in rows), default=None)


def _weighted(wrong: float, weights: float, squares: float) -> Rate:
    """`stats.sampling.weighted_rate` of sums: of 1 / pi over the wrong and all answered, and of its square."""
    if not weights:
        return unknown()
    n_eff = weights**2 / squares
    return rate(min(wrong / weights, 1.0) * n_eff, n_eff)
