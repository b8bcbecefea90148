"""Exports made by a worker. The row is the truth: who claims it makes it, in one transaction, or leaves nothing.

Finished files stay until their workflow goes; nothing removes them by age yet.
"""

from __future__ import annotations

import hashlib
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

import structlog
from django.db import transaction
from django.db.models import F, Q

from apps.accounts.models import User
from apps.api.models import Export, ExportChunk
from apps.core.db import ClockTimestamp
from apps.core.errors import Conflict, InvalidInput
from apps.core.wake import wake
from apps.reviews.exports import LabelQuery, export_labels, labels_for, parse_label_query, why_empty
from apps.workflows.models import Workflow

log = structlog.get_logger()
CHUNK_BYTES = 1024 * 1024
CLAIM_S = 1_800
"""How long a worker may take for one export before another begins it anew."""
MOST_ATTEMPTS = 3


class ClaimLost(Conflict):
    """Another worker has the export meanwhile; what this one wrote is rolled back."""


@dataclass(frozen=True, slots=True)
class Claim:
    token: uuid.UUID
    export: Export


@transaction.atomic
def request_export(
    *, workflow: Workflow, user: User, format: str, query: Mapping[str, str], now: datetime
) -> Export:
    """Checked now, made later. Raises InvalidInput, the query's fields as `query.<name>`."""
    try:
        read = parse_label_query(query)
    except InvalidInput as error:
        raise InvalidInput(
            *(type(each)(f"query.{each.path}", each.message) for each in error.problems)
        ) from None
    export_labels(workflow=workflow, query=read, format=format)
    export = Export.objects.create(
        workflow=workflow, created_by=user, format=format, query=dict(query), created_at=now
    )
    transaction.on_commit(wake_exporters)
    return export


def wake_exporters() -> None:
    wake("apps.api.tasks.make_exports")


def make_waiting_exports(*, now: Callable[[], datetime]) -> int:
    """Makes all that wait, those that a dead worker left too; how many were taken up."""
    made = 0
    while claim := claim_export(now=now()):
        made += 1
        try:
            _make(claim, now=now)
        except InvalidInput as error:
            _fail(claim, str(error), now=now())
        except ClaimLost:
            log.warning("export_claim_lost", export=claim.export.pk)
    return made


@transaction.atomic
def claim_export(*, now: datetime) -> Claim | None:
    """The oldest export that waits, or whose worker is gone; those that failed too often are given up."""
    waiting = Q(status=Export.Status.PENDING)
    left_behind = Q(status=Export.Status.RUNNING, claimed_until__lt=ClockTimestamp())
    while True:
        export = (
            Export.objects.select_for_update(skip_locked=True, of=("self",))
            .select_related("workflow")
            .filter(waiting | left_behind)
            .order_by("pk")
            .first()
        )
        if export is None:
            return None
        if export.attempts < MOST_ATTEMPTS:
            token = uuid.uuid4()
            Export.objects.filter(pk=export.pk).update(
                status=Export.Status.RUNNING,
                claim_token=token,
                claimed_until=ClockTimestamp() + timedelta(seconds=CLAIM_S),
                attempts=F("attempts") + 1,
            )
            return Claim(token, export)
        _end(export.pk, Export.Status.FAILED, now, error=f"Given up after {MOST_ATTEMPTS} attempts.")


@transaction.atomic
def _make(claim: Claim, *, now: Callable[[], datetime]) -> None:
    export = claim.export
    query = parse_label_query(export.query)
    labels = export_labels(workflow=export.workflow, query=query, format=export.format)
    digest, size = hashlib.sha256(), 0
    for position, content in enumerate(in_chunks(labels)):
        digest.update(content)
        size += len(content)
        ExportChunk.objects.create(export=export, position=position, content=content)
    finished_at = now()
    figures = {"row_count": labels.rows, "byte_count": size, "sha256": digest.hexdigest()}
    manifest = _manifest(export, query, finished_at) | figures
    if not labels.rows:
        manifest["why_empty"] = why_empty(workflow=export.workflow, query=query)
    done = Export.objects.filter(pk=export.pk, claim_token=claim.token)
    if not _end_of(done, Export.Status.DONE, finished_at, manifest=manifest, **figures):
        raise ClaimLost("Another worker has this export.")


def in_chunks(pieces: Iterable[bytes], size: int = CHUNK_BYTES) -> Iterator[bytes]:
    """The same bytes in chunks of `size`, the last one perhaps shorter; never an empty one."""
    held = bytearray()
    for piece in pieces:
        held += piece
        while len(held) >= size:
            yield bytes(held[:size])
            del held[:size]
    if held:
        yield bytes(held)


def _manifest(export: Export, query: LabelQuery, finished_at: datetime) -> dict[str, Any]:
    labels = labels_for(workflow=export.workflow, query=query).order_by()

    def versions(path: str) -> list[int]:
        found = labels.values_list(path, flat=True).distinct()
        return sorted(version for version in found if version is not None)

    return {
        "workflow": export.workflow.slug,
        "format": export.format,
        "query": export.query,
        "made_at": finished_at.isoformat().replace("+00:00", "Z"),
        "question_set_versions": versions("question_set__version"),
        "policy_versions": versions("review__task__route__policy__version"),
    }


def _fail(claim: Claim, why: str, *, now: datetime) -> None:
    _end_of(
        Export.objects.filter(pk=claim.export.pk, claim_token=claim.token),
        Export.Status.FAILED,
        now,
        error=why[:500],
    )


def _end(export_id: int, status: Export.Status, now: datetime, **values: Any) -> int:
    return _end_of(Export.objects.filter(pk=export_id), status, now, **values)


def _end_of(exports: Any, status: Export.Status, now: datetime, **values: Any) -> int:
    ended: int = exports.update(
        status=status, finished_at=now, claim_token=None, claimed_until=None, **values
    )
    return ended


def content_of(export: Export) -> Iterator[bytes]:
    """The file, one chunk in memory at a time."""
    position = 0
    while True:
        chunk = export.chunks.filter(position=position).values_list("content", flat=True).first()
        if chunk is None:
            return
        yield bytes(chunk)
        position += 1
