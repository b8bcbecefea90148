"""Mails of files into a workflow, batch by batch; or only looked at, to say what would happen."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from apps.core.errors import FieldProblem
from apps.items.models import Mail
from apps.pipeline.incoming import check_incoming
from apps.sources.batches import in_batches
from apps.sources.mail.adding import add_mails
from apps.sources.mail.incoming import mail_to_incoming
from apps.sources.mail.parsing import NotMail, ParsedMail, parse_mail
from apps.sources.mail.reading import RawMail
from apps.sources.tables.importing import Counts, RefusedRow
from apps.workflows.models import Workflow

SOURCE = "mail"
BATCH_MAILS = 100
BATCH_BYTES = 4 * 1024 * 1024
"""Mails of a batch are in memory together, parsed and with their pictures: a large one is a batch of its own."""


@dataclass(slots=True)
class MailImport:
    """One run over any number of files. In `counts`, `repaired` counts mails; none is ever `changed`, for a
    Message-ID that other content has loses no mail."""

    workflow: Workflow
    dry_run: bool = False
    counts: Counts = field(default_factory=Counts)
    _seen: set[str] = field(default_factory=set)

    def take(self, mails: Iterable[RawMail], *, now: datetime) -> Iterator[tuple[RawMail, RefusedRow]]:
        """Yields what could not be taken, each with its reason. Raises what reading raises."""
        for batch in in_batches(mails, most=BATCH_MAILS, most_size=BATCH_BYTES, size_of=mail_size):
            parsed, refused = _parse(batch, now)
            kept = [mail for _, mail in parsed]
            problems = self._preview(kept) if self.dry_run else self._add(kept, now)
            refused += [(parsed[index][0], why) for index, why in problems.items()]
            self.counts.refused += len(refused)
            self.counts.repaired += sum(
                bool(mail.repairs) for index, mail in enumerate(kept) if index not in problems
            )
            for raw, why in sorted(refused, key=lambda each: each[0].number):
                yield raw, RefusedRow(raw.number, why)

    def _add(self, mails: Sequence[ParsedMail], now: datetime) -> dict[int, tuple[FieldProblem, ...]]:
        if not mails:
            return {}
        intake = add_mails(workflow=self.workflow, mails=mails, source=SOURCE, now=now)
        self.counts.accepted += intake.created
        self.counts.existing += intake.existing
        return {each.index: each.problems for each in intake.refused}

    def _preview(self, mails: Sequence[ParsedMail]) -> dict[int, tuple[FieldProblem, ...]]:
        # By the bytes alone, as good as always: a copy with other line ends counts as new here.
        stored = Mail.objects.filter(item__workflow=self.workflow, sha256__in=[mail.sha256 for mail in mails])
        self._seen.update(stored.values_list("sha256", flat=True))
        refused = {}
        for index, mail in enumerate(mails):
            problems = tuple(check_incoming(mail_to_incoming(mail, workflow=self.workflow)))
            if problems:
                refused[index] = problems
            elif mail.sha256 in self._seen:
                self.counts.existing += 1
            else:
                self.counts.accepted += 1
                self._seen.add(mail.sha256)
        return refused


_Parsed = list[tuple[RawMail, ParsedMail]]
_Unreadable = list[tuple[RawMail, tuple[FieldProblem, ...]]]


def _parse(batch: Sequence[RawMail], now: datetime) -> tuple[_Parsed, _Unreadable]:
    parsed: _Parsed = []
    refused: _Unreadable = []
    for raw in batch:
        try:
            if raw.problem:
                raise NotMail(raw.problem)
            parsed.append((raw, parse_mail(raw.data, now=now)))
        except NotMail as error:
            refused.append((raw, (FieldProblem("mail", error.reason),)))
    return parsed, refused


def mail_size(mail: RawMail) -> int:
    return len(mail.data)
