"""What is watched of a hold's two sides, as of labels (recalibration.md section 5.3).

A side that a certificate vouches for has an alarm: it ends that certificate, drops the answers of before, and has twice
as much checked for 14 days. The hold keeps its limits: they are a gate of every label, whose certificates would all
end with other ones, so a manager decides. Warnings tell, and never decide.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

import numpy as np
from django.db import connection, transaction

from apps.calibration.certs import end_certificate
from apps.calibration.counting.evidence import same_gates_but_one_hold
from apps.calibration.counting.sides import P_YES, SIDES, low_for
from apps.calibration.models import Certificate, Incident
from apps.calibration.sides import NAMES, TARGET, HoldInForce, holds_in_force, sides_relied_on
from apps.calibration.watching.audit_stream import Check, last_reset
from apps.calibration.watching.incidents import Finding
from apps.calibration.watching.warnings import (
    BASELINE,
    RECENT,
    override_shift,
    recent_error,
    spread_shift,
    warn,
)
from apps.calibration.watching.watching import Standing, follow, standing_numbers, standing_words
from apps.policies.readable import isolated, share
from apps.routing.types import Autonomy
from apps.workflows.locking import lock_workflow
from apps.workflows.models import Workflow

READ_BACK = timedelta(weeks=8)
"""A check answered after the certificate was issued may be of an item that came this long before."""
MOST_READ = 10_000
"""Of reviews and of items before and after, the newest: each has its wide row read."""


@dataclass(frozen=True, slots=True)
class Side:
    """One that a certificate vouches for; `threshold` on its probability, of what passes and is certified."""

    hold: HoldInForce
    side: str
    threshold: float
    certificate: Certificate

    @property
    def label(self) -> str:
        return f"{self.hold.question.key}:{self.side}"

    @property
    def name(self) -> str:
        return name_of(self.hold, self.side)


def name_of(hold: HoldInForce, side: str) -> str:
    return f"{hold.question.key}: {NAMES[side]}"


def watch_side_alarms(*, workflow: Workflow, now: datetime) -> list[Incident]:
    """The alarms raised now."""
    raised = [
        (side, standing)
        for hold in holds_in_force(workflow=workflow, now=now)
        for side in certified_sides(hold)
        if (standing := follow(checks_of(side, now), TARGET, _least_rate(hold))).raised_at is not None
    ]
    return [incident for each in raised if (incident := _raise(workflow, *each, now))]


def watch_side_warnings(*, workflow: Workflow, now: datetime) -> list[Incident]:
    """The warnings opened now; those that are open stay as they are."""
    found = [
        each
        for hold in holds_in_force(workflow=workflow, now=now)
        for each in (*_recent_errors(hold, now), *_shifts(workflow, hold, now))
    ]
    return [incident for each in found if (incident := warn(workflow, each, now))]


def certified_sides(hold: HoldInForce) -> list[Side]:
    limits = {"true": hold.high, "false": low_for(hold.low)}
    return [
        Side(hold, side, max(limits[side], min(certificate.certified)), certificate)
        for side, certificate in sides_relied_on(hold).items()
    ]


def _least_rate(hold: HoldInForce) -> float:
    """The smallest at which what passes can be checked: an item's label says by which."""
    rules = hold.policy.rules
    steps = {Autonomy(rule["autonomy"]) for rule in rules["labels"].values()}
    is_least = Autonomy.AUTOMATIC in steps
    return float(min(rules["audit_rate"], rules["automatic_audit_rate"]) if is_least else rules["audit_rate"])


@transaction.atomic
def _raise(workflow: Workflow, side: Side, standing: Standing, now: datetime) -> Incident | None:
    lock_workflow(workflow)
    if not end_certificate(side.certificate, Certificate.Ended.ALARM, now):
        return None
    low, high = share(side.hold.low), share(side.hold.high)
    found = Finding(
        kind=Incident.Kind.SIDE_BROKEN,
        level=Incident.Level.ALARM,
        label=side.label,
        name=side.name,
        numbers=standing_numbers(standing, side.hold.model)
        | {"question": side.hold.question.key, "side": side.side, "threshold": side.threshold},
        sentence=f"“{isolated(side.name)}” is no longer certified. {standing_words(standing, 'let pass on it')} The "
        f"hold still lets pass what is not between {low} and {high}: a manager can change its limits.",
        is_strong=True,
    )
    return warn(workflow, found, now)


# Of the question that holds; one of a conversation, the first that was answered.
_CHECKS = f"""
SELECT label.created_at, route.pi, label.value IS DISTINCT FROM %(side)s, item.group_key
FROM items_route route
JOIN items_decision decision ON decision.id = route.decision_id AND decision.model = %(model)s
CROSS JOIN LATERAL (SELECT decision.answers->%(key)s->'probabilities' AS pairs) answer
JOIN items_item item ON item.id = route.item_id
JOIN reviews_label label ON label.item_id = route.item_id AND label.question_id = %(question)s
    AND label.taken_back_at IS NULL AND label.source <> 'import' AND label.is_asked
WHERE route.workflow_id = %(workflow)s AND route.superseded_at IS NULL AND route.outcome = 'automatic'
    AND route.drawn AND route.pi > 0 AND route.question_set_id = %(question_set)s
    AND route.policy_id = ANY (%(policies)s) AND route.created_at >= %(routed_since)s
    AND label.created_at >= %(since)s AND label.created_at <= %(now)s
    AND CASE WHEN %(side)s = 'true' THEN {P_YES} >= %(threshold)s ELSE {P_YES} <= %(low)s END
ORDER BY label.created_at, label.id
"""  # noqa: S608 - put together from constants; what comes from outside are parameters


