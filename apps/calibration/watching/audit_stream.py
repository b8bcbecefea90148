"""Answered checks of what labels did by themselves, in order of answer: what the alarms follow.

Read from the rows each time, so that an answer that was taken back is out, and nothing drifts from the truth.
Counted as in `evidence`: routes in force, of the same model, questions and gates, at or above the threshold in
force, one of a group (the first that was answered: which one must not depend on what comes later). A check
without an answer, or with "cannot tell", is no answer and not in here.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from django.db import connection
from django.db.models import Count, Max

from apps.calibration.certs import in_force_under
from apps.calibration.counting.evidence import Basis, basis_for
from apps.calibration.models import Incident
from apps.items.models import Route
from apps.policies.models import Policy
from apps.policies.rules import to_rules
from apps.policies.selectors import active_policy
from apps.routing.types import Autonomy, LabelRule
from apps.workflows.models import Workflow
from apps.workflows.selectors import current_question_set

EVER = datetime(1970, 1, 1, tzinfo=UTC)
VOLUME = timedelta(weeks=4)
_DEMOTING = (
    Incident.Kind.BROKEN_TARGET,
    Incident.Kind.EXPIRED,
    Incident.Kind.CHANGED,
    Incident.Kind.ANCHORED,
)


@dataclass(frozen=True, slots=True)
class Acting:
    """A label that may act by itself. Its checks count from `answered_since`, of items routed from `routed_since`.

    `audit_rate` is the one in force for it.
    """

    label: str
    name: str
    rule: LabelRule
    audit_rate: float
    answered_since: datetime
    routed_since: datetime


@dataclass(frozen=True, slots=True)
class Check:
    answered_at: datetime
    label: str
    pi: float
    wrong: bool


@dataclass(frozen=True, slots=True)
class Stream:
    """What a workflow's labels did by themselves since each of them started, with the policy in force."""

    policy: Policy
    basis: Basis
    acting: tuple[Acting, ...]
    checks: tuple[Check, ...]

    def of(self, label: str) -> list[Check]:
        return [check for check in self.checks if check.label == label]


def acting_labels(workflow: Workflow, policy: Policy, basis: Basis | None) -> tuple[Acting, ...]:
    """Those that may act by themselves under `policy`.

    A label starts anew with its certificate, and with an incident that took its autonomy away.
    """
    questions = current_question_set(workflow)
    names = next(each.option_names for each in questions.questions.all() if each.is_routing)
    rules = to_rules(policy.rules, questions)
    certificates = {} if basis is None else in_force_under(basis)
    resets = _resets(workflow)
    acting = []
    for label, rule in rules.labels.items():
        if rule.autonomy.may_act and label in names and label != rules.none_of_these:
            reset = max((at for labels, at in resets if label in labels), default=EVER)
            is_automatic = rule.autonomy is Autonomy.AUTOMATIC
            audit_rate = rules.automatic_audit_rate if is_automatic else rules.audit_rate
            certificate = certificates.get(label)
            since = reset if certificate is None else max(certificate.issued_at, reset)
            acting.append(Acting(label, names[label], rule, audit_rate, since, reset))
    return tuple(acting)


def _resets(workflow: Workflow) -> list[tuple[list[str], datetime]]:
    """Which labels went back to people by themselves, and when."""
    incidents = Incident.objects.filter(workflow=workflow, level=Incident.Level.ALARM, kind__in=_DEMOTING)
    return [
        ([label, *numbers.get("demoted", [])], at)
        for label, numbers, at in incidents.values_list("label", "numbers", "opened_at")
    ]


def read_stream(*, workflow: Workflow, now: datetime) -> Stream | None:
    """None while nothing may act by itself, or nothing was answered by a model yet."""
    policy = active_policy(workflow)
    basis = basis_for(workflow=workflow, now=now, weeks=1)
    if policy is None or basis is None:
        return None
    acting = acting_labels(workflow, policy, basis)
    if not acting:
        return None
    return Stream(policy, basis, acting, tuple(_checks(basis, acting)))


_CHECKS = """
SELECT label.created_at, route.label, route.pi, label.value IS DISTINCT FROM route.label, item.group_key
FROM items_route route
JOIN unnest(%(labels)s::text[], %(thresholds)s::float8[], %(answered)s::timestamptz[], %(routed)s::timestamptz[])
    AS acting (label, threshold, answered_since, routed_since) ON acting.label = route.label
JOIN items_item item ON item.id = route.item_id
JOIN items_decision decision ON decision.id = route.decision_id AND decision.model = %(model)s
JOIN reviews_label label ON label.item_id = route.item_id AND label.question_id = %(question)s
    AND label.taken_back_at IS NULL AND label.source <> 'import' AND label.is_asked
WHERE route.workflow_id = %(workflow)s AND route.superseded_at IS NULL AND route.outcome = 'automatic'
    AND route.drawn AND route.pi > 0 AND route.open_but_threshold AND route.p >= acting.threshold
    AND route.question_set_id = %(question_set)s AND route.policy_id = ANY(%(policies)s)
    AND route.created_at >= %(earliest)s AND route.created_at >= acting.routed_since
    AND label.created_at >= acting.answered_since AND label.created_at <= %(now)s
ORDER BY label.created_at, label.id
"""


def _checks(basis: Basis, acting: Sequence[Acting]) -> list[Check]:
    values: dict[str, Any] = {
        "labels": [each.label for each in acting],
        "thresholds": [each.rule.threshold for each in acting],
        "answered": [each.answered_since for each in acting],
        "routed": [each.routed_since for each in acting],
        "earliest": min(each.routed_since for each in acting),
        "workflow": basis.workflow.pk,
        "model": basis.model,
        "question": basis.question.pk,
        "question_set": basis.question.question_set_id,
        "policies": list(basis.policies),
        "now": basis.now,
    }
    with connection.cursor() as cursor:
        cursor.execute(_CHECKS, values)
        rows = cursor.fetchall()
    groups: set[str] = set()
    checks = []
    for at, label, pi, wrong, group in rows:
        if group and group in groups:
            continue
        groups.add(group)
        checks.append(Check(at, label, pi, wrong))
    return checks


def automatic_volumes(workflow: Workflow, now: datetime) -> dict[str, int]:
    """Items a label accepted by itself in the last 4 weeks, checked or not."""
    routes = Route.objects.filter(
        workflow=workflow,
        superseded_at=None,
        outcome=Route.Outcome.AUTOMATIC,
        created_at__gt=now - VOLUME,
        created_at__lte=now,
    )
    return dict(routes.exclude(label=None).values_list("label").annotate(items=Count("id")).order_by())


def last_reset(workflow: Workflow, kind: Incident.Kind) -> datetime:
    """When the newest alarm of this kind for the whole workflow was raised; `EVER` without one."""
    found = Incident.objects.filter(workflow=workflow, kind=kind, label="", level=Incident.Level.ALARM)
    newest: datetime | None = found.aggregate(newest=Max("opened_at"))["newest"]
    return newest or EVER
