"""A posted item, to the API or a webhook, as the loop takes it: field by field, every problem named."""

from __future__ import annotations

import re
from collections.abc import Iterator
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

FIELDS = ("external_id", "state", "images", "mail", "group", "metadata", "received_at", "priority")
_PLAIN = ("external_id", "metadata", "priority", "group")
_RFC_3339 = re.compile(r"\d{4}-\d\d-\d\d[Tt ]\d\d:\d\d:\d\d(\.\d{1,9})?([Zz]|[+-]\d\d:\d\d)?")
EXAMPLE = "RFC 3339, such as 2026-11-30T09:00:00Z"


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
    if not isinstance(row, dict):
        return [FieldProblem("", "must be an object")]
    problems = [*_problems(row, otherwise)]
    given: dict[str, Any] = {name: row[name] for name in _PLAIN if row.get(name) is not None}
    try:
        if row.get("received_at") is not None:
            given["received_at"] = to_time(row["received_at"])
    except ValueError as error:
        problems.append(FieldProblem("received_at", str(error)))
    if problems:
        return problems
    try:
        read = _of_fields(row, otherwise) if row.get("mail") is None else _of_mail(row["mail"], workflow)
    except InvalidInput as error:
        return list(error.problems)
    given["metadata"] = {**read.metadata, **given.get("metadata", {})}
    return replace(read, **given)


def _of_fields(row: dict[str, Any], otherwise: Otherwise) -> Incoming:
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
        match value:
            case str():
                # Half of a surrogate pair cannot be stored; what reads the mail replaces and tells it.
                return parse_mail(value.encode("utf-8", "surrogatepass"))
            case {"base64": str(encoded), **rest} if not rest:
                return parse_mail(from_base64(encoded, most=MAX_MAIL_BYTES))
    except (NotMail, ValueError) as error:
        return [FieldProblem("mail", str(error))]
    return [FieldProblem("mail", 'must be a text, or {"base64": …}')]


def to_time(value: Any) -> datetime:
    """With its zone. Raises ValueError with a sentence."""
    if not isinstance(value, str) or not _RFC_3339.fullmatch(value):
        raise ValueError(f"must be a time ({EXAMPLE})")
    try:
        time = datetime.fromisoformat(value.upper())
    except ValueError:
        raise ValueError("is not a time that exists") from None
    if time.tzinfo is None:
        raise ValueError(f"needs a time zone ({EXAMPLE})")
    return time


def at(place: str, problem: FieldProblem) -> FieldProblem:
    """The problem of a row, named by where the row stands in what was posted."""
    path = f"{place}.{problem.path}" if place and problem.path else place or problem.path
    return FieldProblem(path, problem.message)


def _problems(row: dict[str, Any], otherwise: Otherwise) -> Iterator[FieldProblem]:
    if row.get("mail") is not None:
        beside = [name for name in ("state", "images") if name in row]
        yield from (FieldProblem(name, "cannot stand beside mail, which holds it") for name in beside)
    else:
        if "external_id" not in row and not otherwise.external_id:
            yield FieldProblem("external_id", "is missing")
        if "state" not in row and not row.get("images"):
            yield FieldProblem("state", "is missing")
    if not isinstance(row.get("external_id", ""), str):
        yield FieldProblem("external_id", "must be a text")
    for name, kind, words in _KINDS:
        value = row.get(name)
        if value is not None and (isinstance(value, bool) or not isinstance(value, kind)):
            yield FieldProblem(name, words)
    yield from (FieldProblem(step(name), "is not known here") for name in row if name not in FIELDS)


_KINDS = (
    ("images", list, "must be an array"),
    ("group", str, "must be a text"),
    ("metadata", dict, "must be an object"),
    ("priority", int, "must be a whole number"),
)
