"""Items that arrive while one looks on: the samples one by one, again and again, never more than people can clear."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from apps.items.models import Item
from apps.pipeline.incoming import Incoming
from apps.pipeline.intake import add_items
from apps.reviews.models import ReviewTask
from apps.workflows.models import Workflow

SOURCE = "demo"
BACKLOG = 60
BACKLOG_SPAN = timedelta(hours=12)
MOST_WAITING = 300
ENOUGH_CLEARED = 250


@dataclass(slots=True)
class Stream:
    """The samples of one workflow, in their order; `position` counts what was handed in, over all rounds."""

    workflow: Workflow
    samples: Sequence[dict[str, Any]]
    position: int
    is_full: bool = False

    def incoming(self, position: int, received_at: datetime) -> Incoming:
        """From the second round on the same texts come as new items, `leads-001-r2`."""
        turn, index = divmod(position, len(self.samples))
        sample = self.samples[index]
        external_id = sample["external_id"] if turn == 0 else f"{sample['external_id']}-r{turn + 1}"
        # `gold` and `note` are about the sample; the product never sees them.
        return Incoming(external_id, sample["state"], sample.get("metadata", {}), received_at)


def open_stream(workflow: Workflow, samples: Path) -> Stream:
    lines = (samples / f"{workflow.slug}.jsonl").read_text(encoding="utf-8").splitlines()
    position = Item.objects.filter(workflow=workflow, source=SOURCE).count()
    return Stream(workflow, [json.loads(line) for line in lines if line.strip()], position)


def add_backlog(stream: Stream, *, now: datetime) -> int:
    """What lay in the inbox when the demo was first started, the oldest half a day old; how many were new."""
    missing = range(stream.position, BACKLOG)
    step = BACKLOG_SPAN / BACKLOG
    incoming = [stream.incoming(position, now - step * (BACKLOG - position)) for position in missing]
    created = add_items(workflow=stream.workflow, incoming=incoming, source=SOURCE, now=now).created
    stream.position = max(stream.position, BACKLOG)
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
