"""What was read of a post, before it is stored."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from apps.core.errors import FieldProblem
from apps.core.text import repaired
from apps.pipeline.incoming import Incoming
from apps.sources.mail.parsing import ParsedMail
from apps.sources.tables.records import repaired_value

LONGEST_NOTE = 500
LONGEST_PART = 120
"""Of a place or a reason in a note: a name that a stranger chose does not fill it."""
MOST_NAMED = 10
LOOK_S = 120.0


NOT_LOOKED_AT = FieldProblem("", "was not looked at, those before it took too long: post it apart")


class Look:
    """How long pictures, PDFs and mails of one post may be looked at; one more may take half a minute."""

    def __init__(self, clock: Callable[[], float] = time.monotonic, *, seconds: float = LOOK_S) -> None:
        self._clock, self._until = clock, clock() + seconds

    @property
    def is_over(self) -> bool:
        return self._clock() > self._until


@dataclass(slots=True)
class Reading:
    """What can be taken and what cannot, each with its place in the post; `waiting` is why some must wait.

    `mails` came as nothing but a mail: one with a Message-ID that another has is added beside it.
    """

    taken: list[tuple[str, Incoming]] = field(default_factory=list)
    mails: list[tuple[str, ParsedMail]] = field(default_factory=list)
    problems: list[FieldProblem] = field(default_factory=list)
    ignored: str = ""
    waiting: str = ""


def storable(incoming: Incoming) -> Incoming:
    """With what cannot be stored replaced: the sender was answered already and cannot mend it.

    Raises RecursionError for a state nested deeper than Python likes.
    """
    parts = (incoming.external_id, incoming.state, incoming.metadata, incoming.group)
    (external_id, a), (state, b), (metadata, c), (group, d) = (repaired_value(each) for each in parts)
    if not (lost := a + b + c + d):
        return incoming
    told = f"{lost:,} characters that cannot be stored were replaced."
    return replace(
        incoming,
        external_id=external_id,
        state=state,
        metadata=metadata,
        group=group,
        repairs=(*incoming.repairs, told),
    )


def to_note(problems: Sequence[FieldProblem], ignored: str) -> str:
    """For the sources page: what was not taken and why, then what was left out."""
    told = [": ".join(map(_part, filter(None, (each.path, each.message)))) for each in problems[:MOST_NAMED]]
    if len(problems) > MOST_NAMED:
        told.append(f"and {len(problems) - MOST_NAMED:,} more")
    reasons = "; ".join(told)
    end = "" if reasons.endswith((".", "?")) else "."
    parts = [f"Not taken: {reasons}{end}"] if told else []
    note = " ".join([*parts, *([f"Left out: {ignored}."] if ignored else [])])
    return repaired(note)[0][:LONGEST_NOTE]


def _part(text: str) -> str:
    return text if len(text) <= LONGEST_PART else f"{text[:LONGEST_PART]}…"
