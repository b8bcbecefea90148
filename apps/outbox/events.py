"""What is told to the outside, and how an event reads on the wire."""

from __future__ import annotations

import json
from datetime import UTC

from apps.outbox.models import Event

ITEM_DECIDED, ITEM_SETTLED = "item.decided", "item.settled"
POLICY_ACTIVATED, ALARM_RAISED = "policy.activated", "alarm.raised"
EVENT_TYPES = (ITEM_DECIDED, ITEM_SETTLED, POLICY_ACTIVATED, ALARM_RAISED)
MAILED_TYPES = (POLICY_ACTIVATED, ALARM_RAISED)
"""Few enough, and meant for people: items would fill a mailbox."""
MOST_BYTES = 256 * 1024


class TooLarge(Exception):
    """The event cannot be posted, today or later."""


def body_of(event: Event) -> bytes:
    """The same bytes at every try. Raises TooLarge above MOST_BYTES."""
    written = {
        "type": event.type,
        "timestamp": event.created_at.astimezone(UTC).isoformat().replace("+00:00", "Z"),
        "data": event.data,
    }
    body = json.dumps(written, ensure_ascii=False, separators=(",", ":")).encode()
    if len(body) > MOST_BYTES:
        raise TooLarge(f"the event has {len(body):,} bytes; at most {MOST_BYTES:,} are sent")
    return body
