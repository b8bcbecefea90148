"""Calibration runs: what people's answers allow, computed once, kept with all it was computed from."""

from __future__ import annotations

import time
from collections.abc import Collection
from datetime import datetime, timedelta
from zoneinfo import ZoneInfo

from django.db import transaction
from django.utils import timezone

from apps.accounts.models import User
from apps.calibration.certs import (
    end_certificate,
    end_changed,
    has_run_out,
    in_force_under,
    promises_enough,
)
from apps.calibration.computing import Json, compute
from apps.calibration.looking import Look, look
from apps.calibration.models import CalibrationRun, Certificate
from apps.calibration.proposing import Change, loosened, propose_changes, tighten, tightened
from apps.calibration.recounting import Recounted, obey_recount, recount_visible
from apps.calibration.side_certs import certify_sides, end_sides, sides_entry
from apps.calibration.side_recounting import recount_sides
from apps.calibration.sides import look_at_holds
from apps.calibration.watching.changes import watch_changes
from apps.policies.models import Policy
from apps.routing.types import Autonomy, LabelRule
from apps.stats.certificates import FORMULA_VERSION
from apps.workflows.locking import lock_workflow
from apps.workflows.models import Workflow

VALID_FOR = timedelta(weeks=12)
SAME_RUN = timedelta(minutes=1)
"""Two managers who ask at once, or one who clicks twice, ask for one run."""


@transaction.atomic
def run_calibration(
    *,
    workflow: Workflow,
    trigger: CalibrationRun.Trigger,
    user: User | None,
    now: datetime,
    forced: Collection[str] = (),
) -> CalibrationRun:
    """Tries every label that is due, keeps what came of it, and ends in a proposal where it allows more than now.

    Labels not due are read, which certifies nothing; those in `forced` are tried all the same and spend their
    next attempt. A label whose answers could not pass yet is not tried, so that it spends nothing. Both sides of
    every hold on a yes-no question are tried by the same rules, and never change the policy by themselves. Returns the
    run of a minute ago when it was for the same. Raises Conflict without a policy in force.
    """
    lock_workflow(workflow)
    began = time.monotonic()
    # What a label may do under another model or other questions is settled before what was answered to them.
    watch_changes(workflow=workflow, now=now)
    recounted = recount_visible(workflow=workflow, now=now)
    found = look(workflow=workflow, now=now, forced=forced)
    made = None if recounted else _run_just_made(workflow, found, now)
    return made or _keep(workflow, found, recounted, trigger, user, now, began)


def recompute(run: CalibrationRun) -> list[Json]:
    """The results again, from the run's inputs. Raises Conflict for a formula this version does not have."""
    return compute(run.inputs, run.formula)


def _run_just_made(workflow: Workflow, found: Look, now: datetime) -> CalibrationRun | None:
    runs = CalibrationRun.objects.filter(workflow=workflow)
    latest = runs.exclude(trigger=CalibrationRun.Trigger.RECOUNTED).order_by("-id").first()
    if latest is None or latest.created_at <= now - SAME_RUN:
        return None
    same = latest.question_set_id == found.question.question_set_id and all(
        latest.inputs[name] == found.inputs[name] for name in ("forced", "settings")
    )
    # One that tightened made the policy that is in force now.
    is_current = latest.policy_id in (found.policy.pk, found.policy.based_on_id)
    return latest if same and is_current else None


def _keep(
    workflow: Workflow,
    found: Look,
    recounted: Recounted | None,
    trigger: CalibrationRun.Trigger,
    user: User | None,
    now: datetime,
    began: float,
) -> CalibrationRun:
    if found.basis is not None:
        end_changed(found.basis, now)
    recount_sides(workflow=workflow, now=now)
    holds = look_at_holds(workflow=workflow, now=now)
    run = CalibrationRun(
        workflow=workflow,
        question_set_id=found.question.question_set_id,
        policy=found.policy,
        model=found.basis.model if found.basis else "",
        trigger=trigger,
        started_by=user,
        formula=FORMULA_VERSION,
        inputs=found.inputs | {"holds": sides_entry(holds)},
        results=found.results,
        seconds=time.monotonic() - began,
        created_at=now,
    )
    run.save()
    end_sides(holds, now)
    certify_sides(run=run, holds=holds, valid_until=now + VALID_FOR, now=now)
    taken = [each for result in found.attempts if (each := _certify(run, found, result, now))]
    run.proposal = _obey(workflow, found, taken, recounted, now)
    run.save(update_fields=["proposal"])
    return run


