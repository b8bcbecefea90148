"""A posted item, in the form the API has, as the loop takes it: field by field, every problem named."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from apps.core.errors import FieldProblem, InvalidInput
from apps.core.text import step
from apps.pipeline.incoming import Incoming
from apps.pipeline.limits import MAX_MAIL_BYTES
from apps.sources.images.enclosures import from_base64, to_pictures
from apps.sources.mail.incoming import mail_to_incoming
from apps.sources.mail.parsing import ParsedMail, parse_mail
from apps.sources.mail.sniffing import NotMail
from apps.workflows.models import Workflow

FIELDS = ("external_id", "state", "metadata", "received_at", "priority", "group", "images", "mail")
_PLAIN = ("external_id", "metadata", "priority", "group")


@dataclass(frozen=True, slots=True)
class Otherwise:
    """What stands for a field that was left out."""

    external_id: str = ""
    received_at: datetime | None = None


def to_incoming(
    row: Any, *, workflow: Workflow, otherwise: Otherwise = Otherwise()
) -> Incoming | list[FieldProblem]:
    """Nothing is converted: a priority of "1" is refused, not read as 1. Limits are `check_incoming`'s.

    What stands beside a mail wins over what its headers say; metadata stand beside those of the headers.
    """
    if not isinstance(row, Mapping):
        return [FieldProblem("", "must be an object")]
    problems = [*_problems(row)]
    given: dict[str, Any] = {name: row[name] for name in _PLAIN if row.get(name) is not None}
    try:
        if row.get("received_at") is not None:
            given["received_at"] = to_time(row["received_at"])
    except ValueError as error:
        problems.append(FieldProblem("received_at", str(error)))
    if problems:
        return problems
    try:
        read = _of_mail(row["mail"], workflow) if "mail" in row else _of_fields(row, otherwise)
    except InvalidInput as error:
        return list(error.problems)
    # Metadata of a wrong type are left for the check of what comes in, which names them.
    if isinstance(row.get("metadata"), dict):
        given["metadata"] = {**read.metadata, **row["metadata"]}
    return replace(read, **given)


def _of_fields(row: Mapping[str, Any], otherwise: Otherwise) -> Incoming:
    return Incoming(
        external_id=otherwise.external_id,
        state=row.get("state", ""),
        received_at=otherwise.received_at,
        attachments=to_pictures(row.get("images") or []),
    )


def _of_mail(sent: Any, workflow: Workflow) -> Incoming:
    read = to_mail(sent)
    if isinstance(read, ParsedMail):
        return mail_to_incoming(read, workflow=workflow)
    raise InvalidInput(*read)


def to_mail(value: Any) -> ParsedMail | list[FieldProblem]:
    """A raw message: as a text, or as {"base64": …} so that no byte of it is changed on the way."""
    try:
        if isinstance(value, str):
            return parse_mail(value.encode("utf-8", "replace"))
        if isinstance(value, dict) and isinstance(value.get("base64"), str):
            return parse_mail(from_base64(value["base64"], most=MAX_MAIL_BYTES))
    except (NotMail, ValueError) as error:
        return [FieldProblem("mail", str(error))]
    return [FieldProblem("mail", 'must be a text or {"base64"}')]


def to_time(value: Any) -> datetime:
    """Raises ValueError with a sentence."""
    example = "RFC 3339, such as 2026-11-30T09:00:00Z"
    if not isinstance(value, str) or "T" not in value.upper():
        raise ValueError(f"must be a time ({example})")
    try:
        time = datetime.fromisoformat(value.upper())
    except ValueError:
        raise ValueError(f"is not a time that exists ({example})") from None
    if time.tzinfo is None:
        raise ValueError(f"needs a time zone ({example})")
    return time


def _problems(row: Mapping[str, Any]) -> Iterator[FieldProblem]:
    yield from (FieldProblem(step(name), "is not known here") for name in row if name not in FIELDS)
    if "mail" in row:
        beside = [name for name in ("state", "images") if name in row]
        yield from (FieldProblem(name, "cannot stand beside mail, which holds it") for name in beside)
    elif "state" not in row and not row.get("images"):
        yield FieldProblem("state", "is missing")
    if not isinstance(row.get("images") or [], list):
        yield FieldProblem("images", "must be an array")
    priority = row.get("priority")
    if priority is not None and (isinstance(priority, bool) or not isinstance(priority, int)):
        yield FieldProblem("priority", "must be a whole number")
    if not isinstance(row.get("group") or "", str):
        yield FieldProblem("group", "must be a text")
