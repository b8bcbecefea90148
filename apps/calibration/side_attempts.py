"""What was tried for the sides of a yes-no question's hold, and which certificate each side may rely on."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from django.db.models import QuerySet

from apps.calibration.attempts import Attempts
from apps.calibration.counting.evidence import same_gates_but_one_hold
from apps.calibration.models import Certificate
from apps.policies.models import Policy
from apps.workflows.models import Question


def attempts_by_side(question: Question, model: str, policies: Collection[int]) -> dict[str, Attempts]:
    """Both sides. An alarm resets; so does another model, question version or other gate, as what was tried then is not
    among these."""
    found = {"true": Attempts(), "false": Attempts()}
    broken = Certificate.objects.filter(question=question, ended_because=Certificate.Ended.ALARM)
    for side, at in broken.order_by("ended_at").values_list("label", "ended_at"):
        found[side] = Attempts(reset_at=at)
    tried = Certificate.objects.filter(question=question, model=model, run__policy__in=policies)
    for side, issued_at in tried.order_by("issued_at", "id").values_list("label", "issued_at"):
        before = found[side]
        if before.reset_at is None or issued_at > before.reset_at:
            found[side] = replace(before, made=before.made + 1, last_at=issued_at)
    return found


def sides_in_force(question: Question, model: str, policy: Policy) -> dict[str, Certificate]:
    """By side: not ended, and of the model, the question and the other gates of this policy."""
    policies = same_gates_but_one_hold(policy, question.key)
    relied_on = relied_on_for_sides(question).filter(model=model, run__policy__in=policies)
    return {certificate.label: certificate for certificate in relied_on}


def relied_on_for_sides(question: Question) -> QuerySet[Certificate]:
    """Every one that nobody has ended, of other models and gates too."""
    return Certificate.objects.filter(
        question=question, outcome=Certificate.Outcome.CERTIFIED, ended_at=None
    ).select_related("run")
