"""What a signed post holds: an item, several, an item in an envelope, or itself as the item."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from apps.core.errors import FieldProblem
from apps.pipeline.incoming import Incoming
from apps.pipeline.limits import MAX_BATCH
from apps.sources.mail.parsing import ParsedMail
from apps.sources.posted import Otherwise, at, to_incoming, to_mail, to_time
from apps.sources.webhooks.reading import NOT_LOOKED_AT, Look, Reading
from apps.workflows.models import Workflow

ITEM_FIELDS = {"external_id", "state", "images", "mail"}


def read_whole(body: Any, *, message_id: str) -> Reading:
    """The body is the item, and nothing in it is interpreted."""
    if not isinstance(body, dict | list):
        return _refused("", "must be an object or an array")
    return Reading([("", Incoming(message_id, body))])


def read_items(body: Any, *, workflow: Workflow, message_id: str, look: Look) -> Reading:
    """A single item without an `external_id` has the message's id; one in an envelope the envelope's time."""
    if not isinstance(body, dict):
        return _refused("", "must be an object")
    reader = _Reader(workflow, Otherwise(message_id), look, Reading())
    prefix = ""
    if isinstance(body.get("data"), dict) and "type" in body and not ITEM_FIELDS & set(body):
        reader.otherwise = replace(reader.otherwise, received_at=_time_or_none(body.get("timestamp")))
        prefix, body = "data", body["data"]
    if "items" not in body:
        reader.read(prefix, body)
        return reader.reading
    path = f"{prefix}.items" if prefix else "items"
    if why := _why_no_batch(body):
        return _refused(path, why)
    # Without the message's id: two rows must not have the same.
    reader.otherwise = replace(reader.otherwise, external_id="")
    for index, row in enumerate(body["items"]):
        reader.read(f"{path}[{index}]", row)
    return reader.reading


def _why_no_batch(body: dict[str, Any]) -> str:
    rows, others = body["items"], sorted(set(body) - {"items"})
    if not isinstance(rows, list) or not rows:
        return "must be an array that is not empty"
    if len(rows) > MAX_BATCH:
        return f"has {len(rows):,} items; the limit is {MAX_BATCH:,}"
    return f"stands beside {', '.join(others)[:100]}" if others else ""


@dataclass(slots=True)
class _Reader:
    workflow: Workflow
    otherwise: Otherwise
    look: Look
    reading: Reading

    def read(self, place: str, row: Any) -> None:
        read: Incoming | ParsedMail | list[FieldProblem]
        if isinstance(row, dict) and (row.get("images") or "mail" in row) and self.look.is_over:
            read = [NOT_LOOKED_AT]
        elif isinstance(row, dict) and set(row) == {"mail"}:
            read = to_mail(row["mail"])
        else:
            read = to_incoming(row, workflow=self.workflow, otherwise=self.otherwise)
        match read:
            case Incoming():
                self.reading.taken.append((place, read))
            case ParsedMail():
                self.reading.mails.append((place, read))
            case _:
                self.reading.problems += [at(place, problem) for problem in read]


def _refused(path: str, why: str) -> Reading:
    return Reading(problems=[FieldProblem(path, why)])


def _time_or_none(value: Any) -> Any:
    try:
        return to_time(value)
    except ValueError:
        return None
