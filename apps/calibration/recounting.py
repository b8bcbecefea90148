"""Certificates that counted visible reviews, once reviewers turn out to follow the model: counted again without them.

Visible answers of such a queue certify nothing (recalibration.md section 1.6), also those that a certificate in force
was issued on. Its own window is counted again, blind reviews and checks only, at what its attempt spent: it keeps the
values that pass both times, so the promise holds and nothing more is spent.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from itertools import groupby

from apps.calibration.certs import end_certificate, in_force_under
from apps.calibration.computing import Json, compute
from apps.calibration.counting.blind_reviews import following_between
from apps.calibration.counting.counts import WINDOW_WEEKS, LabelCounts, count_labels
from apps.calibration.counting.evidence import basis_for, window_days
from apps.calibration.looking import counts_entry, following_entry
from apps.calibration.models import CalibrationRun, Certificate
from apps.policies.models import Policy
from apps.policies.selectors import active_policy
from apps.stats.anchoring import Anchoring
from apps.stats.certificates import FORMULA_VERSION
from apps.workflows.models import Workflow


@dataclass(frozen=True, slots=True)
class Recounted:
    """`withdrawn` are the certificates that ended; those in `narrowed` took the place of some with what is left."""

    following: Anchoring
    withdrawn: tuple[Certificate, ...]
    narrowed: tuple[Certificate, ...]


def recount_visible(*, workflow: Workflow, now: datetime) -> Recounted | None:
    """Ends or narrows what does not hold without visible reviews. None where everything stands.

    Each run whose certificates fall is counted again in a run of its own, which keeps all that was counted.
    """
    basis, policy = basis_for(workflow=workflow, now=now, weeks=WINDOW_WEEKS), active_policy(workflow)
    if basis is None or policy is None:
        return None
    resting = [each for each in in_force_under(basis).values() if _counted_visible(each)]
    if not resting:
        return None
    following = following_between(workflow, *window_days(workflow, now, WINDOW_WEEKS))
    if not following.flagged:
        return None
    withdrawn: list[Certificate] = []
    narrowed: list[Certificate] = []
    for original, mine in groupby(sorted(resting, key=lambda each: each.run_id), key=lambda each: each.run):
        fallen, left = _recount(original, list(mine), policy, following, now)
        withdrawn += fallen
        narrowed += left
    return Recounted(following, tuple(withdrawn), tuple(narrowed)) if withdrawn else None


def entry_of(certificate: Certificate, entries: Iterable[Json]) -> Json:
    """What its run counted of it."""
    return next(each for each in entries if each["label"] == certificate.label)


def counted_visible(entry: Json) -> bool:
    """Whether reviews are in it without regard to whether they were blind. Runs from before that was looked at say
    nothing of it, and counted all."""
    return entry.get("blind_share") is None and any(
        stratum == "reviewed" and labelled for _, stratum, _, labelled, *_ in entry["rows"]
    )


def recounted_entry(entry: Json, counts: LabelCounts, end_on: date) -> Json:
    """As it was, of other answers: the same attempt, which spends the same."""
    return entry | counts_entry(counts, end_on) | {"is_due": True, "is_forced": True}


def still_certified(certificate: Certificate, result: Json) -> list[float]:
    """In the certificate's order."""
    passed = set(result["certified"])
    test = result["cost_test"]
    if test is not None and test["passes"]:
        passed.add(test["threshold"])
    return [value for value in certificate.certified if value in passed]


def _counted_visible(certificate: Certificate) -> bool:
    return counted_visible(entry_of(certificate, certificate.run.inputs["labels"]))


def _recount(
    original: CalibrationRun,
    certificates: Sequence[Certificate],
    policy: Policy,
    following: Anchoring,
    now: datetime,
) -> tuple[list[Certificate], list[Certificate]]:
    """Those that ended, and those that took their places."""
    inputs = _inputs(original, certificates) | {"following": following_entry(following)}
    results = compute(inputs)
    kept = [still_certified(*each) for each in zip(certificates, results, strict=True)]
    fallen = [
        each
        for each in zip(certificates, results, kept, strict=True)
        if len(each[0].certified) > len(each[2])
    ]
    if not fallen:
        return [], []
    run = CalibrationRun.objects.create(
        workflow=original.workflow,
        question_set_id=original.question_set_id,
        policy=policy,
        model=original.model,
        trigger=CalibrationRun.Trigger.RECOUNTED,
        formula=FORMULA_VERSION,
        inputs=inputs,
        results=results,
        seconds=0,
        created_at=now,
    )
    for certificate, *_ in fallen:
        end_certificate(certificate, Certificate.Ended.RECOUNTED, now)
    left = [_narrow(run, certificate, result, values) for certificate, result, values in fallen if values]
    return [certificate for certificate, *_ in fallen], left


def _inputs(original: CalibrationRun, certificates: Sequence[Certificate]) -> Json:
    """What the run was computed from, of these labels, as if only blind reviews had counted."""
    entries = [entry_of(each, original.inputs["labels"]) for each in certificates]
    end_on = date.fromisoformat(original.inputs["window"]["end_on"])
    counted = count_labels(
        workflow=original.workflow,
        now=original.created_at,
        since={entry["label"]: date.fromisoformat(entry["start_on"]) for entry in entries},
        is_blind_only=True,
    )
    nothing = LabelCounts((), end_on, None, blind_share=0.0)
    return {
        "recount_of": original.pk,
        "forced": [],
        "window": original.inputs["window"],
        "settings": original.inputs["settings"],
        "labels": [
            recounted_entry(entry, counted.get(entry["label"], nothing), end_on) for entry in entries
        ],
    }


def _narrow(run: CalibrationRun, old: Certificate, result: Json, kept: list[float]) -> Certificate:
    """The same attempt: it is as old, and ends as soon; so is what its alarm has seen."""
    return Certificate.objects.create(
        run=run,
        workflow_id=old.workflow_id,
        question=old.question,
        label=old.label,
        model=old.model,
        outcome=Certificate.Outcome.CERTIFIED,
        target_error=old.target_error,
        confidence=old.confidence,
        attempt=old.attempt,
        delta=old.delta,
        certified=kept,
        steps=result["steps"],
        sentence=result["sentence"],
        issued_at=old.issued_at,
        expires_at=old.expires_at,
    )
