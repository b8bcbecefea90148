"""Labels that a policy version lets act by themselves without a certificate that covers it.

Shown where a version is in force, is to be activated or to be gone back to: an alarm's work is never undone unseen.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from apps.calibration.certs import promises_enough, settings_of
from apps.calibration.counting.evidence import changed_gates, model_in_use
from apps.calibration.looking import refusal, risk_of_a_label
from apps.calibration.models import Certificate, Incident
from apps.policies.models import Policy
from apps.policies.readable import share
from apps.policies.rules import to_rules
from apps.routing.types import LabelRule
from apps.stats.spending import attempt_delta
from apps.workflows.models import QuestionSet, Workflow
from apps.workflows.selectors import current_question_set


@dataclass(frozen=True, slots=True)
class Uncertified:
    """`put_back` is the alarm after which nothing was certified, None where there was none. `why` is said after the
    label's name and threshold."""

    name: str
    threshold: str
    why: str
    put_back: Incident | None


def uncertified(workflow: Workflow, version: Policy) -> list[Uncertified]:
    """In the order of the policy; [] where the version no longer fits the questions, which then hold every item."""
    questions = current_question_set(workflow)
    names = _names(questions)
    rules = to_rules(version.rules, questions)
    acting = {
        label: rule
        for label, rule in rules.labels.items()
        if rule.autonomy.may_act and label in names and label != rules.none_of_these
    }
    if not acting:
        return []
    promised = sum(not refusal(label, rule, rules.none_of_these) for label, rule in rules.labels.items())
    risk = attempt_delta(risk_of_a_label(settings_of(workflow), promised), 1)
    certificates, alarms = _certificates(workflow, version), _newest_alarms(workflow)
    found = []
    for label, rule in acting.items():
        why = _why(rule, certificates.get(label), risk)
        if why:
            alarm = alarms.get(label) if label not in certificates else None
            found.append(Uncertified(names[label], share(rule.threshold), why, alarm))
    return found


def _why(rule: LabelRule, certificate: Certificate | None, risk: float) -> str:
    if certificate is None:
        return "without a certificate"
    if not promises_enough(certificate, {"target_error": rule.target_error, "delta": risk, "attempt": 1}):
        return f"with a certificate for less than its target of {share(rule.target_error)} asks"
    if rule.threshold not in certificate.certified:
        return "where its certificate does not reach"
    return ""


def _certificates(workflow: Workflow, version: Policy) -> dict[str, Certificate]:
    """What would count under `version`: of the model and the questions in use, and of its gates."""
    held = Certificate.objects.filter(
        workflow=workflow,
        question__is_routing=True,
        question__question_set__is_current=True,
        model=model_in_use(workflow) or "",
        outcome=Certificate.Outcome.CERTIFIED,
        ended_at=None,
    ).select_related("run__policy")
    same: dict[int, bool] = {}
    for each in held:
        policy = each.run.policy
        if policy.pk not in same:
            same[policy.pk] = not changed_gates(policy, version)
    return {each.label: each for each in held if same[each.run.policy_id]}


def _newest_alarms(workflow: Workflow) -> Mapping[str, Incident]:
    alarms = Incident.objects.filter(
        workflow=workflow,
        level=Incident.Level.ALARM,
        kind__in=(Incident.Kind.BROKEN_TARGET, Incident.Kind.EXPIRED, Incident.Kind.CHANGED),
    )
    return {
        label: alarm
        for alarm in alarms.order_by("opened_at", "id")
        for label in ([alarm.label] if alarm.label else alarm.numbers.get("demoted", []))
    }


def _names(questions: QuestionSet) -> dict[str, str]:
    return next((each.option_names for each in questions.questions.all() if each.is_routing), {})
