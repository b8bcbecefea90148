"""Fetched mails into items, and those that cannot be items into the list of what was refused."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

import structlog

from apps.core.text import repaired
from apps.pipeline import limits
from apps.sources.mail.adding import add_mails
from apps.sources.mail.parsing import NotMail, ParsedMail, parse_mail
from apps.sources.models import Delivery, Source

log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class Refusal:
    """`subject` and `sha256` are "" where the mail was not fetched."""

    uid: int
    why: str
    subject: str = ""
    sha256: str = ""


@dataclass(slots=True)
class Batch:
    """Mails with their UIDs, and what is refused before anything is stored."""

    mails: list[tuple[int, ParsedMail]] = field(default_factory=list)
    refusals: list[Refusal] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Taken:
    read: int
    new: int
    refused: int


def read_batch(bodies: Mapping[int, bytes], *, now: datetime) -> Batch:
    """One that cannot be read stops no other."""
    batch = Batch()
    for uid, raw in bodies.items():
        try:
            batch.mails.append((uid, parse_mail(raw, now=now)))
        except NotMail as error:
            batch.refusals.append(Refusal(uid, error.reason, sha256=hashlib.sha256(raw).hexdigest()))
        except Exception as error:
            log.exception("mail_broke", uid=uid)
            why = f"{type(error).__name__} while it was read"
            batch.refusals.append(Refusal(uid, why, sha256=hashlib.sha256(raw).hexdigest()))
    return batch


def too_large(uid: int, size: int, subject: str) -> Refusal:
    return Refusal(uid, f"has {size:,} bytes; the limit is {limits.MAX_MAIL_BYTES:,}", subject)


def take(source: Source, batch: Batch, *, folder: str, validity: int, now: datetime) -> Taken:
    """The caller's transaction holds it together with how far the mailbox is read."""
    mails = [mail for _, mail in batch.mails]
    intake = add_mails(workflow=source.workflow, mails=mails, source="imap", now=now)
    refusals = list(batch.refusals)
    for each in intake.refused:
        uid, mail = batch.mails[each.index]
        why = "; ".join(f"{problem.path} {problem.message}" for problem in each.problems)
        refusals.append(Refusal(uid, why, mail.subject, mail.sha256))
    Delivery.objects.bulk_create(
        [_delivery(source, each, folder, validity, now) for each in refusals],
        ignore_conflicts=True,  # refused before, by a worker that died later
    )
    return Taken(len(batch.mails) + len(batch.refusals), intake.created, len(refusals))


def _delivery(source: Source, refusal: Refusal, folder: str, validity: int, now: datetime) -> Delivery:
    """Without the mail itself: it stays in the mailbox."""
    named = f" “{refusal.subject}”" if refusal.subject else ""
    return Delivery(
        source=source,
        message_id=f"{validity}/{refusal.uid}/{folder}",
        sha256=refusal.sha256,
        body=b"",
        status=Delivery.Status.REFUSED,
        note=repaired(f"Mail {refusal.uid} of {folder}{named}: {refusal.why}")[0][:500],
        received_at=now,
        done_at=now,
    )