def _certify(run: CalibrationRun, found: Look, result: Json, now: datetime) -> Certificate | None:
    """Stores the label's attempt, and that of its cost threshold; the certificate that is relied on from now, if
    it is a new one."""
    entry, held = found.entry(result["label"]), found.certificates.get(result["label"])
    certificates = [_certificate(run, found, entry, result, now)]
    if result["cost_test"]:
        certificates.append(_cost_certificate(run, found, entry, result, now))
    # The later one is of the value that costs ask for.
    best = next((each for each in reversed(certificates) if each.certified), None)
    if best is not None and held is not None and _stays(held, best, entry, now):
        best = None
    if best is not None and held is not None:
        end_certificate(held, Certificate.Ended.RENEWED, now)
    for each in certificates:
        if each.certified and each is not best:
            because = Certificate.Ended.HELD if best is None else Certificate.Ended.RENEWED
            each.ended_at, each.ended_because = now, because
        each.save()
    return best


def _stays(held: Certificate, new: Certificate, entry: Json, now: datetime) -> bool:
    """Whether the certificate there is goes further than a new one; one that expired, or promises less than is
    asked now, goes nowhere."""
    if has_run_out(held, now) or not promises_enough(held, entry):
        return False
    acts_on_it = Autonomy(entry["autonomy"]).may_act and entry["threshold"] in held.certified
    reached = entry["threshold"] if acts_on_it else min(held.certified)
    return min(new.certified) > reached


def _certificate(run: CalibrationRun, found: Look, entry: Json, result: Json, now: datetime) -> Certificate:
    return Certificate(
        run=run,
        workflow_id=run.workflow_id,
        question=found.question,
        label=entry["label"],
        model=run.model,
        outcome=result["outcome"],
        target_error=entry["target_error"],
        confidence=run.inputs["settings"]["confidence"],
        attempt=entry["attempt"],
        delta=entry["delta"],
        certified=result["certified"],
        steps=result["steps"],
        sentence=result["sentence"],
        issued_at=now,
        expires_at=now + VALID_FOR if result["certified"] else None,
    )


def _cost_certificate(
    run: CalibrationRun, found: Look, entry: Json, result: Json, now: datetime
) -> Certificate:
    test = result["cost_test"]
    certificate = _certificate(run, found, entry, result, now)
    certificate.attempt, certificate.delta, certificate.steps = test["attempt"], test["delta"], [test["step"]]
    certificate.sentence = test["sentence"]
    certificate.certified = [test["threshold"]] if test["passes"] else []
    if not test["passes"]:
        certificate.outcome, certificate.expires_at = Certificate.Outcome.NOT_SUPPORTED, None
    return certificate


def _obey(
    workflow: Workflow, found: Look, taken: list[Certificate], recounted: Recounted | None, now: datetime
) -> Policy | None:
    """Tightens what the new certificates no longer allow, and proposes what all those in force do."""
    if found.basis is None:
        return None
    day = _day(workflow, now)
    held = in_force_under(found.basis)
    left = () if recounted is None else recounted.narrowed
    newest = [*taken, *(each for each in left if each in held.values() and each.label in found.rules.labels)]
    stricter = [change for each in newest if (change := tightened(*_standing(found, each)))]
    active = tighten(workflow=workflow, active=found.policy, changes=stricter, day=day, now=now)
    if recounted is not None:
        active = obey_recount(workflow=workflow, recounted=recounted, active=active, now=now)
    already = {change.label for change in stricter}
    more = [
        change
        for label, certificate in held.items()
        if label in found.rules.labels and label not in already
        if promises_enough(certificate, found.entry(label))
        if (change := loosened(*_standing(found, certificate)))
    ]
    return propose_changes(workflow=workflow, active=active, changes=_in_order(found, more), day=day)


def _standing(found: Look, certificate: Certificate) -> tuple[str, LabelRule, Certificate, float]:
    entry = found.entry(certificate.label)
    return entry["name"], found.rules.labels[certificate.label], certificate, entry["cost_threshold"]


def _in_order(found: Look, changes: list[Change]) -> list[Change]:
    order = [entry["label"] for entry in found.inputs["labels"]]
    return sorted(changes, key=lambda change: order.index(change.label))


def _day(workflow: Workflow, now: datetime) -> str:
    return timezone.localtime(now, ZoneInfo(workflow.time_zone)).date().isoformat()
