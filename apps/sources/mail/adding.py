"""Mails into a workflow: each once, and none lost because another one bears its Message-ID."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime

from apps.items.models import Mail
from apps.pipeline import limits
from apps.pipeline.incoming import Incoming
from apps.pipeline.intake import Added, Intake, Refused, add_items
from apps.sources.mail.incoming import mail_to_incoming
from apps.sources.mail.parsing import ParsedMail
from apps.workflows.models import Workflow

_MARK_LENGTH = 13


def add_mails(*, workflow: Workflow, mails: Sequence[ParsedMail], source: str, now: datetime) -> Intake:
    """Like `add_items`, but a Message-ID that other content has is no reason to refuse: the mail is added as
    `<message-id>#<12 hex digits of its SHA-256>`, with a sentence about it.

    The same mail is recognised even when it would read otherwise today: settings of what the model reads may change.
    """
    incoming = [mail_to_incoming(mail, workflow=workflow) for mail in mails]
    first = _recognised(
        workflow, incoming, add_items(workflow=workflow, incoming=incoming, source=source, now=now)
    )
    taken = [each.index for each in first.refused if each.is_conflict]
    if not taken:
        return first
    others = [_renamed(incoming[index]) for index in taken]
    again = _recognised(
        workflow, others, add_items(workflow=workflow, incoming=others, source=source, now=now)
    )
    added = [*first.added, *(replace(each, index=taken[each.index]) for each in again.added)]
    refused = [each for each in first.refused if not each.is_conflict]
    refused += [replace(each, index=taken[each.index]) for each in again.refused]
    return Intake(
        tuple(sorted(added, key=lambda each: each.index)), tuple(sorted(refused, key=lambda each: each.index))
    )


def _recognised(workflow: Workflow, incoming: Sequence[Incoming], intake: Intake) -> Intake:
    """Conflicts with what is the same mail all the same, as existing."""
    names = [incoming[each.index].external_id for each in intake.refused if each.is_conflict]
    stored = {
        mail.item.external_id: mail
        for mail in Mail.objects.filter(item__workflow=workflow, item__external_id__in=names)
        .select_related("item")
        .defer("html")
    }
    added, refused = list(intake.added), list[Refused]()
    for each in intake.refused:
        mail = stored.get(incoming[each.index].external_id) if each.is_conflict else None
        if mail is not None and _is_same(incoming[each.index], mail):
            added.append(Added(each.index, mail.item_id, created=False))
        else:
            refused.append(each)
    return Intake(tuple(sorted(added, key=lambda each: each.index)), tuple(refused))


def _is_same(incoming: Incoming, stored: Mail) -> bool:
    """The same bytes, or the same headers and text where only line ends differ."""
    mail = incoming.mail
    if mail is None:
        return False
    return stored.sha256 == mail.sha256 or (
        stored.parts == [dict(part) for part in mail.parts]
        and stored.headers == [list(pair) for pair in mail.headers]
    )


def _renamed(incoming: Incoming) -> Incoming:
    sha256 = "" if incoming.mail is None else incoming.mail.sha256
    name = f"{incoming.external_id}#{sha256[:12]}"
    if len(incoming.external_id) + _MARK_LENGTH > limits.MAX_EXTERNAL_ID_CHARACTERS:
        name = f"sha256:{sha256}"
    why = "Another mail with other content has the same Message-ID; this one was added beside it"
    return replace(incoming, external_id=name, repairs=(*incoming.repairs, why))
