"""A mail as an item: what the model reads of it, what rules can ask for, what people see."""

from __future__ import annotations

import json
from typing import Any

from apps.core.text import repaired
from apps.pipeline import limits
from apps.pipeline.incoming import Incoming, IncomingMail
from apps.sources.images.enclosures import to_attachments
from apps.sources.mail.parsing import ParsedMail
from apps.sources.mail.quotes import to_read
from apps.sources.tables.records import repaired_value
from apps.workflows.models import Workflow

NO_TEXT = "(no text)"
_STATE_ROOM = 4 * 1024
"""Bytes of the state that are left for JSON around the texts."""


def mail_to_incoming(parsed: ParsedMail, *, workflow: Workflow) -> Incoming:
    """Pictures are checked here, which takes a while; the workflow says whether quotes and signatures are read."""
    state, cut = _state(parsed, workflow)
    return Incoming(
        external_id=repaired(parsed.external_id)[0],
        state=state,
        metadata=_metadata(parsed),
        received_at=parsed.date,
        group=parsed.group,
        attachments=to_attachments(parsed.files),
        mail=IncomingMail(
            headers=parsed.headers,
            parts=tuple({"kind": piece.kind, "text": piece.text} for piece in parsed.pieces),
            html=parsed.html,
            sha256=parsed.sha256,
            size=parsed.size,
        ),
        repairs=(*parsed.repairs, *cut),
    )


def _state(parsed: ParsedMail, workflow: Workflow) -> tuple[dict[str, str], list[str]]:
    """The keys in the order a person reads them; empty ones are left out, but for the body."""
    date = parsed.date.isoformat(" ", "minutes") if parsed.date else parsed.date_text
    state = {"from": str(parsed.sender)[:1000], "to": parsed.to, "date": date, "subject": parsed.subject}
    state = {name: text for name, text in state.items() if text}
    body = to_read(parsed.pieces, quoted=workflow.reads_quoted, signature=workflow.reads_signature)
    room = limits.MAX_STATE_BYTES - _STATE_ROOM - _written(state)
    shown = _head(body, room)
    cut = []
    if len(shown) < len(body):
        cut.append(
            f"The text was too long: the model reads the first {len(shown):,} of {len(body):,} characters"
        )
    return state | {"body": shown or NO_TEXT}, cut


def _written(value: Any) -> int:
    return len(json.dumps(value, ensure_ascii=False).encode())


def _head(text: str, room: int) -> str:
    """The longest beginning that takes at most `room` bytes when written as JSON."""
    text = text[:room]
    while (size := _written(text)) > room:
        text = text[: min(len(text) - 1, len(text) * room // size)]
    return text


def _metadata(parsed: ParsedMail) -> dict[str, Any]:
    """For rules: the same keys in every mail, but for checks that nobody made."""
    reply_to = parsed.reply_to.address or parsed.reply_to.name
    metadata = {
        "from": parsed.sender.address,
        "from_name": parsed.sender.name[:300],
        "from_domain": parsed.sender.domain,
        "reply_to": reply_to[:300],
        "reply_to_differs": bool(reply_to) and reply_to.lower() != parsed.sender.address.lower(),
        "to": parsed.to[:1000],
        "date": parsed.date.isoformat() if parsed.date else "",
        "subject": parsed.subject[:500],
        "message_id": parsed.message_id,
        "in_reply_to": parsed.references[-1] if parsed.references else "",
        "list_id": parsed.signs.list_id,
        "auto_reply": parsed.signs.auto_reply,
        "is_bounce": parsed.signs.is_bounce,
        "has_attachments": any(not each.is_inline for each in parsed.files),
        "attachment_count": len(parsed.files),
        **dict(parsed.signs.checks),
    }
    return dict(repaired_value(metadata)[0])
