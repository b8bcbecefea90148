"""Items that arrive while one looks on: the samples one by one, again and again, never more than people can clear."""

from __future__ import annotations

import json
import mimetypes
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path

from apps.items.models import Item
from apps.pipeline.incoming import Incoming
from apps.pipeline.intake import add_items
from apps.reviews.models import ReviewTask
from apps.sources.images.enclosures import RawFile, to_attachments
from apps.sources.mail.incoming import mail_to_incoming
from apps.sources.mail.parsing import parse_mail
from apps.workflows.models import Workflow

SOURCE = "demo"
MAILS, PAGES = {".eml"}, {".png", ".jpg", ".jpeg", ".webp", ".pdf"}
Sample = Callable[[], Incoming]
BACKLOG = 60
ADDED_TOGETHER = 20
"""Pictures of items that are added together are in memory together."""
BACKLOG_SPAN = timedelta(hours=12)
MOST_WAITING = 300
ENOUGH_CLEARED = 250


@dataclass(slots=True)
class Stream:
    """The samples of one workflow, in their order; `position` counts what was handed in, over all rounds."""

    workflow: Workflow
    samples: Sequence[Sample]
    position: int
    is_full: bool = False

    def incoming(self, position: int, received_at: datetime) -> Incoming:
        """From the second round on the same texts come as new items, `leads-001-r2`."""
        turn, index = divmod(position, len(self.samples))
        sample = replace(self.samples[index](), received_at=received_at)
        if turn == 0:
            return sample
        mark = f"-r{turn + 1}"
        return replace(
            sample, external_id=sample.external_id + mark, group=sample.group and sample.group + mark
        )


def open_stream(workflow: Workflow, samples: Path) -> Stream:
    position = Item.objects.filter(workflow=workflow, source=SOURCE).count()
    lines, folder = samples / f"{workflow.slug}.jsonl", samples / workflow.slug
    found = _of_lines(lines) if lines.exists() else _of_files(workflow, folder)
    return Stream(workflow, found, position)


def _of_lines(path: Path) -> list[Sample]:
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]
    # `gold` and `note` are about the sample; the product never sees them.
    return [partial(Incoming, row["external_id"], row["state"], row.get("metadata", {})) for row in rows]


def _of_files(workflow: Workflow, folder: Path) -> list[Sample]:
    """Mails and pages are read when their turn comes: checking pictures takes a while."""
    mails, pages = (
        sorted(path for path in folder.iterdir() if path.suffix in kind) for kind in (MAILS, PAGES)
    )
    return [*(partial(_mail, workflow, path) for path in mails), *(partial(_page, path) for path in pages)]


def _mail(workflow: Workflow, path: Path) -> Incoming:
    return mail_to_incoming(parse_mail(path.read_bytes()), workflow=workflow)


def _page(path: Path) -> Incoming:
    files = to_attachments([RawFile(path.name, mimetypes.guess_type(path.name)[0] or "", path.read_bytes())])
    return Incoming(path.name, "", attachments=files)


def add_backlog(stream: Stream, *, now: datetime) -> int:
    """What lay in the inbox when the demo was first started, the oldest half a day old; how many were new."""
    size = min(BACKLOG, len(stream.samples))
    step = BACKLOG_SPAN / size
    created = 0
    for start in range(stream.position, size, ADDED_TOGETHER):
        positions = range(start, min(start + ADDED_TOGETHER, size))
        incoming = [stream.incoming(position, now - step * (size - position)) for position in positions]
        created += add_items(workflow=stream.workflow, incoming=incoming, source=SOURCE, now=now).created
    stream.position = max(stream.position, size)
    return created


@dataclass(slots=True)
class Feeder:
    """Hands in one item every `pause_s()` seconds, from one stream after the other."""

    streams: Sequence[Stream]
    pause_s: Callable[[], float]
    next_at: datetime | None = None
    turn: int = field(default=0)

    def tick(self, *, now: datetime) -> list[str]:
        """Sentences about streams that stop or start again; hands in an item when it is time."""
        if self.next_at is not None and now < self.next_at:
            return []
        self.next_at = now + timedelta(seconds=self.pause_s())
        stream = self.streams[self.turn % len(self.streams)]
        self.turn += 1
        said = _mark_full(stream)
        if not stream.is_full:
            add_items(
                workflow=stream.workflow,
                incoming=[stream.incoming(stream.position, now)],
                source=SOURCE,
                now=now,
            )
            stream.position += 1
        return said


def _mark_full(stream: Stream) -> list[str]:
    waiting = waiting_for_people_or_model(stream.workflow)
    if not stream.is_full and waiting >= MOST_WAITING:
        stream.is_full = True
        return [
            f"{MOST_WAITING} items wait in {stream.workflow.slug}: no new ones come until some are answered."
        ]
    if stream.is_full and waiting <= ENOUGH_CLEARED:
        stream.is_full = False
        return [f"New items come to {stream.workflow.slug} again."]
    return []


def waiting_for_people_or_model(workflow: Workflow) -> int:
    """Counted up to the bound only."""
    tasks = ReviewTask.objects.filter(workflow=workflow, status=ReviewTask.Status.OPEN)
    undecided = Item.objects.filter(
        workflow=workflow, status__in=[Item.Status.RECEIVED, Item.Status.DECIDING]
    )
    return tasks[:MOST_WAITING].count() + undecided[:MOST_WAITING].count()
