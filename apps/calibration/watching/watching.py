"""The alarms that decide: a broken target, a changed model, changed questions (recalibration.md section 5.3).

What they decide is always that people look: a label goes back to them at once, and nobody is asked.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db import transaction

from apps.calibration.certs import end_certificate, in_force_under
from apps.calibration.models import Certificate, Incident
from apps.calibration.watching.audit_stream import (
    VOLUME,
    Acting,
    Check,
    Stream,
    automatic_volumes,
    last_reset,
    read_stream,
)
from apps.calibration.watching.changes import watch_changes
from apps.calibration.watching.demotion import demote
from apps.calibration.watching.doubling import doubling_for, end_doublings
from apps.calibration.watching.incidents import Finding, open_incident
from apps.calibration.watching.warnings import watch_warnings
from apps.core.errors import InvalidInput
from apps.policies.models import Policy
from apps.policies.readable import isolated, share
from apps.routing.types import Autonomy
from apps.stats.alarms import ALARM_AT, TargetAlarm
from apps.stats.rates import Rate
from apps.stats.sampling import weighted_rate
from apps.workflows.locking import lock_workflow
from apps.workflows.models import Workflow

MOST_ALARMS = 200
"""In one round; what is left is found by the next."""


@dataclass(frozen=True, slots=True)
class Standing:
    """Where a target's alarm stands after `checks` answered checks. `raised_at` is when it reached ALARM_AT first.

    `statistic` is the evidence then, else now: 1 at the start, about 1,000 checks to a false alarm at the target.
    """

    target: float
    statistic: float
    checks: int
    wrong: int
    error: Rate
    first_at: datetime | None
    raised_at: datetime | None


@dataclass(frozen=True, slots=True)
class _Verdict:
    """`label` None: the alarm of all labels together; `silent` are then those without checks of their own."""

    label: Acting | None
    standing: Standing
    silent: tuple[Acting, ...] = ()


def watch(*, workflow: Workflow, now: datetime) -> list[Incident]:
    """Everything that is watched, in the order that matters; the incidents opened now."""
    return [*watch_alarms(workflow=workflow, now=now), *watch_warnings(workflow=workflow, now=now)]


def watch_alarms(*, workflow: Workflow, now: datetime) -> list[Incident]:
    """The alarms alone: they only read checks, and may be asked every minute."""
    end_doublings(workflow=workflow, now=now)
    changed = watch_changes(workflow=workflow, now=now)
    opened = [] if changed is None else [changed]
    for _ in range(MOST_ALARMS):
        incident = _watch_targets(workflow, now)
        if incident is None:
            break
        opened.append(incident)
    return opened


def follow(checks: Sequence[Check], target: float, audit_rate: float) -> Standing:
    """The alarm over `checks`, in order, until it is raised; the largest weight that can occur is of the least rate."""
    smallest = min([audit_rate, *(check.pi for check in checks)])
    alarm = TargetAlarm(target) if 0 < target < 1 else None
    statistic, used, raised_at = 1.0, len(checks), None
    for number, check in enumerate(checks, start=1):
        if alarm is not None:
            alarm = alarm.after(float(check.wrong), smallest / check.pi)
            statistic = alarm.statistic
        elif target == 0 and check.wrong:
            # "Never" is broken by the first one.
            statistic = ALARM_AT
        if statistic >= ALARM_AT:
            used, raised_at = number, check.answered_at
            break
    seen = checks[:used]
    return Standing(
        target=target,
        statistic=statistic,
        checks=used,
        wrong=sum(check.wrong for check in seen),
        error=weighted_rate([1 / check.pi for check in seen], [check.wrong for check in seen]),
        first_at=seen[0].answered_at if seen else None,
        raised_at=raised_at,
    )


def _watch_targets(workflow: Workflow, now: datetime) -> Incident | None:
    stream = read_stream(workflow=workflow, now=now)
    if stream is None or _verdict(stream, now) is None:
        return None
    with transaction.atomic():
        lock_workflow(workflow)
        # Once more under the lock: another worker, or a manager, may have been first.
        stream = read_stream(workflow=workflow, now=now)
        verdict = None if stream is None else _verdict(stream, now)
        if stream is None or verdict is None:
            return None
        if verdict.label is not None:
            return _demote_label(stream, verdict.label, verdict.standing, now)
        return _demote_silent(stream, verdict, now)


def _verdict(stream: Stream, now: datetime) -> _Verdict | None:
    for each in stream.acting:
        standing = follow(stream.of(each.label), each.rule.target_error, each.audit_rate)
        if standing.raised_at is not None:
            return _Verdict(each, standing)
    return _verdict_of_all(stream, now)


def _verdict_of_all(stream: Stream, now: datetime) -> _Verdict | None:
    """Labels too rare for an alarm of their own, watched through all of them together."""
    workflow = stream.basis.workflow
    volumes = automatic_volumes(workflow, now)
    weights = {each.label: volumes.get(each.label, 0) for each in stream.acting}
    items = sum(weights.values())
    if len(stream.acting) < 2 or not items:
        return None
    target = sum(each.rule.target_error * weights[each.label] for each in stream.acting) / items
    since = last_reset(workflow, Incident.Kind.BROKEN_TARGET)
    checks = [check for check in stream.checks if check.answered_at > since]
    standing = follow(checks, target, min(each.audit_rate for each in stream.acting))
    if standing.raised_at is None:
        return None
    heard = {check.label for check in stream.checks if check.answered_at > now - VOLUME}
    return _Verdict(None, standing, tuple(each for each in stream.acting if each.label not in heard))


def _demote_label(stream: Stream, acting: Acting, standing: Standing, now: datetime) -> Incident | None:
    name = f"“{isolated(acting.name)}”"
    after, problem = _put_back(stream, [acting], f"Alarm: the target of {name} is broken.", now)
    _end_certificates(stream, [acting], now)
    consequence = f"{name} went back to people." if after else f"{name} could not be put back: {problem}"
    found = Finding(
        kind=Incident.Kind.BROKEN_TARGET,
        level=Incident.Level.ALARM,
        label=acting.label,
        name=acting.name,
        numbers=standing_numbers(standing, stream.basis.model) | {"threshold": acting.rule.threshold},
        sentence=f"{consequence} {standing_words(standing, 'accepted for it by itself')}",
    )
    return open_incident(
        workflow=stream.basis.workflow,
        found=found,
        now=now,
        policy_before=stream.policy,
        policy_after=after,
    )


def _demote_silent(stream: Stream, verdict: _Verdict, now: datetime) -> Incident | None:
    doubling = doubling_for(stream.policy, now)
    because = "Alarm: the targets of all labels together are broken."
    rates = None if doubling is None else doubling["after"]
    after, problem = _put_back(stream, verdict.silent, because, now, rates)
    _end_certificates(stream, verdict.silent, now)
    numbers = standing_numbers(verdict.standing, stream.basis.model) | {
        "demoted": [each.label for each in verdict.silent]
    }
    if doubling is not None and after is not None:
        numbers["doubled"] = doubling
    found = Finding(
        kind=Incident.Kind.BROKEN_TARGET,
        level=Incident.Level.ALARM,
        label="",
        name="",
        numbers=numbers,
        sentence=f"{standing_words(verdict.standing, 'accepted by itself, all labels together')} "
        + (
            _consequences(verdict.silent, doubling is not None)
            if after
            else f"Nothing was changed: {problem}"
        ),
    )
    return open_incident(
        workflow=stream.basis.workflow,
        found=found,
        now=now,
        policy_before=stream.policy,
        policy_after=after,
    )


def _put_back(
    stream: Stream,
    labels: Sequence[Acting],
    because: str,
    now: datetime,
    rates: dict[str, float] | None = None,
) -> tuple[Policy | None, str]:
    """The version in force afterwards; None and why where the rules no longer fit the questions."""
    try:
        after = demote(
            workflow=stream.basis.workflow,
            labels=[each.label for each in labels],
            because=because,
            now=now,
            to=Autonomy.SUGGEST,
            rates=rates,
        )
    except InvalidInput as error:
        return (
            None,
            f"the policy in force does not fit the questions any more ({error}). Activate one that does.",
        )
    return after, ""


def _end_certificates(stream: Stream, labels: Sequence[Acting], now: datetime) -> None:
    in_force = in_force_under(stream.basis)
    for each in labels:
        if each.label in in_force:
            end_certificate(in_force[each.label], Certificate.Ended.ALARM, now)


def standing_numbers(standing: Standing, model: str) -> dict[str, Any]:
    return {
        "target": standing.target,
        "checks": standing.checks,
        "wrong": standing.wrong,
        "error": standing.error.to_json(),
        "statistic": standing.statistic,
        "raised_from": ALARM_AT,
        "first_answer_at": standing.first_at.isoformat() if standing.first_at else None,
        "raised_by_answer_at": standing.raised_at.isoformat() if standing.raised_at else None,
        "model": model,
    }


def standing_words(standing: Standing, of: str) -> str:
    error = standing.error
    return (
        f"{standing.wrong:,} of {standing.checks:,} checks of what was {of} were decided otherwise: "
        f"{(error.value or 0) * 100:.1f} % (95% interval {(error.low or 0) * 100:.1f} % to "
        f"{(error.high or 0) * 100:.1f} %), where the target is {share(round(standing.target, 6))}."
    )


def _consequences(silent: Sequence[Acting], is_doubled: bool) -> str:
    names = ", ".join(f"“{isolated(each.name)}”" for each in silent)
    parts = [f"Without checks of their own in 4 weeks, and so back with people: {names}." if silent else ""]
    parts.append("The others are checked twice as often for 14 days." if is_doubled else "")
    return (
        " ".join(part for part in parts if part) or "Every label has checks of its own, at the doubled rate."
    )
