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

from apps.calibration.certs import certificates_in_force, end_certificate, in_force_under
from apps.calibration.computing import Json, compute
from apps.calibration.counting.blind_reviews import following_between
from apps.calibration.counting.counts import WINDOW_WEEKS, LabelCounts, count_labels
from apps.calibration.counting.evidence import basis_for, window_days
from apps.calibration.looking import counts_entry, following_entry
from apps.calibration.models import CalibrationRun, Certificate, Incident
from apps.calibration.watching.demotion import demote
from apps.calibration.watching.incidents import Finding, open_incident
from apps.policies.models import Policy
from apps.policies.readable import isolated, share
from apps.policies.selectors import active_policy
from apps.routing.types import Autonomy
from apps.stats.anchoring import Anchoring
from apps.stats.certificates import FORMULA_VERSION
from apps.workflows.models import Workflow


@dataclass(frozen=True, slots=True)
class Recounted:
    """`withdrawn` are the certificates that ended; those in `narrowed` took the place of some with what is left."""

    following: Anchoring
    withdrawn: tuple[Certificate, ...]
    narrowed: tuple[Certificate, ...]


@dataclass(frozen=True, slots=True)
class _Again:
    """A run counted again. `kept`: the certificates that do not stand whole, with their results and what is left."""

    original: CalibrationRun
    inputs: Json
    results: list[Json]
    kept: tuple[tuple[Certificate, Json, list[float]], ...]


def is_recount_owed(*, workflow: Workflow, now: datetime) -> bool:
    """Whether `recount_visible` would find anything."""
    return bool(_fallen(workflow, now, _following(workflow, now)))


def recount_visible(*, workflow: Workflow, now: datetime) -> Recounted | None:
    """Ends or narrows what does not hold without visible reviews. None where everything stands.

    Each run whose certificates fall is counted again in a run of its own, which keeps all that was counted.
    """
    following, policy = _following(workflow, now), active_policy(workflow)
    fallen = _fallen(workflow, now, following)
    if not fallen or policy is None:
        return None
    narrowed = [each for again in fallen for each in _keep(again, policy, following, now)]
    withdrawn = [certificate for again in fallen for certificate, *_ in again.kept]
    return Recounted(following, tuple(withdrawn), tuple(narrowed))


def _following(workflow: Workflow, now: datetime) -> Anchoring:
    return following_between(workflow, *window_days(workflow, now, WINDOW_WEEKS))


def _fallen(workflow: Workflow, now: datetime, following: Anchoring) -> list[_Again]:
    basis = basis_for(workflow=workflow, now=now, weeks=WINDOW_WEEKS) if following.flagged else None
    if basis is None:
        return []
    resting = [
        each
        for each in in_force_under(basis).values()
        if counted_visible(entry_of(each, each.run.inputs["labels"]))
    ]
    resting.sort(key=lambda each: each.run_id)
    again = [_again(run, list(mine)) for run, mine in groupby(resting, key=lambda each: each.run)]
    return [each for each in again if each.kept]


def obey_recount(*, workflow: Workflow, recounted: Recounted, active: Policy, now: datetime) -> Policy:
    """Labels that act, and that no new certificate took up in the run, go back to people. The version in force then;
    an incident says why."""
    held = certificates_in_force(workflow)
    lost = [each for each in recounted.withdrawn if each.label not in held]
    acting = [each.label for each in lost if _acts(active, each.label)]
    because = following_words(recounted.following)
    after = demote(workflow=workflow, labels=acting, because=because, now=now) if acting else active
    said = [_consequence(each, held.get(each.label), each.label in acting) for each in recounted.withdrawn]
    found = Finding(
        kind=Incident.Kind.ANCHORED,
        level=Incident.Level.ALARM,
        label="",
        name="",
        numbers=following_numbers(recounted.following)
        | {"withdrawn": [each.pk for each in recounted.withdrawn], "demoted": acting},
        sentence=f"{because} Certificates were counted again without the visible ones. {' '.join(said)}",
    )
    open_incident(workflow=workflow, found=found, now=now, policy_before=active, policy_after=after)
    return after


def following_words(following: Anchoring) -> str:
    seen, hidden = following.visible, following.blind
    return (
        f"Reviewers may be following the model: they agreed with it in {seen.numerator:,.0f} of "
        f"{seen.denominator:,.0f} reviews that showed its answer, and in {hidden.numerator:,.0f} of "
        f"{hidden.denominator:,.0f} that did not."
    )


def following_numbers(following: Anchoring) -> Json:
    return {"visible": following.visible.to_json(), "blind": following.blind.to_json()}


def _acts(policy: Policy, label: str) -> bool:
    rule = policy.rules["labels"].get(label)
    return rule is not None and Autonomy(rule["autonomy"]).may_act


def _consequence(old: Certificate, new: Certificate | None, is_demoted: bool) -> str:
    name = f"“{isolated(old.question.option_names[old.label])}”"
    if new is None:
        return f"{name} goes back to people." if is_demoted else f"{name} is not certified any more."
    return f"{name} stays certified, from {share(min(new.certified))} on."


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


def _again(original: CalibrationRun, certificates: Sequence[Certificate]) -> _Again:
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
    inputs = {
        "recount_of": original.pk,
        "forced": [],
        "window": original.inputs["window"],
        "settings": original.inputs["settings"],
        "labels": [recounted_entry(entry, counted.get(entry["label"], nothing), end_on) for entry in entries],
    }
    results = compute(inputs)
    found = zip(certificates, results, map(still_certified, certificates, results), strict=True)
    return _Again(original, inputs, results, tuple(each for each in found if each[0].certified != each[2]))


def _keep(again: _Again, policy: Policy, following: Anchoring, now: datetime) -> list[Certificate]:
    """The certificates that take the places of those that fell, where something is left of them."""
    run = CalibrationRun.objects.create(
        workflow=again.original.workflow,
        question_set_id=again.original.question_set_id,
        policy=policy,
        model=again.original.model,
        trigger=CalibrationRun.Trigger.RECOUNTED,
        formula=FORMULA_VERSION,
        inputs=again.inputs | {"following": following_entry(following)},
        results=again.results,
        seconds=0,
        created_at=now,
    )
    for certificate, *_ in again.kept:
        end_certificate(certificate, Certificate.Ended.RECOUNTED, now)
    return [_narrow(run, certificate, result, values) for certificate, result, values in again.kept if values]


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
