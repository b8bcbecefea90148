"""The work on uploads: a pass over the whole file that only looks, and one that brings it in.

Each batch commits together with how far it got, under the claim's token: a worker that was killed costs its last
batch, and whoever goes on starts behind what is in. A long import gives way every `SLICE_S`, so that decisions
do not wait for it.
"""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable, Iterable
from contextlib import closing
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial
from itertools import islice
from tempfile import TemporaryFile
from typing import Any

import structlog
from django.db import transaction
from django.db.models import F, Q

from apps.core.db import ClockTimestamp
from apps.core.errors import Conflict
from apps.core.text import repaired
from apps.pipeline import limits
from apps.sources.batches import read_ahead
from apps.sources.models import Upload, UploadChunk, UploadRefusal
from apps.sources.tables.csv_rows import UnreadableFile
from apps.sources.uploads.rows import Pass, Read, pass_over
from apps.sources.uploads.selectors import content_of

log = structlog.get_logger()
CLAIM_S = 180
SLICE_S = 20.0
MOST_ATTEMPTS = 3
GIVEN_UP = f"Given up: a worker died over it {MOST_ATTEMPTS} times in a row."
TOO_MANY = f"Stopped: more than {limits.MAX_UPLOAD_REFUSALS:,} rows were not taken. Look at the first ones."
_COUNTS = ("read", "new", "same", "changed", "refused", "repaired")


class ClaimLost(Conflict):
    """Another worker has the upload, or a person changed it; what this batch wrote is rolled back."""


@dataclass(frozen=True, slots=True)
class Claim:
    token: uuid.UUID
    upload: Upload

    @property
    def is_check(self) -> bool:
        return self.upload.stage == Upload.Stage.CHECK


def work_on_next_upload(*, now: Callable[[], datetime], slice_s: float = SLICE_S) -> bool:
    """One pass, or a slice of it, over the upload that waits longest; False when none waited."""
    claim = claim_upload(now=now())
    if claim is None:
        return False
    try:
        _work(claim, now, slice_s)
    except UnreadableFile as error:
        end_upload(claim, Upload.Status.FAILED, now=now(), error=f"The file {error}.")
    except ClaimLost:
        log.info("upload_claim_lost", upload=claim.upload.pk)
    return True


@transaction.atomic
def claim_upload(*, now: datetime) -> Claim | None:
    """The oldest that waits, or whose worker is gone; those that killed too many workers are given up."""
    waiting = Q(status=Upload.Status.WAITING)
    left_behind = Q(status=Upload.Status.RUNNING, claimed_until__lt=ClockTimestamp())
    while True:
        upload = (
            Upload.objects.select_for_update(skip_locked=True, of=("self",))
            .select_related("workflow")
            .filter(waiting | left_behind)
            .order_by("pk")
            .first()
        )
        if upload is None:
            return None
        if upload.attempts < MOST_ATTEMPTS:
            return _claim(upload, now)
        Upload.objects.filter(pk=upload.pk).update(
            status=Upload.Status.FAILED,
            error=GIVEN_UP,
            finished_at=now,
            claim_token=None,
            claimed_until=None,
        )


def _claim(upload: Upload, now: datetime) -> Claim:
    token = uuid.uuid4()
    fresh: dict[str, Any] = {}
    if upload.stage == Upload.Stage.CHECK:  # twins within the file are known to one pass only
        fresh = dict.fromkeys((*_COUNTS, "read_bytes"), 0) | {"started_at": now}
        upload.refusals.all().delete()
    elif not upload.read:
        fresh = {"started_at": now}
    Upload.objects.filter(pk=upload.pk).update(
        status=Upload.Status.RUNNING,
        claim_token=token,
        claimed_until=_claim_end(),
        attempts=F("attempts") + 1,
        **fresh,
    )
    upload.refresh_from_db()
    return Claim(token, upload)


def _claim_end() -> Any:
    return ClockTimestamp() + timedelta(seconds=CLAIM_S)


def _work(claim: Claim, now: Callable[[], datetime], slice_s: float) -> None:
    """The file lies on this machine meanwhile: the thread that reads ahead asks no database."""
    work = pass_over(claim.upload)
    with TemporaryFile() as file:
        file.writelines(content_of(claim.upload))
        file.seek(0)
        # A stretch without a single row (blank lines, what was read before) must not look like a dead worker.
        stay = partial(_write, claim, claimed_until=_claim_end())
        read = work.read(file, skip=claim.upload.read)
        with closing(read_ahead(read, waiting=stay, every_s=CLAIM_S / 10)) as batches:
            _take(claim, work, batches, now, slice_s)


def _take(
    claim: Claim,
    work: Pass[Any, Any],
    batches: Iterable[Read[Any]],
    now: Callable[[], datetime],
    slice_s: float,
) -> None:
    ends: float | None = None
    for batch in batches:
        # From the first batch on: passing over what is in already may take longer than a slice.
        ends = ends or time.monotonic() + slice_s
        is_cancelled, refusals = _commit(claim, work, batch, now())
        if is_cancelled:
            end_upload(claim, Upload.Status.CANCELLED, now=now())
            return
        if refusals > limits.MAX_UPLOAD_REFUSALS:
            end_upload(claim, Upload.Status.FAILED, now=now(), error=TOO_MANY)
            return
        if not claim.is_check and time.monotonic() > ends:
            _write(claim, status=Upload.Status.WAITING, claim_token=None, claimed_until=None, attempts=0)
            return
    if claim.is_check:
        checked = Upload.Status.CHECKED
        _write(claim, status=checked, claim_token=None, claimed_until=None, attempts=0, error="")
    else:
        end_upload(claim, Upload.Status.DONE, now=now())


@transaction.atomic
def _commit(claim: Claim, work: Pass[Any, Any], batch: Read[Any], now: datetime) -> tuple[bool, int]:
    """Whether somebody asked to stop, and how many were not taken so far."""
    taken = work.take(batch, now)
    _write(
        claim,
        claimed_until=_claim_end(),
        read_bytes=batch.position,
        **{name: F(name) + getattr(taken, name) for name in _COUNTS},
    )
    UploadRefusal.objects.bulk_create(
        UploadRefusal(
            upload=claim.upload,
            row=each.number,
            place=repaired(each.external_id)[0][:300],
            path=repaired(problem.path)[0][:300],
            message=repaired(problem.message)[0][:500],
            is_changed=each.is_changed,
        )
        for each in taken.refusals
        for problem in islice(each.problems, 5)
    )
    asked, refused, changed = Upload.objects.values_list("is_cancel_asked", "refused", "changed").get(
        pk=claim.upload.pk
    )
    return asked, refused + changed


def end_upload(claim: Claim, status: Upload.Status, *, now: datetime, error: str = "") -> None:
    """Its last word. The pieces of the file go at once, but for one that failed: it can be looked at anew."""
    _write(claim, status=status, claim_token=None, claimed_until=None, finished_at=now, error=error[:500])
    if status != Upload.Status.FAILED:
        drop_content(claim.upload)


def _write(claim: Claim, **values: Any) -> None:
    mine = Upload.objects.filter(pk=claim.upload.pk, claim_token=claim.token, status=Upload.Status.RUNNING)
    if not mine.update(**values):
        raise ClaimLost("Somebody else has this upload.")


def drop_content(upload: Upload) -> None:
    UploadChunk.objects.filter(upload=upload).delete()
