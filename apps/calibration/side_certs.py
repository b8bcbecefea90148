"""Certificates for both sides of a hold, kept with the run they were tried in, and limits proposed from them.

Nothing here takes effect by itself. A hold is a gate of every label: other limits let other items through, so what
certificates of labels rest on starts over, and a manager decides whether that is worth it.
"""

from __future__ import annotations

from collections.abc import Sequence
from copy import deepcopy
from datetime import datetime
from typing import Any

from django.db import transaction

from apps.accounts.models import User
from apps.calibration.certs import end_certificate, promises_enough
from apps.calibration.computing import Json, compute
from apps.calibration.models import CalibrationRun, Certificate
from apps.calibration.side_attempts import relied_on_for_sides, sides_in_force
from apps.calibration.sides import HoldInForce, HoldLook, holds_in_force, limits_from, sides_relied_on
from apps.core.errors import Conflict
from apps.policies.models import Policy
from apps.policies.readable import isolated, share
from apps.policies.services import create_draft, propose
from apps.workflows.models import Workflow


def sides_entry(holds: Sequence[HoldLook]) -> list[Json]:
    """What `CalibrationRun.inputs["holds"]` keeps of a look: enough to compute its results again."""
    return [
        {
            "question": each.hold.question.key,
            "settings": each.hold.settings,
            "following": each.following,
            "labels": list(each.entries),
        }
        for each in holds
    ]


def recompute_sides(run: CalibrationRun) -> list[tuple[Certificate, Json]]:
    """The run's attempts for sides, each with its result computed again from the run's inputs. Raises Conflict for a
    formula this version does not have."""
    again = {
        (each["question"], result["label"]): result
        for each in run.inputs.get("holds", [])
        for result in compute(each, run.formula)
    }
    tried = run.certificates.filter(question__is_routing=False).select_related("question").order_by("pk")
    return [(each, again[each.question.key, each.label]) for each in tried]


def certify_sides(
    *, run: CalibrationRun, holds: Sequence[HoldLook], valid_until: datetime, now: datetime
) -> list[Certificate]:
    """Stores the attempts of sides that were due and could pass; those relied on from now.

    A certificate in force that reaches further than a new one stays until it runs out, as a label's does.
    """
    return [
        certificate
        for found in holds
        for entry, result in zip(found.entries, found.results, strict=True)
        if result["is_attempt"]
        and (certificate := _certify(run, found.hold, entry, result, valid_until, now)).ended_at is None
        and certificate.certified
    ]


def end_sides(holds: Sequence[HoldLook], now: datetime) -> None:
    """Ends what has run out, and what speaks of another model or other gates."""
    for found in holds:
        hold = found.hold
        stay = {each.pk for each in sides_in_force(hold.question, hold.model, hold.policy).values()}
        for certificate in relied_on_for_sides(hold.question):
            if certificate.pk not in stay:
                end_certificate(certificate, Certificate.Ended.CHANGED, now)
            elif certificate.expires_at is not None and certificate.expires_at <= now:
                end_certificate(certificate, Certificate.Ended.EXPIRED, now)


def _certify(
    run: CalibrationRun, hold: HoldInForce, entry: Json, result: Json, valid_until: datetime, now: datetime
) -> Certificate:
    new = Certificate(
        run=run,
        workflow_id=run.workflow_id,
        question=hold.question,
        label=entry["label"],
        model=hold.model,
        outcome=result["outcome"],
        target_error=entry["target_error"],
        confidence=hold.settings["confidence"],
        attempt=entry["attempt"],
        delta=entry["delta"],
        certified=result["certified"],
        steps=result["steps"],
        sentence=result["sentence"],
        issued_at=now,
        expires_at=valid_until if result["certified"] else None,
    )
    held = sides_in_force(hold.question, hold.model, hold.policy).get(entry["label"])
    if new.certified and held is not None:
        if promises_enough(held, entry) and min(held.certified) < min(new.certified):
            new.ended_at, new.ended_because = now, Certificate.Ended.HELD
        else:
            end_certificate(held, Certificate.Ended.RENEWED, now)
    new.save()
    return new


@transaction.atomic
def propose_limits(*, workflow: Workflow, question: str, user: User, now: datetime) -> Policy:
    """A proposal of the policy in force with the limits that certificates allow for this question's hold.

    Raises Conflict where there is no such hold, no certificate in force for it, or nothing to change.
    """
    found = next(
        (each for each in holds_in_force(workflow=workflow, now=now) if each.question.key == question), None
    )
    if found is None:
        raise Conflict("The policy in force has no hold on that question.")
    if not sides_relied_on(found):
        raise Conflict("No side of it is certified.")
    low, high = limits_from(found)
    if (low, high) == (found.low, found.high):
        raise Conflict("The policy in force has these limits already.")
    draft = create_draft(
        workflow=workflow,
        rules=_with_limits(found.policy.rules, question, low, high),
        based_on=found.policy,
        user=user,
        note=f"{isolated(question)}: in doubt between {share(low)} and {share(high)}, as its certificates allow.",
    )
    return propose(policy=draft)


def _with_limits(rules: dict[str, Any], question: str, low: float, high: float) -> dict[str, Any]:
    changed = deepcopy(rules)
    for hold in changed["holds"]:
        if hold["question"] == question:
            hold["low"], hold["high"] = low, high
    return changed
