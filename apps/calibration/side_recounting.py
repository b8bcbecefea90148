"""Certificates of a hold's sides that counted visible reviews, as `recounting` has those of labels.

One that does not hold whole without them ends; the side is tried again on blind answers when that is due. The hold
keeps its limits, which are a manager's to change.
"""

from __future__ import annotations

from datetime import date, datetime

from apps.calibration.certs import end_certificate
from apps.calibration.computing import Json, compute
from apps.calibration.counting.counts import WINDOW_WEEKS
from apps.calibration.counting.evidence import same_gates_but_one_hold, window_days
from apps.calibration.counting.judged import Stretch
from apps.calibration.counting.people_agree import following
from apps.calibration.counting.sides import SideBasis, count_sides
from apps.calibration.models import Certificate, Incident
from apps.calibration.recounting import (
    counted_visible,
    entry_of,
    following_numbers,
    following_words,
    recounted_entry,
    still_certified,
)
from apps.calibration.side_attempts import sides_in_force
from apps.calibration.sides import NAMES, HoldInForce, holds_in_force
from apps.calibration.watching.incidents import Finding, open_incident
from apps.policies.readable import isolated
from apps.stats.anchoring import Anchoring
from apps.workflows.models import Workflow


def recount_sides(*, workflow: Workflow, now: datetime) -> list[Incident]:
    """An incident for each hold of which a certificate ended."""
    found = (_recount(hold, now) for hold in holds_in_force(workflow=workflow, now=now))
    return [incident for incident in found if incident is not None]


def _recount(hold: HoldInForce, now: datetime) -> Incident | None:
    held = sides_in_force(hold.question, hold.model, hold.policy).values()
    resting = [each for each in held if counted_visible(entry_of(each, _counted(hold, each)["labels"]))]
    if not resting:
        return None
    window = window_days(hold.policy.workflow, now, WINDOW_WEEKS)
    found = following(Stretch(hold.policy.workflow, hold.question, hold.model, *window)).anchoring
    fallen = [each for each in resting if not _stands(hold, each)] if found.flagged else []
    for certificate in fallen:
        end_certificate(certificate, Certificate.Ended.RECOUNTED, now)
    return _tell(hold, fallen, found, now) if fallen else None


def _counted(hold: HoldInForce, certificate: Certificate) -> Json:
    holds: list[Json] = certificate.run.inputs["holds"]
    return next(each for each in holds if each["question"] == hold.question.key)


def _stands(hold: HoldInForce, certificate: Certificate) -> bool:
    """Of the days of its own run, at what its attempt spent."""
    kept = _counted(hold, certificate)
    entry = entry_of(certificate, kept["labels"])
    basis = SideBasis(
        workflow=hold.policy.workflow,
        question=hold.question,
        model=hold.model,
        policies=same_gates_but_one_hold(hold.policy, hold.question.key),
        start_on=date.fromisoformat(entry["start_on"]),
        since={},
        now=certificate.run.created_at,
        is_blind_only=True,
    )
    end_on = date.fromisoformat(certificate.run.inputs["window"]["end_on"])
    again = recounted_entry(entry, count_sides(basis)[certificate.label], end_on)
    (result,) = compute({"labels": [again], "settings": kept["settings"]})
    return still_certified(certificate, result) == certificate.certified


def _tell(hold: HoldInForce, fallen: list[Certificate], found: Anchoring, now: datetime) -> Incident | None:
    key = hold.question.key
    sides = " and ".join(f"“{isolated(f'{key}: {NAMES[each.label]}')}”" for each in fallen)
    return open_incident(
        workflow=hold.policy.workflow,
        found=Finding(
            kind=Incident.Kind.SIDE_ANCHORED,
            level=Incident.Level.ALARM,
            label=key,
            name=key,
            numbers=following_numbers(found) | {"withdrawn": [each.pk for each in fallen]},
            sentence=f"{following_words(found)} Counted again without the visible ones, {sides} is not certified any "
            "more. The hold keeps its limits: a manager can change them.",
        ),
        now=now,
        policy_before=hold.policy,
        policy_after=hold.policy,
    )
