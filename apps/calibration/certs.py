"""Certificates as they are kept: which one is relied on, what came before it, how one ends."""

from __future__ import annotations

from datetime import datetime
from zoneinfo import ZoneInfo

from django.db.models import QuerySet
from django.utils import timezone

from apps.calibration.computing import Json
from apps.calibration.counting.counts import WINDOW_WEEKS
from apps.calibration.counting.evidence import Basis, basis_for
from apps.calibration.models import CalibrationSettings, Certificate
from apps.workflows.models import Workflow

_ROUNDING = 1e-9


def settings_of(workflow: Workflow) -> CalibrationSettings:
    """The workflow's row, or one with the defaults that is not saved."""
    found = CalibrationSettings.objects.filter(workflow=workflow).first()
    return found or CalibrationSettings(workflow=workflow)


def certificates_in_force(workflow: Workflow) -> dict[str, Certificate]:
    """What the routing question's labels may rely on now: not ended, and of the model, the questions and the
    gates in force. One that has expired stays until it is ended, at the latest in the night after."""
    # Of the window only its end would depend on the time, and it is not used.
    basis = basis_for(workflow=workflow, now=timezone.now(), weeks=WINDOW_WEEKS)
    return {} if basis is None else in_force_under(basis)


def in_force_under(basis: Basis) -> dict[str, Certificate]:
    in_force = _relied_on(basis.workflow).filter(
        question=basis.question, model=basis.model, run__policy__in=basis.policies
    )
    return {certificate.label: certificate for certificate in in_force}


def promises_enough(certificate: Certificate, entry: Json) -> bool:
    """Whether it promises what is asked of its label now, or more: `entry` is its label's (see `computing`).

    A manager may have asked for less error, or more confidence, since. What attempts spend falls with the square
    of their number, so what all of them may spend together can be compared without knowing how it is shared.
    """
    risk, asked = (
        delta * attempt**2
        for delta, attempt in ((certificate.delta, certificate.attempt), (entry["delta"], entry["attempt"]))
    )
    return bool(certificate.target_error <= entry["target_error"] and risk <= asked * (1 + _ROUNDING))


def has_run_out(certificate: Certificate, now: datetime) -> bool:
    """By whole days of the workflow's time zone: the night that tries to renew it is the one that ends it."""
    if certificate.expires_at is None:
        return False
    zone = ZoneInfo(certificate.workflow.time_zone)
    return timezone.localtime(certificate.expires_at, zone).date() <= timezone.localtime(now, zone).date()


def end_certificate(certificate: Certificate, because: Certificate.Ended, now: datetime) -> bool:
    """Whether it was in force until now; `certificate` itself is brought up to date."""
    ended = Certificate.objects.filter(pk=certificate.pk, ended_at=None).update(
        ended_at=now, ended_because=because
    )
    certificate.refresh_from_db(fields=["ended_at", "ended_because"])
    return bool(ended)


def end_changed(basis: Basis, now: datetime) -> list[Certificate]:
    """Ends those that speak of another model, other questions or other gates than are in force; which ones."""
    stay = {certificate.pk for certificate in in_force_under(basis).values()}
    gone = [each for each in _relied_on(basis.workflow) if each.pk not in stay]
    return [each for each in gone if end_certificate(each, Certificate.Ended.CHANGED, now)]


def _relied_on(workflow: Workflow) -> QuerySet[Certificate]:
    """For labels: those for the sides of a yes-no question are kept by `sides`."""
    return Certificate.objects.filter(
        workflow=workflow, outcome=Certificate.Outcome.CERTIFIED, ended_at=None, question__is_routing=True
    ).select_related("run__policy", "question", "workflow")
