"""How often a label was tried since its last reset, and when it may be tried again (recalibration.md section 2.6).

Tried means: tested so that a certificate could have come of it. A look that could not have ended in one,
whatever people had answered, spends nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import date, datetime, timedelta
from zoneinfo import ZoneInfo

from django.db.models import Max
from django.utils import timezone

from apps.calibration.counting.evidence import Basis
from apps.calibration.models import Certificate, Incident
from apps.workflows.models import Workflow

WEEKLY_ATTEMPTS = 4
WEEK = timedelta(weeks=1)
REVIEW_EVERY = timedelta(weeks=4)


@dataclass(frozen=True, slots=True)
class Attempts:
    """Of one label, with the model, the questions and the gates in force. `made` counts since `reset_at`."""

    made: int = 0
    last_at: datetime | None = None
    reset_at: datetime | None = None

    @property
    def next(self) -> int:
        return self.made + 1

    def due_at(self, certificate: Certificate | None) -> datetime | None:
        """When the schedule allows the next one; None for the first, which is due at once.

        With a certificate every four weeks and when it expires; without one weekly at first.
        """
        if self.last_at is None:
            return None
        if certificate is not None:
            reviewed_at = self.last_at + REVIEW_EVERY
            return min(reviewed_at, certificate.expires_at) if certificate.expires_at else reviewed_at
        return self.last_at + (WEEK if self.made < WEEKLY_ATTEMPTS else REVIEW_EVERY)


def attempts_by_label(basis: Basis) -> dict[str, Attempts]:
    """Labels that were tried or reset; any other stands at `Attempts()`.

    An alarm resets. So do another model, question version or gate, because what was tried then is not
    among what is counted here.
    """
    resets = _resets(basis)
    tried = Certificate.objects.filter(
        workflow=basis.workflow, question=basis.question, model=basis.model, run__policy__in=basis.policies
    )
    found = {label: Attempts(reset_at=at) for label, at in resets.items()}
    # By number, as one that was counted again stands here twice.
    rows = tried.order_by("issued_at", "id").values_list("label", "issued_at", "attempt")
    for label, issued_at, attempt in rows:
        before = found.get(label, Attempts())
        if before.reset_at is None or issued_at > before.reset_at:
            found[label] = replace(before, made=max(before.made, attempt), last_at=issued_at)
    return found


def first_days(workflow: Workflow, attempts: Mapping[str, Attempts]) -> dict[str, date]:
    """The day from which items count, for labels that an alarm reset: the one after it."""
    zone = ZoneInfo(workflow.time_zone)
    return {
        label: timezone.localtime(each.reset_at, zone).date() + timedelta(days=1)
        for label, each in attempts.items()
        if each.reset_at is not None
    }


def _resets(basis: Basis) -> dict[str, datetime]:
    """Labels with an alarm, and when the last one was: a label that acted without a certificate can have one."""
    ended = Certificate.objects.filter(
        workflow=basis.workflow, question=basis.question, ended_because=Certificate.Ended.ALARM
    )
    found: dict[str, datetime] = dict(ended.order_by().values_list("label").annotate(Max("ended_at")))
    raised = Incident.objects.filter(
        workflow=basis.workflow, level=Incident.Level.ALARM, kind=Incident.Kind.BROKEN_TARGET
    )
    for label, numbers, at in raised.values_list("label", "numbers", "opened_at"):
        # One of the whole queue names the labels that it sent back.
        for each in [label] if label else numbers.get("demoted", []):
            found[each] = max(at, found.get(each, at))
    return found