def checks_of(side: Side, now: datetime) -> list[Check]:
    """Of what passed on it, answered since its certificate, in order of answer."""
    since = side.certificate.issued_at
    values = {
        "side": side.side,
        "threshold": side.threshold,
        "low": low_for(side.threshold),
        "policies": list(same_gates_but_one_hold(side.hold.policy, side.hold.question.key)),
        "since": since,
        "routed_since": since - READ_BACK,
        "now": now,
    }
    groups: set[str] = set()
    checks = []
    for at, pi, wrong, group in _fetch(_CHECKS, side.hold, values):
        if not group or group not in groups:
            groups.add(group)
            checks.append(Check(at, side.label, pi, wrong))
    return checks


def _recent_errors(hold: HoldInForce, now: datetime) -> Iterator[Finding]:
    for side in certified_sides(hold):
        recent = [check for check in checks_of(side, now) if check.answered_at > now - RECENT]
        found = recent_error(Incident.Kind.SIDE_ERROR, side.label, side.name, TARGET, recent)
        if found is not None:
            yield found


def _shifts(workflow: Workflow, hold: HoldInForce, now: datetime) -> Iterator[Finding]:
    cut = now - RECENT
    begin = max(cut - BASELINE, last_reset(workflow, Incident.Kind.CHANGED))
    if begin >= cut:
        return
    values = {"begin": begin, "cut": cut, "now": now, "most": MOST_READ}
    for side in SIDES:
        found = override_shift(_fetch(_OVERRIDES, hold, values | {"side": side})[::-1])
        if found is not None:
            yield _override(hold, side, *found)
    mix = _mix(hold, values)
    if mix is not None:
        yield mix


# What the hold kept back, by what the model said was likelier.
_OVERRIDES = f"""
SELECT label.created_at > %(cut)s, label.value IS DISTINCT FROM %(side)s
FROM reviews_label label
JOIN items_route route ON route.item_id = label.item_id AND route.superseded_at IS NULL
    AND route.outcome = 'review' AND route.question_set_id = %(question_set)s
JOIN items_decision decision ON decision.id = route.decision_id
CROSS JOIN LATERAL (SELECT decision.answers->%(key)s->'probabilities' AS pairs) answer
WHERE label.workflow_id = %(workflow)s AND label.question_id = %(question)s AND label.taken_back_at IS NULL
    AND label.source <> 'import' AND label.is_asked AND label.created_at > %(begin)s AND label.created_at <= %(now)s
    AND ({P_YES} >= 0.5) = (%(side)s = 'true')
ORDER BY label.created_at DESC, label.id DESC LIMIT %(most)s
"""  # noqa: S608 - as above


def _override(hold: HoldInForce, side: str, numbers: dict[str, Any], said: str) -> Finding:
    name = name_of(hold, side)
    return Finding(
        kind=Incident.Kind.SIDE_OVERRIDES,
        level=Incident.Level.WARNING,
        label=f"{hold.question.key}:{side}",
        name=name,
        numbers=numbers,
        sentence=f"“{isolated(name)}”: people change more of what the model says: {said} It says nothing of automatic "
        "items.",
    )


_PROBABILITIES = f"""
SELECT {P_YES} FROM items_route route
JOIN items_decision decision ON decision.id = route.decision_id
CROSS JOIN LATERAL (SELECT decision.answers->%(key)s->'probabilities' AS pairs) answer
WHERE route.workflow_id = %(workflow)s AND route.superseded_at IS NULL AND route.question_set_id = %(question_set)s
    AND route.created_at > %(after)s AND route.created_at <= %(until)s AND answer.pairs IS NOT NULL
ORDER BY route.created_at DESC LIMIT %(most)s
"""  # noqa: S608 - as above


def _mix(hold: HoldInForce, values: dict[str, Any]) -> Finding | None:
    """P(yes) of all items tells of both sides."""
    old, new = (
        np.array([row[0] for row in _fetch(_PROBABILITIES, hold, values | within)], np.float64)
        for within in (
            {"after": values["begin"], "until": values["cut"]},
            {"after": values["cut"], "until": values["now"]},
        )
    )
    found = spread_shift(old, new)
    if found is None:
        return None
    numbers, said, is_strong = found
    key = hold.question.key
    return Finding(
        kind=Incident.Kind.SIDE_MIX,
        level=Incident.Level.WARNING,
        label=key,
        name=key,
        numbers=numbers,
        sentence=f"“{isolated(key)}”: the probabilities of yes are spread otherwise than before: {said}",
        is_strong=is_strong,
    )


def _fetch(sql: str, hold: HoldInForce, values: dict[str, Any]) -> list[tuple[Any, ...]]:
    common: dict[str, Any] = {
        "workflow": hold.policy.workflow_id,
        "model": hold.model,
        "key": hold.question.key,
        "question": hold.question.pk,
        "question_set": hold.question.question_set_id,
    }
    with connection.cursor() as cursor:
        cursor.execute(sql, common | values)
        rows: list[tuple[Any, ...]] = cursor.fetchall()
        return rows
