"""What people must know about quality: opened by what watches, closed by a manager with a note."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.db import transaction
from django.db.models import BooleanField, Exists, F, Func, OuterRef, QuerySet, Subquery, TextField, Value

from apps.accounts.models import User
from apps.calibration.models import Incident
from apps.core.errors import Conflict, FieldProblem, InvalidInput
from apps.core.text import unstorable_at
from apps.items.models import Route
from apps.outbox.events import ALARM_RAISED
from apps.outbox.services import emit
from apps.policies.models import Policy
from apps.reviews.models import Label, ReviewTask
from apps.reviews.selectors import hidden_from
from apps.workflows.locking import lock_workflow
from apps.workflows.models import Workflow

LOOK_BACK = timedelta(days=7)
"""Items accepted for a label in this time before its alarm are listed for a look."""
QUIET = timedelta(days=14)
"""After a manager has closed a warning, the same one is not opened again for this long."""
MOST_NOTE = 500
ROUNDING = 1e-9


@dataclass(frozen=True, slots=True)
class Finding:
    """Something an incident can be opened of; `label` "" is the whole workflow. `name` is the label's, for people."""

    kind: Incident.Kind
    level: Incident.Level
    label: str
    name: str
    numbers: Mapping[str, Any]
    sentence: str
    is_strong: bool = False


@transaction.atomic
def open_incident(
    *,
    workflow: Workflow,
    found: Finding,
    now: datetime,
    policy_before: Policy | None = None,
    policy_after: Policy | None = None,
) -> Incident | None:
    """The incident, told to subscribers; None for a warning that is open already, or was closed lately.

    An alarm that is raised again is an incident of its own, and closes the one before.
    """
    lock_workflow(workflow)
    same = Incident.objects.filter(workflow=workflow, kind=found.kind, label=found.label)
    if found.level == Incident.Level.ALARM:
        same.filter(closed_at=None).update(closed_at=now, note="It happened again: see the next one.")
    elif same.filter(closed_at=None).exists() or same.filter(closed_at__gt=now - QUIET).exists():
        return None
    incident = Incident.objects.create(
        workflow=workflow,
        level=found.level,
        kind=found.kind,
        label=found.label,
        numbers=dict(found.numbers),
        sentence=found.sentence,
        policy_before=policy_before,
        policy_after=policy_after,
        opened_at=now,
    )
    emit(workflow=workflow, type=ALARM_RAISED, data=_told(incident, found), now=now)
    return incident


def _told(incident: Incident, found: Finding) -> dict[str, Any]:
    return {
        "text": incident.sentence,
        "incident": incident.pk,
        "level": incident.level,
        "kind": incident.kind,
        "label": incident.label or None,
        "label_name": found.name or None,
        "numbers": incident.numbers,
        "policy_version": None if incident.policy_after is None else incident.policy_after.version,
        "opened_at": incident.opened_at.isoformat(),
    }


@transaction.atomic
def close_incident(*, incident: Incident, user: User, note: str, now: datetime) -> Incident:
    """Raises InvalidInput without a note, Conflict when somebody closed it first. Nothing else changes by it."""
    note = note.strip()
    if not 1 <= len(note) <= MOST_NOTE or unstorable_at(note) is not None:
        raise InvalidInput(
            FieldProblem("note", f"must have 1 to {MOST_NOTE} characters: what was found or done")
        )
    closing = Incident.objects.select_for_update(of=("self",)).get(pk=incident.pk)
    if closing.closed_at is not None:
        raise Conflict(f"It was closed meanwhile by {closing.closed_by or 'the next alarm'}.")
    closing.closed_at, closing.closed_by, closing.note = now, user, note
    closing.save(update_fields=["closed_at", "closed_by", "note"])
    return closing


def open_incidents(workflow: Workflow) -> QuerySet[Incident]:
    """Alarms first, then the newest."""
    return (
        Incident.objects.filter(workflow=workflow, closed_at=None)
        .select_related("policy_after")
        .order_by("level", "-opened_at", "-id")
    )


def all_incidents(workflow: Workflow) -> QuerySet[Incident]:
    """Newest first, by id: to be paged by it."""
    found = Incident.objects.filter(workflow=workflow)
    return found.select_related("policy_before", "policy_after", "closed_by").order_by("-id")


def labels_to_look_at(incident: Incident) -> list[str]:
    """Labels whose accepted items are worth a look; none for a warning."""
    if incident.level != Incident.Level.ALARM or side_of(incident):
        return []
    return [incident.label] if incident.label else list(incident.numbers.get("demoted", []))


def accepted_before(incident: Incident) -> QuerySet[Route]:
    """Routes of items accepted by themselves in the 7 days before, newest first; for a hold's side, of those it let
    pass.

    Those whose action had not started are not among them: they were held, and wait for people. `answer` is what
    people said in a check, `is_answered` whether they did.
    """
    accepted = Route.objects.filter(
        workflow=incident.workflow_id, superseded_at=None, outcome=Route.Outcome.AUTOMATIC
    )
    return (
        (
            _let_pass(accepted, incident)
            if side_of(incident)
            else accepted.filter(label__in=labels_to_look_at(incident))
        )
        .filter(
            created_at__gt=incident.opened_at - LOOK_BACK,
            created_at__lte=incident.opened_at,
        )
        .select_related("item")
        .annotate(
            is_answered=answered_routes(incident),
            answer=Subquery(_answers(incident).values("value")[:1], output_field=TextField()),
        )
        .order_by("-id")
    )


def side_of(incident: Incident) -> str:
    """ "true" or "false" where it is about a hold's side, else ""."""
    return str(incident.numbers.get("side", ""))


def _let_pass(accepted: QuerySet[Route], incident: Incident) -> QuerySet[Route]:
    numbers = incident.numbers
    # Strict, or a pair would be taken apart before it is looked at; silent where there is no answer.
    pairs = f"{json.dumps(numbers['question'])}.probabilities[*]"
    path = f'strict $.{pairs} ? (@[0] == "{numbers["side"]}" && @[1] >= $least)'
    # A limit is met by what rounding leaves of it.
    least = json.dumps({"least": numbers["threshold"] - ROUNDING})
    passed = Func(
        F("decision__answers"),
        Func(Value(path), template="%(expressions)s::jsonpath"),
        Func(Value(least), template="%(expressions)s::jsonb"),
        Value(True),
        function="jsonb_path_exists",
        output_field=BooleanField(),
    )
    return accepted.filter(passed)


def answered_routes(incident: Incident) -> Exists:
    """Whether people said what the incident is about of a route's item."""
    return Exists(_answers(incident))


def _answers(incident: Incident) -> QuerySet[Label]:
    about = (
        {"question__key": incident.numbers["question"]}
        if side_of(incident)
        else {"question__is_routing": True}
    )
    return Label.objects.filter(item=OuterRef("item"), taken_back_at=None, **about).order_by()


def hidden_routes(user: User) -> Exists:
    """Whether this person may still be asked for a blind check of a route's item."""
    return Exists(ReviewTask.objects.filter(hidden_from(user), item=OuterRef("item")))
