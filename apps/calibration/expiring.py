"""Certificates run out: twelve weeks after issue, or when hardly anybody checks what the label does by itself."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db import transaction
from django.db.models import Exists, OuterRef, QuerySet

from apps.calibration.certs import certificates_in_force, end_certificate, has_run_out
from apps.calibration.models import Certificate, Incident
from apps.calibration.watching.demotion import demote
from apps.calibration.watching.incidents import Finding, open_incident
from apps.core.errors import InvalidInput
from apps.items.models import Route
from apps.policies.models import Policy
from apps.policies.readable import isolated
from apps.policies.selectors import active_policy
from apps.reviews.models import Label
from apps.routing.types import Autonomy
from apps.workflows.locking import lock_workflow
from apps.workflows.models import Workflow

CHECKED_WITHIN = timedelta(weeks=4)
LEAST_CHECKS = 20


@dataclass(frozen=True, slots=True)
class _Expiry:
    certificate: Certificate
    name: str
    checks: int | None
    acts: bool

    @property
    def sentence(self) -> str:
        name = isolated(self.name)
        if self.checks is None:
            why = "its certificate is twelve weeks old and was not renewed"
        else:
            why = f"{self.checks} of what it did by itself in the last 4 weeks were checked, {LEAST_CHECKS} are needed"
        return f"“{name}” goes back to people: {why}."


@transaction.atomic
def expire(*, workflow: Workflow, now: datetime) -> list[Certificate]:
    """Ends what has run out, and puts its labels that act back to `suggest`; an incident for each of those."""
    lock_workflow(workflow)
    policy = active_policy(workflow)
    if policy is None:
        return []
    over = [
        expiry
        for certificate in certificates_in_force(workflow).values()
        if (expiry := _expiry(policy, certificate, now))
    ]
    for expiry in over:
        end_certificate(expiry.certificate, Certificate.Ended.EXPIRED, now)
    _back_to_people(workflow, policy, [expiry for expiry in over if expiry.acts], now)
    return [expiry.certificate for expiry in over]


def _expiry(policy: Policy, certificate: Certificate, now: datetime) -> _Expiry | None:
    rule = policy.rules["labels"].get(certificate.label)
    acts = rule is not None and Autonomy(rule["autonomy"]).may_act
    name = certificate.question.option_names[certificate.label]
    if has_run_out(certificate, now):
        return _Expiry(certificate, name, None, acts)
    if not acts or not _acted_before(certificate, now - CHECKED_WITHIN):
        return None
    checks = _checked(certificate, now).count()
    return _Expiry(certificate, name, checks, acts) if checks < LEAST_CHECKS else None


def _acted(certificate: Certificate) -> QuerySet[Route]:
    return Route.objects.filter(
        workflow=certificate.workflow_id,
        label=certificate.label,
        question_set=certificate.question.question_set_id,
        outcome=Route.Outcome.AUTOMATIC,
        superseded_at=None,
    )


def _acted_before(certificate: Certificate, at: datetime) -> bool:
    """Whether it was relied on by then: before that there was nothing to check."""
    return _acted(certificate).filter(created_at__gte=certificate.issued_at, created_at__lte=at).exists()


def _checked(certificate: Certificate, now: datetime) -> QuerySet[Route]:
    answers = Label.objects.filter(
        item=OuterRef("item"), question=certificate.question_id, is_asked=True, taken_back_at=None
    ).exclude(source="import")
    return _acted(certificate).filter(
        Exists(answers), drawn=True, created_at__gt=now - CHECKED_WITHIN, created_at__lte=now
    )


def _back_to_people(workflow: Workflow, policy: Policy, over: list[_Expiry], now: datetime) -> None:
    if not over:
        return
    after: Policy | None = None
    trouble = ""
    try:
        after = demote(
            workflow=workflow,
            labels=[expiry.certificate.label for expiry in over],
            because=" ".join(expiry.sentence for expiry in over),
            now=now,
        )
    except InvalidInput as error:
        trouble = f" The policy in force does not fit the questions any more and was not changed: {error}."
    for expiry in over:
        found = Finding(
            kind=Incident.Kind.EXPIRED,
            level=Incident.Level.ALARM,
            label=expiry.certificate.label,
            name=expiry.name,
            numbers=_numbers(expiry),
            sentence=expiry.sentence + trouble,
        )
        open_incident(workflow=workflow, found=found, now=now, policy_before=policy, policy_after=after)


def _numbers(expiry: _Expiry) -> dict[str, object]:
    certificate = expiry.certificate
    numbers: dict[str, object] = {
        "certificate": certificate.pk,
        "issued_at": certificate.issued_at.isoformat(),
    }
    if expiry.checks is not None:
        numbers |= {"checks": expiry.checks, "needed": LEAST_CHECKS}
    return numbers
