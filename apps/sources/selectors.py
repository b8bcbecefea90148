"""Sources as pages and checks show them: what each is told to do, how it goes, what it brought lately."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db.models import Count, Max, Q, Sum
from django.db.models.functions import Length
from django.urls import reverse

from apps.core.secrets import is_set
from apps.sources.mailbox.cursors import Cursor
from apps.sources.models import Delivery, Source
from apps.sources.webhooks.working import KINDS
from apps.workflows.models import Workflow

SHOWN_DELIVERIES = 20
LATELY = timedelta(hours=24)
SLOW = timedelta(minutes=10)
"""Something that waits so long waits for a worker that is not there, or is tried again and again."""


@dataclass(frozen=True, slots=True)
class Secret:
    """The name of a variable, by the setting that holds it; whether it is set where this is asked."""

    setting: str
    variable: str
    is_set: bool


@dataclass(frozen=True, slots=True)
class State:
    """`is_ok`: nothing for anybody to do. `words` name it; `detail` is a sentence, perhaps empty."""

    words: str
    kind: str
    is_ok: bool
    detail: str = ""


@dataclass(frozen=True, slots=True)
class SourceView:
    """`items` and `refused` are of the last 24 hours; `items` is None for a mailbox, which has `read` instead."""

    source: Source
    state: State
    path: str
    secrets: tuple[Secret, ...]
    settings: tuple[tuple[str, str], ...]
    last_at: datetime | None
    waiting: int
    items: int | None
    refused: int
    deliveries: tuple[Delivery, ...]
    read: Cursor | None

    @property
    def is_posted_to(self) -> bool:
        return self.source.kind in KINDS


def sources_of(
    workflow: Workflow, *, now: datetime, environment: Mapping[str, str] = os.environ
) -> list[SourceView]:
    return [
        _view_of(source, now, environment)
        for source in Source.objects.filter(workflow=workflow).order_by("name", "pk")
    ]


def source_states(
    workflow: Workflow | None = None, *, now: datetime, environment: Mapping[str, str] = os.environ
) -> list[tuple[Source, State]]:
    """Of one workflow or of all."""
    sources = Source.objects.select_related("workflow").order_by("workflow__slug", "name")
    if workflow is not None:
        sources = sources.filter(workflow=workflow)
    return [
        (each, _state_of(each, _numbers(each, now), secrets_of(each, environment), now)) for each in sources
    ]


def secrets_of(source: Source, environment: Mapping[str, str] = os.environ) -> tuple[Secret, ...]:
    """Those that its settings name. Never a value."""
    named = {
        name: variable
        for name, variable in source.settings.items()
        if name.endswith("_variable") and isinstance(variable, str) and variable
    }
    return tuple(Secret(name, variable, is_set(variable, environment)) for name, variable in named.items())


@dataclass(frozen=True, slots=True)
class _Numbers:
    last_at: datetime | None
    oldest_waiting_at: datetime | None
    waiting: int
    items: int
    refused: int


def _numbers(source: Source, now: datetime) -> _Numbers:
    lately = Q(received_at__gte=now - LATELY)
    pending = Delivery.objects.filter(source=source, status=Delivery.Status.PENDING)
    found = Delivery.objects.filter(source=source).aggregate(
        last_at=Max("received_at"),
        items=Sum("items", filter=lately),
        refused=Count("pk", filter=lately & Q(status=Delivery.Status.REFUSED)),
    )
    oldest = pending.order_by("pk").values_list("received_at", flat=True).first()
    return _Numbers(found["last_at"], oldest, pending.count(), found["items"] or 0, found["refused"])


def _view_of(source: Source, now: datetime, environment: Mapping[str, str]) -> SourceView:
    numbers, secrets = _numbers(source, now), secrets_of(source, environment)
    is_posted_to = source.kind in KINDS
    newest = Delivery.objects.filter(source=source).defer("body").annotate(kept_bytes=Length("body"))
    return SourceView(
        source=source,
        state=_state_of(source, numbers, secrets, now),
        path=reverse("sources:hook", args=[source.public_id]) if is_posted_to else "",
        secrets=secrets,
        settings=tuple(
            (name, ", ".join(map(str, value)) if isinstance(value, list) else str(value))
            for name, value in source.settings.items()
            if not name.endswith("_variable")
        ),
        last_at=numbers.last_at if is_posted_to else source.looked_at,
        waiting=numbers.waiting,
        items=numbers.items if is_posted_to else None,
        refused=numbers.refused,
        deliveries=tuple(newest.order_by("-pk")[:SHOWN_DELIVERIES]),
        read=None if is_posted_to else Cursor.of(source.cursor),
    )


def _state_of(source: Source, numbers: _Numbers, secrets: tuple[Secret, ...], now: datetime) -> State:
    missing = ", ".join(each.variable for each in secrets if not each.is_set)
    is_posted_to = source.kind in KINDS
    if source.is_paused:
        kept = "What is posted meanwhile is kept." if is_posted_to else "It is not looked at."
        return State("Paused", "is-held", is_ok=True, detail=kept)
    if source.error:
        return State("In trouble", "is-bad", is_ok=False, detail=source.error)
    # Workers have an environment of their own; only what this process needs to answer posts is its to judge.
    if missing and is_posted_to:
        return State("Secret missing", "is-bad", is_ok=False, detail=f"Not set here: {missing}.")
    if numbers.oldest_waiting_at is not None and now - numbers.oldest_waiting_at > SLOW:
        return State("Behind", "is-held", is_ok=False, detail="What came waits to be worked off.")
    if not is_posted_to:
        return _state_of_mailbox(source)
    if numbers.last_at is None:
        return State("Ready", "is-info", is_ok=True, detail="Nothing was posted yet.")
    return State("Working", "is-good", is_ok=True)


def _state_of_mailbox(source: Source) -> State:
    if source.looked_at is None:
        return State("New", "is-info", is_ok=True, detail="It was not looked at yet.")
    return State("Working", "is-good", is_ok=True)
