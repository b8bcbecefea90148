"""What a signed post holds: an item, several, an item in an envelope, or itself as the item."""

from __future__ import annotations

from typing import Any

from apps.core.errors import FieldProblem
from apps.pipeline.incoming import Incoming
from apps.pipeline.limits import MAX_BATCH
from apps.sources.mail.parsing import ParsedMail
from apps.sources.posted import Otherwise, to_incoming, to_mail, to_time
from apps.sources.webhooks.reading import Reading, at

ITEM_FIELDS = {"external_id", "state", "images", "mail"}


def read_items(body: Any, *, message_id: str, whole_body: bool) -> Reading:
    """A single item without an `external_id` has the message's id; one in an envelope the envelope's time."""
    if whole_body:
        if not isinstance(body, dict | list):
            return _refused("", "must be an object or an array")
        return Reading([("", Incoming(message_id, body))])
    if not isinstance(body, dict):
        return _refused("", "must be an object")
    otherwise, prefix = Otherwise(message_id), ""
    if isinstance(body.get("data"), dict) and "type" in body and not ITEM_FIELDS & set(body):
        otherwise, prefix = Otherwise(message_id, _time_or_none(body.get("timestamp"))), "data"
        body = body["data"]
    if "items" in body:
        return _read_rows(body, f"{prefix}.items" if prefix else "items", otherwise)
    reading = Reading()
    _read_row(reading, prefix, body, otherwise)
    return reading


def _read_rows(body: dict[str, Any], path: str, otherwise: Otherwise) -> Reading:
    rows = body["items"]
    if not isinstance(rows, list) or not rows:
        return _refused(path, "must be an array that is not empty")
    if len(rows) > MAX_BATCH:
        return _refused(path, f"has {len(rows):,} items; the limit is {MAX_BATCH:,}")
    if set(body) != {"items"}:
        return _refused(path, f"stands beside {', '.join(sorted(set(body) - {'items'}))[:100]}")
    # Without the message's id: two rows must not have the same.
    each_otherwise = Otherwise(received_at=otherwise.received_at)
    reading = Reading()
    for index, row in enumerate(rows):
        _read_row(reading, f"{path}[{index}]", row, each_otherwise)
    return reading


def _read_row(reading: Reading, place: str, row: Any, otherwise: Otherwise) -> None:
    read: Incoming | ParsedMail | list[FieldProblem]
    if isinstance(row, dict) and "mail" in row:
        others = sorted(set(row) - {"mail"})
        read = (
            to_mail(row["mail"])
            if not others
            else [FieldProblem("mail", f"stands beside {', '.join(others)[:100]}")]
        )
    else:
        read = to_incoming(row, otherwise)
    match read:
        case Incoming():
            reading.taken.append((place, read))
        case ParsedMail():
            reading.mails.append((place, read))
        case _:
            reading.problems += [at(place, problem) for problem in read]


def _refused(path: str, why: str) -> Reading:
    return Reading(problems=[FieldProblem(path, why)])


def _time_or_none(value: Any) -> Any:
    try:
        return to_time(value)
    except ValueError:
        return None
