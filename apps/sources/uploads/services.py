"""What people do with an upload: hand it over, say what its columns are, import it, stop it. Workers do the rest."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import datetime, timedelta
from functools import partial
from typing import Any

from django.db import transaction
from django.db.models import Q

from apps.accounts.models import User
from apps.core.errors import Conflict
from apps.pipeline import limits
from apps.sources.models import ColumnMapping, Upload, UploadChunk, UploadRefusal
from apps.sources.tables.chunks import open_chunks
from apps.sources.tables.columns import Roles, columns_sha256
from apps.sources.tables.reading import take_sample
from apps.sources.tables.records import repaired_value
from apps.sources.tables.understanding import Overrides, Understanding, understand
from apps.sources.uploads.receiving import CUT_OFF
from apps.sources.uploads.selectors import (
    AT_WORK,
    UNDECIDED,
    content_of,
    is_changeable,
    open_questions,
    seen_of,
    understanding_of,
)
from apps.sources.wake import wake
from apps.workflows.models import Workflow

TASK = "work_on_uploads"
ARRIVES_WITHIN = timedelta(hours=6)
KEPT_UNDECIDED = timedelta(days=7)
KEPT_FAILED = timedelta(days=1)
KEPT_REPORTS = timedelta(days=90)
_FRESH: dict[str, Any] = dict.fromkeys(
    ("read_bytes", "read", "new", "same", "changed", "refused", "repaired", "attempts"), 0
) | {
    "claim_token": None,
    "claimed_until": None,
    "started_at": None,
    "finished_at": None,
    "is_cancel_asked": False,
    "error": "",
}


def check_room(workflow: Workflow) -> None:
    """Raises Conflict when too many files lie there undecided: each is in the database whole."""
    open_ones = Upload.objects.filter(workflow=workflow, status__in=UNDECIDED).count()
    if open_ones >= limits.MAX_OPEN_UPLOADS:
        raise Conflict(
            f"There are {open_ones} files of this workflow that are neither imported nor cancelled. "
            "Decide about some of them first."
        )


@transaction.atomic
def take_in(upload: Upload, *, now: datetime) -> None:
    """A file has arrived whole: what it is, and a worker to look at all of it."""
    found = understand(_sample(upload), name=upload.file_name, time_zone=upload.workflow.time_zone)
    _understood(upload, *_remembered(upload.workflow, found), now=now)


@transaction.atomic
def decide(
    *,
    workflow: Workflow,
    upload_id: int,
    seen: str,
    encoding: str,
    delimiter: str,
    roles: Roles,
    is_id_of_content: bool,
    now: datetime,
) -> Upload:
    """The person knows better; the pass over the file starts anew. "" leaves encoding or delimiter to be found out.

    Where these change the columns, what was said about the old ones says nothing. Raises Conflict, and
    InvalidInput for what cannot be meant.
    """
    upload = _locked(workflow, upload_id)
    if not is_changeable(upload):
        raise Conflict("This file is no longer waiting for a decision.")
    _check_seen(upload, seen)
    before = understanding_of(upload).columns
    overrides = Overrides(encoding or None, delimiter or None)
    found = understand(
        _sample(upload), name=upload.file_name, overrides=overrides, time_zone=workflow.time_zone
    )
    how: dict[str, Any] = {"is_id_of_content": is_id_of_content}
    if found.columns != before or not found.columns:
        found, how = _remembered(workflow, found)
    else:
        found = found.with_roles(replace(roles, time_zone=workflow.time_zone))
    chosen = {"encoding": encoding, "delimiter": delimiter}
    _understood(upload, found, how | {"chosen": chosen}, now=now)
    return upload


@transaction.atomic
def ask_import(*, workflow: Workflow, upload_id: int, seen: str, user: User, now: datetime) -> Upload:
    """Once, however often it is pressed. Raises Conflict when what was seen is not what is there."""
    upload = _locked(workflow, upload_id)
    if upload.stage == Upload.Stage.IMPORT:
        return upload
    _check_seen(upload, seen)
    if upload.status != Upload.Status.CHECKED or open_questions(upload) or not upload.new:
        raise Conflict(
            "There is nothing to import: the file has to be looked at first, and to hold new items."
        )
    _start_anew(upload, status=Upload.Status.WAITING, stage=Upload.Stage.IMPORT)
    found = understanding_of(upload)
    if found.kind.has_columns:
        mapping = {
            "roles": found.roles.to_json(),
            "is_id_of_content": upload.understood["is_id_of_content"],
        }
        ColumnMapping.objects.update_or_create(
            workflow=workflow,
            columns_sha256=columns_sha256(found.columns),
            defaults={"mapping": mapping, "saved_by": user, "saved_at": now},
        )
    return upload


@transaction.atomic
def ask_cancel(*, workflow: Workflow, upload_id: int, now: datetime) -> Upload:
    """At once where no worker is at it, else after its batch. What is in stays in. Done is done: nothing then."""
    upload = _locked(workflow, upload_id)
    if upload.status in (Upload.Status.WAITING, Upload.Status.CHECKED):
        upload.status, upload.finished_at = Upload.Status.CANCELLED, now
        upload.save(update_fields=["status", "finished_at"])
        upload.chunks.all().delete()
    elif upload.status == Upload.Status.RUNNING:
        upload.is_cancel_asked = True
        upload.save(update_fields=["is_cancel_asked"])
    return upload


def sweep_uploads(*, now: datetime) -> None:
    """Ends what nobody will end, and takes the pieces of files away that are of no more use."""
    uploads = Upload.objects.all()
    uploads.filter(status=Upload.Status.UPLOADING, created_at__lt=now - ARRIVES_WITHIN).update(
        status=Upload.Status.FAILED, error=CUT_OFF, finished_at=now
    )
    uploads.filter(status=Upload.Status.CHECKED, created_at__lt=now - KEPT_UNDECIDED).update(
        status=Upload.Status.CANCELLED,
        error=f"Nobody imported it within {KEPT_UNDECIDED.days} days.",
        finished_at=now,
    )
    over = Q(status__in=[Upload.Status.DONE, Upload.Status.CANCELLED])
    long_failed = Q(status=Upload.Status.FAILED, finished_at__lt=now - KEPT_FAILED)
    for upload in uploads.filter(over | long_failed, chunks__position=0):
        UploadChunk.objects.filter(upload=upload).delete()
    UploadRefusal.objects.filter(upload__finished_at__lt=now - KEPT_REPORTS).delete()


def _locked(workflow: Workflow, upload_id: int) -> Upload:
    upload = Upload.objects.select_for_update().get(workflow=workflow, pk=upload_id)
    upload.workflow = workflow
    return upload


def _check_seen(upload: Upload, seen: str) -> None:
    if seen != seen_of(upload):
        raise Conflict("Somebody changed what the columns are meanwhile. Look at it as it is now.")


def _sample(upload: Upload) -> bytes:
    return take_sample(open_chunks(content_of(upload)))


def _remembered(workflow: Workflow, found: Understanding) -> tuple[Understanding, dict[str, Any]]:
    """With the columns as they were decided last for a file that had the same ones."""
    mapping = ColumnMapping.objects.filter(
        workflow=workflow, columns_sha256=columns_sha256(found.columns)
    ).first()
    if mapping is None or not found.columns:
        return found, {"is_id_of_content": False}
    roles = replace(Roles.from_json(mapping.mapping["roles"]), time_zone=workflow.time_zone)
    how = {
        "is_id_of_content": mapping.mapping["is_id_of_content"],
        "remembered": {"by": str(mapping.saved_by), "at": mapping.saved_at.isoformat()},
    }
    return found.with_roles(roles), how


def _understood(upload: Upload, found: Understanding, how: dict[str, Any], *, now: datetime) -> None:
    # JSON may spell out what cannot be stored: {"id": "\\u0000"}.
    storable, _ = repaired_value(json.loads(json.dumps(found.to_json())))
    upload.understood = {"found": storable, **how}
    if found.problem:
        _start_anew(
            upload,
            status=Upload.Status.FAILED,
            stage=Upload.Stage.CHECK,
            error=f"The file {found.problem}.",
            finished_at=now,
        )
    elif open_questions(upload):
        _start_anew(upload, status=Upload.Status.CHECKED, stage=Upload.Stage.CHECK)
    else:
        _start_anew(upload, status=Upload.Status.WAITING, stage=Upload.Stage.CHECK)


def _start_anew(upload: Upload, **values: Any) -> None:
    """A worker that is at it loses its claim by this, and writes nothing more."""
    for name, value in (_FRESH | values).items():
        setattr(upload, name, value)
    upload.save()
    upload.refusals.all().delete()
    if upload.status in AT_WORK:
        transaction.on_commit(partial(wake, TASK))
