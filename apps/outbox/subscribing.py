"""Who is told what: added, changed and removed by whoever runs the server."""

from __future__ import annotations

import re
from collections.abc import Sequence

from django.conf import settings
from django.core.exceptions import ValidationError
from django.core.validators import validate_email
from django.db import transaction

from apps.core.errors import FieldProblem, InvalidInput
from apps.outbox.addresses import Refused, check_address
from apps.outbox.events import EVENT_TYPES, MAILED_TYPES
from apps.outbox.models import Subscription
from apps.workflows.locking import lock_workflow
from apps.workflows.models import Workflow

MOST_SUBSCRIPTIONS = 20
_VARIABLE = re.compile(r"[A-Z][A-Z0-9_]{0,79}")


@transaction.atomic
def save_subscription(
    *, workflow: Workflow, kind: str, address: str, events: Sequence[str], secret_variable: str = ""
) -> tuple[Subscription, bool]:
    """The subscription to this address, and whether it is new; one that is there gets these events and this secret.

    Raises InvalidInput, naming each field that is wrong.
    """
    lock_workflow(workflow)
    problems = _problems(kind, address, events, secret_variable)
    others = Subscription.objects.filter(workflow=workflow).exclude(kind=kind, address=address)
    if others.count() >= MOST_SUBSCRIPTIONS:
        problems.append(FieldProblem("address", f"is one too many: a workflow tells {MOST_SUBSCRIPTIONS}"))
    if problems:
        raise InvalidInput(*problems)
    return Subscription.objects.update_or_create(
        workflow=workflow,
        kind=kind,
        address=address,
        defaults={"events": list(dict.fromkeys(events)), "secret_variable": secret_variable},
    )


def _problems(kind: str, address: str, events: Sequence[str], secret_variable: str) -> list[FieldProblem]:
    is_mail = kind == Subscription.Kind.MAIL
    problems = [] if is_mail else _webhook_problems(address, secret_variable)
    if is_mail:
        try:
            validate_email(address)
        except ValidationError:
            problems.append(FieldProblem("address", "is not a mail address"))
        if secret_variable:
            problems.append(FieldProblem("secret_variable", "is for webhooks: mail is not signed"))
    allowed = MAILED_TYPES if is_mail else EVENT_TYPES
    if not events or not set(events) <= set(allowed):
        problems.append(FieldProblem("events", f"must be one or more of {', '.join(allowed)}"))
    return problems


def _webhook_problems(address: str, secret_variable: str) -> list[FieldProblem]:
    problems = []
    try:
        check_address(address, allow_private=settings.ALLOW_PRIVATE_WEBHOOKS)
    except Refused as error:
        problems.append(FieldProblem("address", str(error)))
    if not _VARIABLE.fullmatch(secret_variable):
        problems.append(
            FieldProblem(
                "secret_variable", "must name an environment variable, in capitals, that holds whsec_…"
            )
        )
    return problems
