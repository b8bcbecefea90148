"""Another model answers, or other questions are asked: what was known of the answers before says nothing of these.

Labels that act by themselves and hold no certificate for what is in use now go to shadow: people answer without
seeing the model, until a certificate is issued.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.db import transaction

from apps.calibration.certs import end_changed, in_force_under
from apps.calibration.counting.evidence import Basis, basis_for
from apps.calibration.models import Certificate, Incident
from apps.calibration.watching.audit_stream import Acting, acting_labels, last_reset
from apps.calibration.watching.demotion import demote
from apps.calibration.watching.incidents import Finding, open_incident
from apps.core.errors import InvalidInput
from apps.items.models import Route
from apps.policies.models import Policy
from apps.policies.readable import isolated
from apps.policies.selectors import active_policy
from apps.routing.types import Autonomy
from apps.workflows.locking import lock_workflow
from apps.workflows.models import QuestionSet, Workflow

MODELS_SEEN = timedelta(days=1)
QUESTIONS_SEEN = timedelta(days=14)
"""How far back a change is looked for, for labels that act without a certificate that would name what it is for."""


@dataclass(frozen=True, slots=True)
class _Change:
    policy: Policy
    basis: Basis
    labels: tuple[Acting, ...]
    other_model: str | None
    other_questions: int | None


def watch_changes(*, workflow: Workflow, now: datetime) -> Incident | None:
    if _change(workflow, now) is None:
        return None
    with transaction.atomic():
        lock_workflow(workflow)
        change = _change(workflow, now)
        return None if change is None else _to_shadow(change, now)


def _change(workflow: Workflow, now: datetime) -> _Change | None:
    policy = active_policy(workflow)
    basis = basis_for(workflow=workflow, now=now, weeks=1)
    if policy is None or basis is None:
        return None
    known = in_force_under(basis)
    acting = [each for each in acting_labels(workflow, policy, basis) if each.label not in known]
    if not acting:
        return None
    since = last_reset(workflow, Incident.Kind.CHANGED)
    other_model, other_questions = _other_model(basis, since), _other_questions(basis, since)
    if other_model is None and other_questions is None:
        stale = _stale(basis, acting)
        if not stale:
            return None
        acting = [each for each in acting if each.label in stale]
        other_model, other_questions = next(iter(stale.values()))
    return _Change(policy, basis, tuple(acting), other_model, other_questions)


def _stale(basis: Basis, acting: Sequence[Acting]) -> dict[str, tuple[str | None, int | None]]:
    """Labels whose certificate is for another model or other questions: which ones."""
    certificates = Certificate.objects.filter(
        workflow=basis.workflow,
        outcome=Certificate.Outcome.CERTIFIED,
        ended_at=None,
        question__is_routing=True,
        label__in=[each.label for each in acting],
    ).select_related("question__question_set")
    found: dict[str, tuple[str | None, int | None]] = {}
    for each in certificates:
        model = each.model if each.model != basis.model else None
        questions = each.question.question_set
        version = questions.version if questions.pk != basis.question.question_set_id else None
        if model is not None or version is not None:
            found[each.label] = (model, version)
    return found


def _other_model(basis: Basis, since: datetime) -> str | None:
    routes = Route.objects.filter(
        workflow=basis.workflow,
        superseded_at=None,
        question_set=basis.question.question_set_id,
        decision__isnull=False,
        created_at__gt=max(since, basis.now - MODELS_SEEN),
        created_at__lte=basis.now,
    )
    other = routes.exclude(decision__model=basis.model).order_by("-created_at")
    return other.values_list("decision__model", flat=True).first()


def _other_questions(basis: Basis, since: datetime) -> int | None:
    """The version asked before, when the current one is new."""
    sets = QuestionSet.objects.filter(workflow=basis.workflow)
    current = sets.get(pk=basis.question.question_set_id)
    if current.created_at <= max(since, basis.now - QUESTIONS_SEEN):
        return None
    earlier = sets.filter(version__lt=current.version, first_used_at__isnull=False).order_by("-version")
    return earlier.values_list("version", flat=True).first()


def _to_shadow(change: _Change, now: datetime) -> Incident | None:
    workflow, basis = change.basis.workflow, change.basis
    what = " ".join(_words(change))
    try:
        after: Policy | None = demote(
            workflow=workflow,
            labels=[each.label for each in change.labels],
            because=what,
            now=now,
            to=Autonomy.SHADOW,
        )
        names = ", ".join(f"“{isolated(each.name)}”" for each in change.labels)
        consequence = f"Back with people, who answer without seeing the model’s, until certified: {names}."
    except InvalidInput as error:
        after = None
        consequence = f"The policy in force does not fit the questions any more and was not changed: {error}."
    end_changed(basis, now)
    questions = QuestionSet.objects.get(pk=basis.question.question_set_id)
    numbers: dict[str, Any] = {"demoted": [each.label for each in change.labels], "model": basis.model}
    if change.other_model is not None:
        numbers["model_before"] = change.other_model
    numbers["questions"] = questions.version
    if change.other_questions is not None:
        numbers["questions_before"] = change.other_questions
    found = Finding(
        kind=Incident.Kind.CHANGED,
        level=Incident.Level.ALARM,
        label="",
        name="",
        numbers=numbers,
        sentence=f"{what} {consequence}",
    )
    return open_incident(
        workflow=workflow, found=found, now=now, policy_before=change.policy, policy_after=after
    )


def _words(change: _Change) -> list[str]:
    said = []
    if change.other_model is not None:
        said.append(
            f"The model that answers is {isolated(change.basis.model)} now and was {isolated(change.other_model)}."
        )
    if change.other_questions is not None:
        said.append(
            f"The questions are another version than {change.other_questions}, which was asked before."
        )
    return said
